// The store on a blowfish-server: its address, its lanes, and its reaction to answers that are
// wrong, partial, late or without a request. The server is a script, except for its limits.
// store_contract_test.cc and remote_store_test.cc test the rest against the real server.

#include "stout/adapters/blowfish_store.h"

#include <algorithm>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "remote_store_fixture.h"
#include "scripted_blowfish.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/log_capture.h"
#ifdef STOUT_HAS_REDIS
#include "tests/support/redis_server.h"
#endif

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;
using Command = ScriptedRespServer::Command;
using Answer = ScriptedRespServer::Answer;
using Script = ScriptedRespServer::Script;

const WriteResult kDone{};
constexpr std::string_view kFenced = "*2\r\n:0\r\n+FENCED\r\n";

class BlowfishTest : public StoreOpener {
 protected:
  std::unique_ptr<Store> Open(const std::string& options = {}) {
    return OpenUrl(At("", options.empty() ? "" : "?" + options));
  }
  [[nodiscard]] std::string At(const std::string& user, const std::string& rest = {}) const {
    return "blowfish://" + user + "127.0.0.1:" + std::to_string(server_.port()) + rest;
  }
  // Returns why a server with one answer to everything is refused.
  std::string WhyNotIf(const std::string& answer, Errc errc = Errc::kBadUrl) {
    server_.Follow([answer](const Command&) { return Answer{answer}; });
    return WhyNot(At(""), errc);
  }
  [[nodiscard]] std::vector<Command> Said(const std::string& name) const {
    std::vector<Command> said;
    for (const Command& command : server_.commands()) {
      if (command[0] == name) said.push_back(command);
    }
    return said;
  }

  ScriptedRespServer server_{Shards(1, kOk)};
};

// A key of that shard.
std::string KeyOf(const Store& store, LaneId shard) {
  for (int i = 0;; ++i) {
    std::string key = "key" + std::to_string(i);
    if (store.PartitionOf(key) == shard) return key;
  }
}

}  // namespace

TEST_CASE_METHOD(BlowfishTest, "blowfish: no loss is detected of data that have no identity") {
  CHECK_FALSE(Open()->traits().detects_loss);
  CHECK_THAT(WhyNot(At("", "?detect_loss=true")), Contains("install a newer one"));
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a lane for each shard, and the server's limits") {
  server_.Follow([](const Command& command) {
    return command[0] == "SCHEMA" ? kCannotSearch : Answer{Facts(7, 123, 4567)};
  });
  const auto store = Open();
  const StoreTraits& traits = store->traits();
  CHECK(traits.name == "blowfish");
  CHECK(traits.atomic_batches);
  CHECK(traits.compares_stamps);
  CHECK(traits.fences);
  CHECK(traits.durable);
  CHECK(traits.max_batch_items == 123);
  CHECK(traits.max_batch_bytes == 4567);
  CHECK(traits.partitions == 7);
  CHECK(store->PartitionOf("") == 3244421341483603138U % 7);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: users and passwords") {
  server_.Follow([](const Command& command) -> Answer {
    if (command[0] == "STOUT.SHARDS") return {Facts(1)};
    if (command[0] == "SCHEMA") return kCannotSearch;
    return {command.back() == "s3cret:/@" ? "+OK\r\n" : "-WRONGPASS invalid\r\n"};
  });
  OpenUrl(At(":s3cret%3A%2F%40@"));
  OpenUrl(At("default:s3cret%3A%2F%40@", "/"));
  CHECK(server_.commands() == std::vector<Command>{{"AUTH", "s3cret:/@"},
                                                   {"STOUT.SHARDS"},
                                                   {"SCHEMA"},
                                                   {"AUTH", "default", "s3cret:/@"},
                                                   {"STOUT.SHARDS"},
                                                   {"SCHEMA"}});
  CHECK_THAT(WhyNot(At(":wrong@")), Contains("WRONGPASS"));
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: URLs that lead nowhere") {
  for (const char* url : {"blowfish:", "blowfish://", "blowfish://h,i", "blowfish://h/1",
                          "blowfish://u@h", "blowfish://h:99999"}) {
    CAPTURE(url);
    CHECK_THAT(WhyNot(url), Contains("syntax"));
  }
  CHECK_THAT(WhyNot("blowfish://h?conections=1"), Contains("'conections'"));
  CHECK_THAT(WhyNot("blowfish://h?connections=0"), Contains("from 1 to 1000"));
  CHECK_THAT(WhyNot("blowfish://127.0.0.1:1", Errc::kTransient),
             Contains("blowfish 127.0.0.1:1") && Contains("Connection refused"));
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: servers that are none, or not ready") {
  CHECK_THAT(WhyNotIf("-ERR unknown command 'STOUT.SHARDS'\r\n"),
             Contains("not a blowfish-server") && Contains("redis://"));
  for (const std::string& nonsense : {std::string("+OK\r\n"), std::string("$-1\r\n"),
                                      std::string("*0\r\n"), Facts(0), Facts(70'000)}) {
    CAPTURE(nonsense);
    CHECK_THAT(WhyNotIf(nonsense), Contains("not a blowfish-server"));
  }
  CHECK_THAT(WhyNotIf(Facts(1, 1, 1, 2)), Contains("version 2") && Contains("of the same release"));
  CHECK_THAT(WhyNotIf("-NOAUTH Authentication required.\r\n"), Contains("NOAUTH"));
  CHECK_THAT(WhyNotIf("-LOADING the log\r\n", Errc::kTransient), Contains("LOADING the log"));
  CHECK_THAT(WhyNotIf("HTTP/1.1 400 Bad Request\r\n", Errc::kTransient),
             Contains("Protocol error"));
  server_.Follow([](const Command&) { return Answer{"*10\r\n", true}; });
  CHECK_THAT(WhyNot(At(""), Errc::kTransient), Contains("closed the connection"));
  server_.Follow([](const Command&) { return Answer{}; });
  CHECK_THAT(WhyNot(At("", "?connect_timeout=50ms"), Errc::kTransient), Contains("within 50 ms"));
}

#ifdef STOUT_HAS_REDIS
TEST_CASE_METHOD(BlowfishTest, "blowfish: a Redis is no blowfish-server, which it is told") {
  const RedisServer redis;
  CHECK_THAT(WhyNot("blowfish://127.0.0.1:" + std::to_string(redis.port())),
             Contains("not a blowfish-server") && Contains("redis://"));
}
#endif

TEST_CASE_METHOD(BlowfishTest, "blowfish: what became of a batch is what the server says") {
  const auto store = Open();
  const WriteBatch batch =
      Scoped("s", Batch(7, {Put("a", "1", 3), Delete("b", 4), Put("c", "", 5)}));
  const auto fate = [&](std::string_view answer) {
    server_.Follow(Shards(1, answer));
    return WriteNow(*store, batch);
  };
  CHECK(fate(kOk) == kDone);
  CHECK(Said("STOUT.WRITE") == std::vector<Command>{{"STOUT.WRITE", "0", "s", "7", "PUT", "a", "3",
                                                     "1", "DEL", "b", "4", "PUT", "c", "5", ""}});
  CHECK(fate(kFenced) == WriteResult{Errc::kFenced, {}});
  CHECK(fate("*6\r\n:3\r\n+OK\r\n:0\r\n+FENCED\r\n:2\r\n+REFUSED\r\n") ==
        WriteResult{Errc::kOk, {{0, Errc::kFenced}, {2, Errc::kRefused}}});
  CHECK(fate("*2\r\n:3\r\n+UNKNOWN\r\n") == WriteResult{Errc::kUnknown, {}});
  // An error: nothing was done.
  CHECK(fate("-LOADING the log\r\n") == WriteResult{Errc::kTransient, {}});
  CHECK(fate("-MISCONF the disk is full\r\n") == WriteResult{Errc::kTransient, {}});
  CHECK(fate("-ERR Protocol error: too big\r\n") == WriteResult{Errc::kTooLarge, {}});
  // All of it on the connection that the store had.
  CHECK(server_.connections() == 2);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: an answer without sense leaves the outcome open") {
  const auto store = Open();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  for (const char* nonsense :
       {"+OK\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "*1\r\n:0\r\n", "*2\r\n:0\r\n+ALL RIGHT\r\n",
        "*4\r\n:0\r\n+OK\r\n:1\r\n+FENCED\r\n", "*3\r\n:0\r\n+OK\r\n:0\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "%1\r\n+OK\r\n+OK\r\n",
        "*2\r\n:0\r\n+OK\r\n:1\r\n", "*2\r\n:x\r\n+OK\r\n", "$99999999999999999999\r\n"}) {
    CAPTURE(nonsense);
    const std::size_t connections = server_.connections();
    server_.Follow(Shards(1, nonsense));
    CHECK(WriteNow(*store, batch) == WriteResult{Errc::kUnknown, {}});
    // It is not asked again, on a connection where that answer may not be the last.
    server_.Follow(Shards(1, kOk));
    CHECK(WriteNow(*store, batch) == kDone);
    CHECK(server_.connections() > connections);
  }
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: half an answer is none") {
  const auto store = Open();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  for (std::size_t size = 0; size < kOk.size(); ++size) {
    CAPTURE(size);
    server_.Follow(Shards(1, kOk.substr(0, size), true));
    CHECK(WriteNow(*store, batch) == WriteResult{Errc::kUnknown, {}});
    CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
    CHECK(NewEpochNow(*store) == 0);
    CHECK(FenceNow(*store, "s", 1) == Errc::kTransient);
  }
  server_.Follow(Shards(1, kOk));
  CHECK(WriteNow(*store, batch) == kDone);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: an answer that comes in pieces is one") {
  const auto store = Open();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  server_.Follow(Shards(1, ""));
  std::promise<WriteResult> promise;
  store->Write(batch, [&](WriteResult result) { promise.set_value(std::move(result)); });
  REQUIRE(Eventually([&] { return Said("STOUT.WRITE").size() == 1; }));
  for (const char byte : kOk) server_.Say({&byte, 1});
  CHECK(promise.get_future().get() == kDone);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a late answer is nobody's") {
  const auto store = Open("timeout=100ms");
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  server_.Follow(Shards(1, ""));
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kUnknown, {}});
  server_.Say(kOk);
  server_.Follow(Shards(1, kFenced));
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kFenced, {}});
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: an answer without a request is nobody's") {
  const auto store = Open();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  SECTION("while nothing is asked") {
    CHECK(WriteNow(*store, batch) == kDone);
    server_.Say(kOk);
  }
  SECTION("behind another, of which it may be the right one") {
    server_.Follow(Shards(1, std::string(kOk) + std::string(kOk)));
    CHECK(WriteNow(*store, batch) == WriteResult{Errc::kUnknown, {}});
  }
  server_.Follow(Shards(1, kFenced));
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kFenced, {}});
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: an endless array ends with the time for it") {
  const auto store = Open("timeout=200ms");
  server_.Follow(Shards(1, "*2147483647\r\n:0\r\n+OK\r\n"));
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{Errc::kUnknown, {}});
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: what was never sent is known not to be done") {
  auto server = std::make_unique<ScriptedRespServer>(Shards(1, kOk));
  const auto store = OpenUrl("blowfish://127.0.0.1:" + std::to_string(server->port()));
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  CHECK(WriteNow(*store, batch) == kDone);
  server.reset();
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kTransient, {}});
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a server is asked for stamps alone if it has them") {
  const bool has_stamps = GENERATE(false, true);
  const auto store = Open();
  server_.Follow([has_stamps](const Command& command) -> Answer {
    if (command[0] == "STOUT.SHARDS") return {Facts(1, 100, 1000, 1, has_stamps)};
    return {"*2\r\n:0\r\n*-1\r\n"};
  });
  const ReadBatch batch{.id = 1, .lane = 0, .keys = {"k"}, .values = false};
  CHECK(store->AsyncRead(batch, boost::asio::use_future).get().errc == Errc::kOk);
  CHECK(Said("STOUT.STAMPS").size() == (has_stamps ? 1 : 0));
  CHECK(Said("STOUT.READ").size() == (has_stamps ? 0 : 1));
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a connection that was cut is made anew") {
  const auto store = Open();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  CHECK(WriteNow(*store, batch) == kDone);
  server_.Cut();
  CHECK(WriteNow(*store, batch) == kDone);
}

TEST_CASE_METHOD(BlowfishTest,
                 "blowfish: a server with another number of shards is not written to") {
  const auto store = Open();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  CHECK(WriteNow(*store, batch) == kDone);
  const std::size_t said = Said("STOUT.WRITE").size();
  server_.Follow(Shards(2, kOk));
  server_.Cut();
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kTransient, {}});
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kTransient, {}});
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
  CHECK(Said("STOUT.WRITE").size() == said);
  CHECK(Said("STOUT.READ").empty());
  // The right one again.
  server_.Follow(Shards(1, kOk));
  CHECK(WriteAtLast(*store, batch) == kDone);
}

TEST_CASE_METHOD(BlowfishTest,
                 "blowfish: a batch of several shards is split, and answered as one") {
  server_.Follow(Shards(3, [](const Command& command) -> Answer {
    if (command[1] == "0") return {std::string(kOk)};
    if (command[1] == "1") return {"*4\r\n:0\r\n+OK\r\n:1\r\n+FENCED\r\n"};
    return {"-BUSY with a merge\r\n"};
  }));
  const auto store = Open();
  const std::string a = KeyOf(*store, 0);
  const std::string b = KeyOf(*store, 1);
  const std::string c = KeyOf(*store, 2);
  std::string b2 = b;
  while (b2 == b || store->PartitionOf(b2) != 1) b2 += "x";
  CHECK(WriteNow(*store,
                 Batch(1, {Put(c, "v", 1), Put(b, "v", 2), Put(a, "v", 3), Put(b2, "v", 4)})) ==
        WriteResult{Errc::kOk, {{0, Errc::kTransient}, {3, Errc::kFenced}}});
  std::vector<Command> said = Said("STOUT.WRITE");
  std::sort(said.begin(), said.end());
  CHECK(said ==
        std::vector<Command>{{"STOUT.WRITE", "0", "", "1", "PUT", a, "3", "v"},
                             {"STOUT.WRITE", "1", "", "1", "PUT", b, "2", "v", "PUT", b2, "4", "v"},
                             {"STOUT.WRITE", "2", "", "1", "PUT", c, "1", "v"}});
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: reads come in the order asked for, from all shards") {
  // A key is its own state; what begins with x is deleted, what begins with y is not known.
  const Script echo = [](const Command& command) -> Answer {
    std::string answer = "*" + std::to_string(command.size() - 1) + "\r\n:0\r\n";
    for (std::size_t i = 2; i < command.size(); ++i) {
      const std::string& key = command[i];
      if (key.starts_with("y")) {
        answer += "*-1\r\n";
      } else {
        answer += "*3\r\n:2\r\n:" + std::to_string(key.size()) + "\r\n";
        answer += key.starts_with("x") ? "$-1\r\n" : Bulk(key);
      }
    }
    return {answer};
  };
  server_.Follow(Shards(4, echo));
  const auto store = Open();
  std::vector<std::string> keys;
  std::vector<StoredState> states;
  for (int i = 0; i < 50; ++i) {
    keys.push_back("abxyz"[i % 5] + std::to_string(i * 37));
    const Stamp stamp{2, keys.back().size()};
    switch (keys.back().front()) {
      case 'x':
        states.push_back({.stamp = stamp});
        break;
      case 'y':
        states.emplace_back();
        break;
      default:
        states.push_back(Found(keys.back(), stamp));
    }
  }
  CHECK(ReadNow(*store, keys) == ReadResult{Errc::kOk, states});
  // One shard that cannot is enough: a read is whole.
  server_.Follow(Shards(4, [echo](const Command& command) -> Answer {
    if (command[1] == "2") return {"-LOADING\r\n"};
    return echo(command);
  }));
  CHECK(ReadNow(*store, keys) == ReadResult{Errc::kTransient, {}});
  server_.Follow(Shards(4, "*1\r\n:0\r\n"));
  CHECK(ReadNow(*store, keys) == ReadResult{Errc::kTransient, {}});
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: epochs and fences are the server's") {
  const auto store = Open();
  const auto epoch = [&](std::string_view answer) {
    server_.Follow(Shards(1, answer));
    return NewEpochNow(*store);
  };
  CHECK(epoch("*2\r\n:0\r\n:17\r\n") == 17);
  CHECK(epoch("*2\r\n:0\r\n:0\r\n") == 0);  // none
  CHECK(epoch("-MISCONF the disk is full\r\n") == 0);
  CHECK(epoch("+OK\r\n") == 0);
  const auto fence = [&](const std::string& what) {
    server_.Follow(Shards(1, "*2\r\n:0\r\n+" + what + "\r\n"));
    return FenceNow(*store, "scope", 9);
  };
  CHECK(fence("OK") == ErrorCode());
  CHECK(Said("STOUT.FENCE") == std::vector<Command>{{"STOUT.FENCE", "scope", "9"}});
  CHECK(fence("FENCED") == Errc::kFenced);
  CHECK(fence("REFUSED") == Errc::kRefused);
  CHECK(fence("TRANSIENT") == Errc::kTransient);
  CHECK(fence("UNKNOWN") == Errc::kTransient);
  CHECK(fence("PERHAPS") == Errc::kTransient);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: what is larger than the server takes is not sent") {
  server_.Follow([](const Command& command) -> Answer {
    if (command[0] == "SCHEMA") return kCannotSearch;
    return {command[0] == "STOUT.SHARDS" ? Facts(1, 2, 10) : std::string(kOk)};
  });
  const auto store = Open();
  const WriteResult too_large{Errc::kTooLarge, {}};
  CHECK(WriteNow(*store, Batch(1, {Put("k", std::string(10, 'x'), 1)})) == too_large);
  CHECK(WriteNow(*store, Batch(1, {Put("a", "", 1), Put("b", "", 2), Put("c", "", 3)})) ==
        too_large);
  CHECK(Said("STOUT.WRITE").empty());
  CHECK(WriteNow(*store, Batch(1, {Put("k", std::string(9, 'x'), 1)})) == kDone);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a shard that stands still holds up no other") {
  server_.Follow(Shards(3, [](const Command& command) -> Answer {
    if (command[0] == "STOUT.WRITE" && command[1] == "1") return {};
    if (command[0] == "STOUT.EPOCH") return {"*2\r\n:0\r\n:5\r\n"};
    if (command[0] == "STOUT.READ") return {"*2\r\n:0\r\n*-1\r\n"};
    return {std::string(kOk)};
  }));
  auto store = Open("connections=1&timeout=60s");
  const WriteBatch stuck = Batch(1, {Put(KeyOf(*store, 1), "v", 1)});
  std::promise<WriteResult> promise;
  std::future<WriteResult> outcome = promise.get_future();
  store->Write(stuck, [&](WriteResult result) { promise.set_value(std::move(result)); });
  REQUIRE(Eventually([&] { return Said("STOUT.WRITE").size() == 1; }));
  for (const LaneId shard : {0U, 2U}) {
    CHECK(WriteNow(*store, Batch(1, {Put(KeyOf(*store, shard), "v", 1)})) == kDone);
  }
  CHECK(ReadNow(*store, {KeyOf(*store, 1)}).states == std::vector<StoredState>(1));
  CHECK(NewEpochNow(*store) == 5);
  CHECK_FALSE(FenceNow(*store, "s", 5));
  CHECK(outcome.wait_for(0s) == std::future_status::timeout);
  store.reset();
  CHECK(outcome.get() == WriteResult{Errc::kUnknown, {}});
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: options that only a program can give are checked") {
  const auto why_not = [&](BlowfishStore::Options options) {
    options.port = static_cast<std::uint16_t>(server_.port());
    Diagnostics why;
    CHECK(BlowfishStore::Open(options, pool_.get_executor(), &why).error() == Errc::kBadUrl);
    return why.message;
  };
  CHECK_THAT(why_not({.user = "app"}), Contains("needs a password"));
  CHECK_THAT(why_not({.timeout = 0s}), Contains("timeout"));
  CHECK_THAT(why_not({.connect_timeout = -1s}), Contains("connect_timeout"));
  CHECK_THAT(why_not({.connections = 0}), Contains("connections"));
  CHECK_THAT(why_not({.read_connections = 0}), Contains("read_connections"));
  CHECK_THAT(why_not({.max_queue = 0}), Contains("max_queue"));
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a server takes the batches that it says it takes",
                 "[not_tsan]") {
  const BlowfishServer server(2);
  const auto store = OpenUrl(server.Url());
  const StoreTraits& traits = store->traits();
  CHECK(traits.partitions == 2);
  SECTION("the largest") {
    const std::string value(traits.max_batch_bytes / 4 - 10, 'x');  // it is no value's limit
    std::vector<WriteItem> items;
    for (int i = 0; items.size() < 4; ++i) {
      std::string key = std::to_string(i);
      if (store->PartitionOf(key) == 1) items.push_back(Put(std::move(key), value, 1));
    }
    CHECK((WriteNow(*store, Batch(1, items)) == kDone));  // which is not to be printed
    CHECK((ReadOne(*store, items.back().key) == Found(value, {1, 1})));
  }
  SECTION("the one of most items, all of a shard") {
    std::vector<WriteItem> items;
    std::vector<std::string> keys;
    for (int i = 0; items.size() < traits.max_batch_items; ++i) {
      std::string key = std::to_string(i);
      if (store->PartitionOf(key) != 0) continue;
      keys.push_back(key);
      items.push_back(Put(std::move(key), "v", 1));
    }
    CHECK(WriteNow(*store, Batch(1, items)) == kDone);
    const std::vector<StoredState> all(keys.size(), Found("v", {1, 1}));
    CHECK((ReadNow(*store, keys) == ReadResult{Errc::kOk, all}));
  }
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a value of --max-value is written, a larger one is not",
                 "[not_tsan]") {
  const std::string option = GENERATE(as<std::string>(), "1KiB", "1MiB", "64MiB");
  CAPTURE(option);
  const BlowfishServer server(2, {"--max-value", option, "--merge-bytes", "64GiB"});
  // Under a sanitizer on a busy machine, 64 MiB take longer than the default.
  const auto store =
      OpenUrl("blowfish://127.0.0.1:" + std::to_string(server.port()) + "?timeout=120s");
  const std::size_t most = std::stoul(option) << (option.ends_with("KiB") ? 10 : 20);
  const std::string key(1000, 'k');  // up to 64 KiB, but an argument, too
  REQUIRE(store->traits().max_batch_bytes >= key.size() + most);
  const std::string value(most, 'v');
  CHECK(WriteNow(*store, Batch(1, {Put(key, value, 1)})) == kDone);
  CHECK((ReadNow(*store, {key}) == ReadResult{Errc::kOk, {Found(value, {1, 1})}}));
  const WriteItem large = Put(key, value + "v", 2);
  CHECK((WriteNow(*store, Batch(1, {large})) == WriteResult{Errc::kTooLarge, {}}));
  CHECK((WriteNow(*store, Batch(1, {Put("a", "v", 1), large, Put("b", "v", 1)})) ==
         WriteResult{Errc::kOk, {{1, Errc::kTooLarge}}}));
  CHECK(ReadOne(*store, "a") == Found("v", {1, 1}));
  CHECK(ReadOne(*store, "b") == Found("v", {1, 1}));
  CHECK(WriteNow(*store, Batch(1, {Put(key, "v", 3)})) == kDone);
  const StoredState refused{.errc = Errc::kRefused};
  const std::string long_key(most + 1, 'k');
  CHECK((ReadNow(*store, {long_key}) == ReadResult{Errc::kOk, {refused}}));
  CHECK((ReadNow(*store, {"a", long_key, "none"}) ==
         ReadResult{Errc::kOk, {Found("v", {1, 1}), refused, {}}}));
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a call that needs a damaged shard is kCorrupt, as logged",
                 "[not_tsan]") {
  BlowfishServer server(2);
  server.Kill();
  const std::string shard = server.DataDirectory() + "/shard-0001";
  std::filesystem::remove_all(shard);
  server.Start();
  const LogCapture log;
  const auto store = OpenUrl(server.Url("connections=1&read_connections=1"));
  const auto key_of = [&](LaneId lane) {
    std::string key = "k";
    while (store->PartitionOf(key) != lane) key += 'k';
    return key;
  };
  const std::string there = key_of(0);
  const std::string lost = key_of(1);
  CHECK(WriteNow(*store, Batch(1, {Put(there, "v", 1)})) == kDone);
  CHECK((WriteNow(*store, Batch(1, {Put(lost, "v", 1)})) == WriteResult{Errc::kCorrupt, {}}));
  CHECK((WriteNow(*store, Batch(1, {Put(there, "w", 2), Put(lost, "w", 2)})) ==
         WriteResult{Errc::kOk, {{1, Errc::kCorrupt}}}));
  CHECK(ReadOne(*store, there) == Found("w", {1, 2}));
  CHECK(ReadNow(*store, {lost}).errc == Errc::kCorrupt);
  CHECK(AskEpochNow(*store).first == Errc::kCorrupt);
  CHECK(FenceNow(*store, "scope", 5) == Errc::kCorrupt);
  CHECK(ScanNow(*store, {.limit = 10}).errc == Errc::kCorrupt);
  CHECK(log.Count("SHARDDOWN shard 1: " + shard + ": missing") >= 1);
}

TEST_CASE_METHOD(BlowfishTest, "blowfish: a server that wants a password") {
  const TempDirectory directory;
  const std::string file = directory.path() + "/password";
  std::ofstream(file) << "s3cret\n";
  const BlowfishServer server(1, {"--password-file", file});
  const std::string host = "127.0.0.1:" + std::to_string(server.port());
  CHECK_THAT(WhyNot("blowfish://" + host), Contains("NOAUTH"));
  CHECK_THAT(WhyNot("blowfish://:wrong@" + host), Contains("WRONGPASS"));
  for (const char* user : {"", "default"}) {
    const auto store = OpenUrl(std::string("blowfish://") + user + ":s3cret@" + host);
    CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == kDone);
  }
}

}  // namespace stout::test
