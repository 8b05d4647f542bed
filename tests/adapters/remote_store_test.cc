// A store whose server, or the network before it, fails: the same tests for all servers.

#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "remote_store_fixture.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/log_capture.h"
#include "tests/support/type_list.h"
#ifdef STOUT_HAS_BLOWFISH
#include "tests/support/blowfish_server.h"
#endif
#ifdef STOUT_HAS_POSTGRES
#include "tests/support/postgres_server.h"
#endif
#ifdef STOUT_HAS_REDIS
#include "tests/support/redis_server.h"
#endif

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;

// For TEMPLATE_TEST_CASE, which names its cases after the types.
#ifdef STOUT_HAS_POSTGRES
using Postgres = RemoteStoreFixture<PostgresServer>;
#define STOUT_REMOTE_POSTGRES , Postgres
#else
#define STOUT_REMOTE_POSTGRES
#endif
#ifdef STOUT_HAS_REDIS
using Redis = RemoteStoreFixture<RedisServer>;
class PlainRedis : public Redis {
 public:
  PlainRedis() : Redis("mode=plain") {}
};
#define STOUT_REMOTE_REDIS , Redis, PlainRedis
#else
#define STOUT_REMOTE_REDIS
#endif
#ifdef STOUT_HAS_BLOWFISH
// One shard, because here one connection must meet the faults of the network.
class OneShard : public BlowfishServer {
 public:
  OneShard() : BlowfishServer(1) {}
};
using Blowfish = RemoteStoreFixture<OneShard>;
#define STOUT_REMOTE_BLOWFISH , Blowfish
#else
#define STOUT_REMOTE_BLOWFISH
#endif
#define STOUT_TEST_REMOTE_STORES \
  STOUT_TEST_TYPES(void STOUT_REMOTE_POSTGRES STOUT_REMOTE_REDIS STOUT_REMOTE_BLOWFISH)

TEMPLATE_TEST_CASE("a server that is killed and started again", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  TestType test;
  const auto store = test.Open("timeout=5s");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  test.server().Kill();
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  const Errc gone = WriteNow(*store, batch).batch;
  CHECK((gone == Errc::kTransient || gone == Errc::kUnknown));
  CHECK(WriteNow(*store, batch).batch == Errc::kTransient);
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
  test.server().Start();
  CHECK(Eventually([&] { return ReadOne(*store, "k") == Found(*store, "1", {1, 1}); }));
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found(*store, "2", {1, 2}));
}

TEMPLATE_TEST_CASE("to call again from the handler of a failed call takes no stack",
                   "[remote][not_tsan]", STOUT_TEST_REMOTE_STORES) {
  TestType test;
  const auto store = test.Open();
  test.server().Kill();
  const WriteBatch batch = Batch(1, {Put("k", "1", 1)});
  std::promise<void> enough;
  int attempts = 50'000;  // more than fit a stack of 8 MiB
  std::function<void(WriteResult)> again = [&](WriteResult) {
    if (--attempts == 0) return enough.set_value();
    store->Write(batch, again);
  };
  store->Write(batch, again);
  CHECK(enough.get_future().wait_for(30s) == std::future_status::ready);
}

TEMPLATE_TEST_CASE("what was answered is there after kill -9", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  constexpr Version kEnough = 200;
  TestType test;
  const auto store = test.Open("timeout=5s");
  std::atomic<Version> answered{0};
  std::thread killer([&] {
    (void)Eventually([&] { return answered >= kEnough; });
    test.server().Kill();
  });
  Version version = 1;
  while (WriteNow(*store, Batch(1, {Put("k", std::to_string(version), version)})) ==
         WriteResult{}) {
    answered = version++;
  }
  killer.join();
  REQUIRE(answered >= kEnough);
  test.server().Start();
  StoredState state;
  REQUIRE(Eventually([&] { return (state = ReadOne(*store, "k")).found; }));
  CHECK(std::stoull(state.value) >= answered);
}

TEMPLATE_TEST_CASE("a ghost write changes nothing where stamps are compared", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  TestType test;
  TcpProxy network(test.server().port());
  const auto store = test.Open("timeout=300ms", network.port());
  const auto other = test.Open();  // past the proxy
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  network.Behave({.hold_requests = true});
  CHECK(WriteNow(*store, Batch(1, {Put("k", "ghost", 2), Put("l", "ghost", 3)})).batch ==
        Errc::kUnknown);
  CHECK(WriteAtLast(*other, Batch(1, {Put("k", "newer", 4)})) == WriteResult{});
  network.Behave({});
  // It did arrive.
  CHECK(Eventually([&] { return ReadOne(*other, "l") == Found(*other, "ghost", {1, 3}); }));
  // An acknowledged write is lost where nothing is compared: that is what it costs.
  const bool compares = store->traits().compares_stamps;
  CHECK(ReadOne(*other, "k").value == (compares ? "newer" : "ghost"));
}

TEMPLATE_TEST_CASE("a lost answer leaves the outcome open, once", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  TestType test;
  TcpProxy network(test.server().port());
  const auto store = test.Open("timeout=300ms", network.port());
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  network.Behave({.swallow_answers = true});
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  CHECK(WriteNow(*store, batch).batch == Errc::kUnknown);
  network.Behave({});
  CHECK(WriteAtLast(*store, batch) == WriteResult{});  // a repetition
  CHECK(ReadOne(*store, "k") == Found(*store, "2", {1, 2}));
}

TEMPLATE_TEST_CASE("a message cut in the middle is not half a batch", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  TestType test;
  TcpProxy network(test.server().port());
  const auto store = test.Open("timeout=5s", network.port());
  CHECK(WriteAtLast(*store, Batch(1, {Put("old", "1", 1)})) == WriteResult{});
  network.Behave({.cut_after = 20'000});
  std::vector<WriteItem> items = {Delete("old", 2)};
  for (int i = 0; i < 100; ++i) {
    items.push_back(Put("k" + std::to_string(i), std::string(1000, 'x'), 2));
  }
  CHECK(WriteNow(*store, Batch(1, items)).batch == Errc::kUnknown);
  network.Behave({});
  REQUIRE(Eventually([&] { return ReadOne(*store, "old").found; }));
  std::size_t found = 0;
  for (const WriteItem& item : items) found += ReadOne(*store, item.key).found ? 1U : 0U;
  CHECK(found == 1);
  CHECK(WriteAtLast(*store, Batch(1, items)) == WriteResult{});
}

TEMPLATE_TEST_CASE("a slow network cuts nothing short", "[remote]", STOUT_TEST_REMOTE_STORES) {
  TestType test;
  TcpProxy network(test.server().port());
  const auto store = test.Open({}, network.port());
  network.Behave({.delay = 2ms, .bytes_per_second = 4'000'000});
  const std::string value(1'000'000, 'x');
  CHECK(WriteNow(*store, Batch(1, {Put("k", value, 1)})) == WriteResult{});
  CHECK((ReadOne(*store, "k") == Found(*store, value, {1, 1})));  // which is not to be printed
}

TEMPLATE_TEST_CASE("a server that stands still", "[remote]", STOUT_TEST_REMOTE_STORES) {
  const LogCapture log;
  TestType test;
  auto store = test.Open("timeout=300ms&connect_timeout=400ms");
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  test.server().Signal(SIGSTOP);
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  CHECK(WriteNow(*store, batch).batch == Errc::kUnknown);
  CHECK(WriteNow(*store, batch).batch == Errc::kTransient);  // there is no connection
  CHECK_THAT(test.WhyNot(test.server().Url("connect_timeout=50ms"), Errc::kTransient),
             Contains("within 50 ms") || Contains("timeout expired"));
  test.server().Signal(SIGCONT);
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
  store.reset();
  test.Join();
  CHECK(log.Count("no answer within 300 ms") >= 1);
}

TEMPLATE_TEST_CASE("a store that is destroyed answers what it has not done", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  TestType test;
  auto store = test.Open("timeout=60s");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  test.server().Signal(SIGSTOP);
  std::vector<WriteBatch> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(Batch(1, {Put("k", "2", 2)}));
  std::atomic<int> unknown{0};
  for (const WriteBatch& batch : batches) {
    store->Write(batch, [&](WriteResult result) { unknown += result.batch == Errc::kUnknown; });
  }
  store.reset();
  CHECK(unknown == 20);
  test.server().Signal(SIGCONT);
}

TEMPLATE_TEST_CASE("more calls than may wait are turned away at once", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  constexpr int kQueue = 3;
  constexpr int kCalls = 10;
  TestType test;
  const auto store = test.Open("max_queue=3&timeout=60s");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  test.server().Signal(SIGSTOP);
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  std::atomic<int> done{0};
  std::atomic<int> turned_away{0};
  for (int i = 0; i < kCalls; ++i) {
    store->Write(batch, [&](const WriteResult& result) {
      (result.batch == Errc::kOk ? done : turned_away) += 1;
    });
  }
  CHECK(turned_away >= kCalls - kQueue);
  test.server().Signal(SIGCONT);
  CHECK(Eventually([&] { return done + turned_away == kCalls; }));
  CHECK(done > 0);
}

// LeakSanitizer sees what is.
TEMPLATE_TEST_CASE("calls that wait when their context ends leave nothing behind", "[remote]",
                   STOUT_TEST_REMOTE_STORES) {
  TestType test;
  boost::asio::io_context context;
  auto store = OpenOn(context, test.Url());
  int answered = 0;
  const WriteBatch batch = Batch(1, {Put("k", "1", 1)});
  for (int i = 0; i < 20; ++i) store->Write(batch, [&](const WriteResult&) { ++answered; });
  context.poll();  // Some are under way, and the others wait for their connections.
  store.reset();
  CHECK(answered == 20);
}

}  // namespace
}  // namespace stout::test
