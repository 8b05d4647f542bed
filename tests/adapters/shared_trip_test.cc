// Batches for one Redis, or one shard, that share a round trip: each gets the replies to its own
// commands.

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "remote_store_fixture.h"
#include "scripted_blowfish.h"
#include "scripted_redis.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using Answer = ScriptedRespServer::Answer;
using Command = ScriptedRespServer::Command;

const WriteResult kWritten{};
const WriteResult kUnknown{Errc::kUnknown, {}};

// A server that answers only what the test says, once it is held.
class SharedTripTest : public StoreOpener {
 protected:
  std::unique_ptr<Store> Open(const std::string& scheme, const std::string& options = {}) {
    if (scheme == "blowfish") server_.Follow(Shards(1, kOk));
    return OpenUrl(scheme + "://127.0.0.1:" + std::to_string(server_.port()) +
                   "?connections=1&read_connections=1" + options);
  }
  // From now on, no command gets an answer.
  void Hold() {
    known_ = server_.commands().size();
    server_.Follow([](const Command&) { return Answer{}; });
  }
  // A store that has written, so that it is connected and has noted its epoch. Its server is held.
  std::unique_ptr<Store> OpenHeld(const std::string& scheme, const std::string& options = {}) {
    auto store = Open(scheme, options);
    REQUIRE(WriteNow(*store, Batch(1, {Put("first", "v", 1)})) == kWritten);
    Hold();
    return store;
  }
  // Waits until it has received `count` more commands.
  [[nodiscard]] bool Receives(std::size_t count) {
    known_ += count;
    return Eventually([&] { return server_.commands().size() >= known_; });
  }
  [[nodiscard]] std::size_t received() const { return known_; }
  std::future<WriteResult> Write(Store& store, std::vector<WriteItem> items, Epoch epoch = 1) {
    return Write(store, Batch(epoch, std::move(items)));
  }
  std::future<WriteResult> Write(Store& store, WriteBatch batch) {
    batches_.push_back(std::make_unique<WriteBatch>(std::move(batch)));
    auto promise = std::make_shared<std::promise<WriteResult>>();
    store.Write(*batches_.back(),
                [promise](WriteResult result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }
  std::future<ReadResult> Read(Store& store, const std::string& key) {
    reads_.push_back(std::make_unique<ReadBatch>());
    reads_.back()->keys = {key};
    auto promise = std::make_shared<std::promise<ReadResult>>();
    store.Read(*reads_.back(),
               [promise](ReadResult result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }

  ScriptedRespServer server_{RedisScript({})};

 private:
  std::size_t known_ = 0;
  std::vector<std::unique_ptr<WriteBatch>> batches_;
  std::vector<std::unique_ptr<ReadBatch>> reads_;
};

}  // namespace

TEST_CASE_METHOD(SharedTripTest, "redis: writes of one round trip have their own results",
                 "[redis]") {
  const auto store = OpenHeld("redis");
  auto first = Write(*store, {Put("k", "v", 2)});
  REQUIRE(Receives(1));
  auto second = Write(*store, {Put("l", "v", 3)}, 2);  // with an epoch to note
  auto third = Write(*store, {Put("m", "v", 4)});
  server_.Say("*0\r\n");
  CHECK(first.get() == kWritten);
  REQUIRE(Receives(3));
  SECTION("each its own reply") {
    server_.Say("+OK\r\n*2\r\n:1\r\n:1\r\n*0\r\n");
    CHECK(second.get() == WriteResult{Errc::kOk, {{0, Errc::kFenced}}});
    CHECK(third.get() == kWritten);
  }
  SECTION("an epoch that is not noted concerns its batch") {
    server_.Say("-OOM no memory\r\n*0\r\n*0\r\n");
    CHECK(second.get() == kUnknown);
    CHECK(third.get() == kWritten);
  }
  SECTION("an error concerns its batch") {
    server_.Say("+OK\r\n-OOM no memory\r\n*0\r\n");
    CHECK(second.get() == WriteResult{Errc::kTransient, {}});
    CHECK(third.get() == kWritten);
  }
  SECTION("a reply of another shape makes all unknown") {
    server_.Say("+OK\r\n*0\r\n+OK\r\n");
    CHECK(second.get() == kUnknown);
    CHECK(third.get() == kUnknown);
  }
  SECTION("a lost connection makes all unknown") {
    server_.Say("+OK\r\n*0\r\n");
    server_.Cut();
    CHECK(second.get() == kUnknown);
    CHECK(third.get() == kUnknown);
  }
}

TEST_CASE_METHOD(SharedTripTest, "redis: plain batches of one round trip have their own replies",
                 "[redis]") {
  const auto store = OpenHeld("redis", "&mode=plain");
  auto first = Write(*store, {Put("k", "v", 2)});
  REQUIRE(Receives(1));
  auto second = Write(*store, {Put("l", "v", 3), Delete("m", 4)});  // MULTI MSET DEL EXEC
  auto third = Write(*store, {Put("n", "v", 5)});
  server_.Say("+OK\r\n");
  CHECK(first.get() == kWritten);
  REQUIRE(Receives(5));
  server_.Say("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:1\r\n-OOM no memory\r\n");
  CHECK(second.get() == kWritten);
  CHECK(third.get() == WriteResult{Errc::kTransient, {}});
}

TEST_CASE_METHOD(SharedTripTest, "redis: writes of one round trip wait once for replicas",
                 "[redis]") {
  const auto store = OpenHeld("redis", "&wait=1");
  auto first = Write(*store, {Put("k", "v", 2)});
  REQUIRE(Receives(2));
  auto second = Write(*store, {Put("l", "v", 3)});
  auto third = Write(*store, {Put("m", "v", 4)});
  server_.Say("*0\r\n:1\r\n");
  CHECK(first.get() == kWritten);
  REQUIRE(Receives(3));
  CHECK(server_.commands().back()[0] == "WAIT");
  SECTION("that have them") {
    server_.Say("*0\r\n*2\r\n:1\r\n:2\r\n:1\r\n");
    CHECK(second.get() == kWritten);
    CHECK(third.get() == WriteResult{Errc::kOk, {{0, Errc::kRefused}}});
  }
  SECTION("that lack them") {
    server_.Say("*0\r\n*0\r\n:0\r\n");
    CHECK(second.get() == kUnknown);
    CHECK(third.get() == kUnknown);
  }
}

TEST_CASE_METHOD(SharedTripTest, "redis: reads of one round trip ask once for the master",
                 "[redis]") {
  const auto store = Open("redis");
  REQUIRE(ReadNow(*store, {"first"}).errc == Errc::kOk);
  Hold();
  auto first = Read(*store, "k");
  REQUIRE(Receives(2));
  auto second = Read(*store, "l");
  auto third = Read(*store, "m");
  server_.Say(":0\r\n*1\r\n$-1\r\n");
  CHECK(first.get().errc == Errc::kOk);
  REQUIRE(Receives(3));
  SECTION("an error concerns its read") {
    server_.Say(":0\r\n-ERR no\r\n*1\r\n$-1\r\n");
    CHECK(second.get().errc == Errc::kTransient);
    CHECK(third.get().errc == Errc::kOk);
  }
  SECTION("a reply of another shape fails all") {
    server_.Say(":0\r\n*1\r\n$-1\r\n:1\r\n");
    CHECK(second.get().errc == Errc::kTransient);
    CHECK(third.get().errc == Errc::kTransient);
  }
  SECTION("a replica fails all") {
    server_.Say("-READONLY no\r\n*1\r\n$-1\r\n*1\r\n$-1\r\n");
    CHECK(second.get().errc == Errc::kTransient);
    CHECK(third.get().errc == Errc::kTransient);
  }
}

TEST_CASE_METHOD(SharedTripTest, "blowfish: writes of one round trip have their own results",
                 "[blowfish]") {
  const auto store = OpenHeld("blowfish");
  auto first = Write(*store, {Put("k", "v", 2)});
  REQUIRE(Receives(1));
  auto second = Write(*store, {Put("l", "v", 3)});
  auto third = Write(*store, {Put("m", "v", 4)});
  server_.Say("*2\r\n:0\r\n+OK\r\n");
  CHECK(first.get() == kWritten);
  REQUIRE(Receives(2));
  SECTION("each its own reply") {
    server_.Say("*2\r\n:0\r\n+FENCED\r\n*2\r\n:0\r\n+OK\r\n");
    CHECK(second.get() == WriteResult{Errc::kFenced, {}});
    CHECK(third.get() == kWritten);
  }
  SECTION("an error concerns its batch") {
    server_.Say("-LOADING\r\n*2\r\n:0\r\n+OK\r\n");
    CHECK(second.get() == WriteResult{Errc::kTransient, {}});
    CHECK(third.get() == kWritten);
  }
  SECTION("a reply of another shape makes all unknown") {
    server_.Say("*2\r\n:0\r\n+OK\r\n:7\r\n");
    CHECK(second.get() == kUnknown);
    CHECK(third.get() == kUnknown);
  }
  SECTION("a lost connection makes all unknown") {
    server_.Cut();
    CHECK(second.get() == kUnknown);
    CHECK(third.get() == kUnknown);
  }
}

TEST_CASE_METHOD(SharedTripTest, "a batch that is measured has a round trip of its own",
                 "[redis][blowfish]") {
  const bool redis = GENERATE(true, false);
  const std::string written = redis ? "*0\r\n" : "*2\r\n:0\r\n+OK\r\n";
  const auto store = OpenHeld(redis ? "redis" : "blowfish");
  auto first = Write(*store, {Put("k", "v", 2)});
  REQUIRE(Receives(1));
  WriteBatch measured = Batch(1, {Put("l", "v", 3)});
  measured.alone = true;
  auto second = Write(*store, measured);
  auto third = Write(*store, {Put("m", "v", 4)});
  for (auto* each : {&first, &second, &third}) {
    server_.Say(written);
    CHECK(each->get() == kWritten);
    const bool last = each == &third;
    REQUIRE(Receives(last ? 0 : 1));
    CHECK(server_.commands().size() == received());
  }
}

}  // namespace stout::test
