#include "stout/replicated_map.h"

#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using Fault = FakeRegistry::Fault;

TEST_CASE("a change is durable at every member before its answer", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open();
  CHECK_FALSE(world.Put(map, "kept", "v"));
  CHECK_FALSE(world.Put(map, "gone", "v"));
  CHECK_FALSE(world.Put(map, "gone", std::nullopt));
  CHECK(world.Get(map, "kept") == "v");
  CHECK(world.Get(map, "gone") == "-");
  CHECK(world.Get(map, "none") == "-");
  for (MemberIndex m = 0; m < ReplicaWorld::kMembers; ++m) {
    const auto states = world.StatesOf(m);
    CHECK(states.at("kept").value == "v");
    CHECK_FALSE(states.at("gone").found);
    CHECK(states == world.StatesOf(0));
  }
}

TEST_CASE("coroutines use a replicated map as any other map", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Make();
  bool done = false;
  asio::co_spawn(
      map.get_executor(),
      [&]() -> asio::awaitable<void> {
        co_await map.AsyncOpen(asio::use_awaitable);
        CHECK((map.Put("a", "1").value() > Stamp{}));
        CHECK(map.Put("b", "2").has_value());
        co_await map.AsyncSafeReply({"a", "b"}, asio::use_awaitable);
        co_await map.AsyncSafeReply("a", AnswerLevel{.members = 2}, asio::use_awaitable);
        const ReplicatedMap::Entry a = co_await map.AsyncGet("a", asio::use_awaitable);
        CHECK(*a.value == "1");
        CHECK(*map.Peek("b")->value == "2");
        co_await map.AsyncFlush(asio::use_awaitable);
        co_await map.AsyncDrain(asio::use_awaitable);
        CHECK(map.Put("c", "3").error() == Errc::kDraining);
        done = true;
      },
      asio::detached);
  world.RunUntil([&] { return done; });
  CHECK(world.StatesOf(2).at("b").value == "2");
}

TEST_CASE("a replicated map shows that it has no room for a reply", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.max_replies = 1;
  ReplicatedMap& map = world.Open(options);
  for (const auto& store : world.stores) store->Shut();
  std::optional<ErrorCode> first;
  std::optional<ErrorCode> second;
  world.On(map, [&] { CHECK(map.HasReplyRoom()); });
  world.Begin(map, "k", "1", first);
  world.On(map, [&] { CHECK_FALSE(map.HasReplyRoom()); });
  world.Begin(map, "k", "2", second);
  world.RunUntil([&] { return second.has_value(); });
  CHECK(second == ErrorCode(Errc::kPushedBack));
  for (const auto& store : world.stores) store->Open();
  world.RunUntil([&] { return first.has_value(); });
  CHECK_FALSE(*first);
  world.On(map, [&] { CHECK(map.HasReplyRoom()); });
}

TEST_CASE("a mark that is being written leaves a replicated map its room for replies",
          "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.max_replies = 1;
  ReplicatedMap& map = world.Open(options);
  for (const auto& store : world.stores) store->Shut();
  world.On(map, [&] { CHECK(map.Put("a", "1").has_value()); });
  world.RunUntil([&] { return map.Stats().members[0].engine.replies_held > 0; });
  world.On(map, [&] { CHECK(map.HasReplyRoom()); });
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "1", answer);
  for (const auto& store : world.stores) store->Open();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK_FALSE(*answer);
}

TEST_CASE("a replicated map refuses the keys that its members have for themselves",
          "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open(ReplicaWorld::Patient());
  CHECK(world.Put(map, "stout:k", "1") == Errc::kRefused);
}

TEST_CASE("a new range is filled from its one member, which may have older data", "[replicated]") {
  ReplicaWorld world(1);
  const WriteBatch old{.epoch = 1, .items = {{.key = "old", .value = "v", .version = 1}}};
  world.stores[0]->Write(old, [](const WriteResult&) {});
  world.registry.owner = 1;
  ReplicatedMap& map = world.Open();
  CHECK_FALSE(world.Put(map, "new", "w"));
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(world.Get(map, "old") == "v");
  for (MemberIndex m = 0; m < ReplicaWorld::kMembers; ++m) {
    CHECK(world.IsIn(m));
    CHECK(world.StatesOf(m) == world.StatesOf(0));
    CHECK(world.StatesOf(m).size() == 2);
  }
  CHECK(map.Stats().members[1].copied > 0);
}

TEST_CASE("keys of other ranges in a member are left alone", "[replicated]") {
  ReplicaWorld world(1);
  world.contains = [](KeyView key) { return !key.starts_with("other/"); };
  const auto write = [&](MemberIndex m, const std::string& key, Epoch epoch) {
    const WriteBatch batch{.epoch = epoch, .items = {{.key = key, .value = "v", .version = 1}}};
    world.stores[m]->Write(batch, [](const WriteResult&) {});
  };
  write(0, "old", 1);
  write(0, "other/a", 7);  // its range has a newer epoch
  write(1, "other/b", 7);
  write(1, "rest", 1);  // nobody acknowledged it
  world.registry.owner = 1;
  ReplicatedMap& map = world.Open();
  world.RunUntil([&] { return world.IsSettled(map); });
  using Keys = std::vector<std::string>;
  const auto keys_of = [&](MemberIndex m) {
    Keys keys;
    for (const auto& [key, state] : world.StatesOf(m)) {
      if (state.found) keys.push_back(key);
    }
    return keys;
  };
  CHECK(keys_of(0) == Keys{"old", "other/a"});
  CHECK(keys_of(1) == Keys{"old", "other/b"});
  CHECK(keys_of(2) == Keys{"old"});
  CHECK(map.epoch() == world.registry.owner);
}

TEST_CASE("fewer members than min_in take no write", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  // Longer than a busy machine stops this thread: otherwise members leave before they are shut.
  options.member_timeout = std::chrono::seconds(1);
  options.min_in = 2;
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.stores[1]->Shut();
  world.stores[2]->Shut();
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return !world.IsIn(1) && !world.IsIn(2); });
  world.RunUntil([&] { return !map.Stats().members[1].in; });
  CHECK(world.Put(map, "k", "3") == Errc::kTooFewMembers);
  CHECK(world.Get(map, "k") == "2");
  // One member has it, and it stays.
  CHECK(answer == ErrorCode(Errc::kUnknown));
  world.stores[1]->Open();
  world.RunUntil([&] { return map.Stats().members[1].in; });
  CHECK_FALSE(world.Put(map, "k", "3"));
}

TEST_CASE("an answer that waits for a member in vain has a deadline", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::seconds(60);
  options.engine.reply_deadline = std::chrono::milliseconds(100);
  ReplicatedMap& map = world.Open(options);
  world.stores[1]->Shut();
  CHECK(world.Put(map, "k", "1") == Errc::kDeadline);
}

TEST_CASE("a new owner fences the former one", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& former = world.Open();
  CHECK_FALSE(world.Put(former, "k", "1"));
  ReplicatedMap& next = world.Open();
  CHECK(world.Get(next, "k") == "1");
  CHECK(world.Put(former, "k", "2") == Errc::kFenced);
  world.RunUntil([&] { return world.given_up == 1; });
  CHECK(world.Put(former, "k", "3") == Errc::kFenced);
  CHECK(world.Get(former, "k") == ErrorCode(Errc::kFenced).message());
  CHECK_FALSE(world.Put(next, "k", "4"));
  CHECK(world.Get(next, "k") == "4");
  CHECK(world.Await([&](auto done) { former.Open(std::move(done)); }) == Errc::kFenced);
}

TEST_CASE("a new owner repairs a write that one member alone has", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::seconds(60);  // Neither member leaves meanwhile.
  ReplicatedMap& former = world.Open(options);
  CHECK_FALSE(world.Put(former, "k", "1"));
  world.stores[1]->Shut();
  world.stores[2]->Shut();
  std::optional<ErrorCode> answer;
  world.Begin(former, "k", "2", answer);
  world.RunUntil([&] { return world.StatesOf(0).at("k").value == "2"; });
  world.On(former, [&] { former.Fence(); });
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kFenced);
  world.stores[1]->Drop();
  world.stores[2]->Drop();
  world.stores[1]->Open();
  world.stores[2]->Open();
  ReplicatedMap& next = world.Open();
  const std::string shown = world.Get(next, "k");  // any member may have been asked
  CHECK((shown == "1" || shown == "2"));
  world.RunUntil([&] { return world.IsSettled(next); });
  for (MemberIndex m = 0; m < ReplicaWorld::kMembers; ++m) {
    CHECK(world.StatesOf(m).at("k").value == shown);
  }
}

TEST_CASE("in mode ec an answer waits for `ack` members", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = false;
  options.member_timeout = std::chrono::hours(1);
  options.ack = GENERATE(1, 2);
  ReplicatedMap& map = world.Open(options);
  world.RunUntil([&] { return !world.registry.record.strong; });
  world.RunUntil([&] { return !map.Stats().strong; });
  for (const auto& store : world.stores) store->Shut();
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "1", answer);
  for (std::uint32_t m = 0; m < options.ack; ++m) {
    world.Turn();
    CHECK_FALSE(answer);
    world.stores[m]->Open();
  }
  world.RunUntil([&] { return answer.has_value(); });
  CHECK_FALSE(*answer);
  CHECK(world.StatesOf(2).empty());
  for (const auto& store : world.stores) store->Open();
  world.On(map, [&] { map.WantStrong(true); });
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(world.registry.record.strong);
  CHECK(world.StatesOf(2) == world.StatesOf(0));
}

TEST_CASE("a transaction that fails or is lost is repeated", "[replicated]") {
  ReplicaWorld world;
  const Fault fault = GENERATE(Fault::kFail, Fault::kLoseRequest, Fault::kLoseAnswer);
  world.registry.faults = {fault, fault};
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::seconds(1);  // longer than a busy machine stops this thread
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.registry.faults = {fault, fault};
  world.stores[0]->Shut();
  CHECK_FALSE(world.Put(map, "k", "2"));
  CHECK_FALSE(world.IsIn(0));
  CHECK(world.registry.faults.empty());
  CHECK(world.Get(map, "k") == "2");
}

TEST_CASE("an owner whose transaction comes too late gives the range up", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& former = world.Open();
  world.registry.holds = true;
  world.stores[2]->Shut();
  std::optional<ErrorCode> answer;
  world.Begin(former, "k", "1", answer);
  world.RunUntil([&] { return !world.registry.held.empty(); });
  ++world.registry.owner;  // before the transaction arrives
  world.registry.holds = false;
  world.registry.Release();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kFenced);
  CHECK(world.given_up == 1);
  CHECK(world.why == GivenUp::kFenced);
}

TEST_CASE("an owner that no member answers gives the range up", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open();
  for (const auto& store : world.stores) store->Shut();
  CHECK(world.Put(map, "k", "1") == Errc::kFenced);
  CHECK(world.given_up == 1);
  CHECK(world.why == GivenUp::kSilent);
  CHECK(world.IsIn(0));
  CHECK(world.IsIn(1));
}

TEST_CASE("a change overtakes a read at every moment", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.cache_bytes = 0;  // the key that was used last stays
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  CHECK_FALSE(world.Put(map, "other", "1"));
  const int turns = GENERATE(range(0, 12));
  CAPTURE(turns);
  bool answered = false;
  asio::post(map.get_executor(),
             [&] { map.Get("k", [&](ErrorCode ec, const auto&) { answered = !ec; }); });
  for (int i = 0; i < turns; ++i) world.context.poll_one();
  CHECK_FALSE(world.Put(map, "k", "2"));
  world.RunUntil([&] { return answered; });
  CHECK(world.Get(map, "k") == "2");
}

TEST_CASE("stores may answer on any thread", "[replicated]") {
  asio::thread_pool pool(3);
  FakeRegistry registry;
  registry.owner = 1;
  const MemoryOptions slow{.latency = {.latency = std::chrono::microseconds(50), .workers = 4}};
  std::array<MemoryStore, 3> stores{MemoryStore(pool.get_executor(), slow),
                                    MemoryStore(pool.get_executor(), slow),
                                    MemoryStore(pool.get_executor(), slow)};
  ReplicatedRange range{.epoch = 1,
                        .scope = "range",
                        .commit = [&](RegistryChange change, ReplicatedRange::CommitHandler done) {
                          registry.Commit(std::move(change), std::move(done));
                        }};
  for (MemoryStore& store : stores) {
    range.replicas.push_back({std::to_string(range.replicas.size()), &store});
    range.record.value.members.push_back({.datalet = range.replicas.back().datalet, .in = true});
  }
  auto map = std::make_unique<ReplicatedMap>(pool.get_executor(), std::move(range));
  std::atomic<int> wrong = 0;
  const auto client = [&](int number) -> asio::awaitable<void> {
    for (int i = 0; i < 50; ++i) {
      const std::string key = std::to_string(number) + "/" + std::to_string(i);
      if (!map->Put(key, "v")) ++wrong;
      co_await map->AsyncSafeReply(key, asio::use_awaitable);
      const ReplicatedMap::Entry entry = co_await map->AsyncGet(key + "x", asio::use_awaitable);
      if (entry.value) ++wrong;
    }
  };
  map->AsyncOpen(asio::use_future).get();
  std::vector<std::future<void>> clients;
  for (int number = 0; number < 4; ++number) {
    clients.push_back(asio::co_spawn(map->get_executor(), client(number), asio::use_future));
  }
  for (std::future<void>& each : clients) each.get();
  CHECK(wrong == 0);
  asio::post(map->get_executor(), [&] {
    (void)map->Put("last", "v");
    map.reset();
  });
  pool.join();
}

TEST_CASE("a map may be destroyed at any time", "[replicated]") {
  ReplicaWorld world(1);
  ReplicatedMap& map = world.Make();
  std::vector<std::string> log;
  const auto logged = [&](const std::string& name) {
    return [&log, name](ErrorCode ec) { log.push_back(name + ": " + ec.message()); };
  };
  map.Open(logged("open"));
  const int turns = GENERATE(range(0, 40));
  CAPTURE(turns);
  if (turns % 3 == 1) world.stores[0]->Shut();
  if (turns % 3 == 2) world.registry.holds = true;
  bool destroyed = false;
  asio::post(map.get_executor(), [&] {
    map.Get("k", [&log](ErrorCode, const auto&) { log.emplace_back("get"); });
    (void)map.Put("k", "1");
    const KeyView key = "k";
    map.SafeReply({&key, 1}, logged("reply"));
    map.Flush(logged("flush"));
  });
  for (int i = 0; i < turns; ++i) world.context.poll_one();
  asio::post(map.get_executor(), [&] {
    world.Destroy(map);
    destroyed = true;
  });
  world.RunUntil([&] { return destroyed; });
  world.RunUntil([&] { return log.size() == 4; });
  world.stores[0]->Open();
  world.registry.Release();
  world.Turn();
  CHECK(log.size() == 4);
}

TEST_CASE("a map that its opening's handler destroys reports nothing more", "[replicated]") {
  ReplicaWorld world;
  for (const auto& store : world.stores) store->Shut();
  ReplicatedMap& map = world.Make();
  std::optional<ErrorCode> opened;
  map.Open([&](ErrorCode ec) {
    opened = ec;
    world.Destroy(map);
  });
  world.RunUntil([&] { return opened.has_value(); });
  world.Turn();
  CHECK(opened == ErrorCode(Errc::kFenced));
  CHECK(world.given_up == 0);
}

TEST_CASE("a context may be destroyed while a handler owns the map", "[replicated]") {
  auto world = std::make_unique<ReplicaWorld>();
  ReplicatedRange range{.record = {world->registry.record, 0},
                        .epoch = 1,
                        .scope = "range",
                        .replicas = world->Replicas(),
                        .commit = [](const RegistryChange&, ReplicatedRange::CommitHandler) {}};
  auto map = std::make_shared<ReplicatedMap>(world->context.get_executor(), std::move(range));
  ReplicatedMap& opening = *map;
  opening.Open([map = std::move(map)](ErrorCode) { FAIL("it cannot open"); });
  world->Turn();
  world.reset();
}

TEST_CASE("trouble names what a map cannot be opened with", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  SECTION("options") { options.min_in = 0; }
  SECTION("no member that is in") { world.registry.record.members = {{.datalet = "a"}}; }
  SECTION("a member without a name") { world.registry.record.members.resize(4); }
  ReplicatedMap& map = world.Make(options);
  REQUIRE(map.trouble());
  CHECK(world.Await([&](auto done) { map.Open(std::move(done)); }) == Errc::kBadOptions);
}

TEST_CASE("a read of members that yields is hastened by one that does not", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open(ReplicaWorld::Patient());
  for (const auto& store : world.stores) store->Shut();
  const auto reads = [&] {
    std::size_t all = 0;
    for (const auto& store : world.stores) all += store->reads();
    return all;
  };
  int answered = 0;
  const auto get = [&](const std::string& key, const FetchOptions& options) {
    world.On(map, [&] {
      map.Get(key, options, [&](ErrorCode ec, const ReplicatedMap::Entry&) { answered += !ec; });
    });
    world.Turn();
  };
  for (int i = 0; i < 9; ++i) get("y" + std::to_string(i), {.yields = true});
  const std::size_t before = reads();
  get("k", {.yields = true});
  CHECK(reads() == before);  // each member has a batch of reads that yield
  get("k", {});
  CHECK(reads() == before + 1);
  for (const auto& store : world.stores) store->Open();
  world.RunUntil([&] { return answered == 11; });
}

TEST_CASE("a member that lags keeps nothing of counts that were answered", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.strong = false;
  ReplicatedMap& map = world.OpenSettled(options);
  world.stores[2]->HoldWrites();
  for (int i = 0; i < 10; ++i) CHECK_FALSE(world.Put(map, "k" + std::to_string(i), "1"));
  int answered = 0;
  for (int i = 0; i < 100; ++i) {
    world.On(map, [&] {
      map.Count(2, std::chrono::seconds(10), [&](ErrorCode ec, std::uint32_t members) {
        CHECK_FALSE(ec);
        answered += members >= 2;
      });
    });
  }
  world.RunUntil([&] { return answered == 100; });
  CHECK(map.Stats().members[2].engine.replies_held < 20);
  bool counted = false;
  world.On(map, [&] {
    map.Count(3, std::chrono::seconds(10),
              [&](ErrorCode, std::uint32_t members) { counted = members == 3; });
  });
  world.stores[2]->Open();
  world.RunUntil([&] { return counted; });
}

}  // namespace
}  // namespace stout
