// Changes that a member of a ReplicatedMap refuses.
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

void Pass(ReplicaWorld& world, std::chrono::milliseconds time) {
  bool passed = false;
  boost::asio::steady_timer timer(world.context, time);
  timer.async_wait([&](ErrorCode) { passed = true; });
  world.RunUntil([&] { return passed; });
}

TEST_CASE("a change that one member refuses is undone at all members", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  // Longer than a busy machine stops this thread: a refusal that comes late is none.
  options.member_timeout = std::chrono::seconds(1);
  options.engine.lane.attempt_timeout = std::chrono::seconds(1);
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  const bool always = GENERATE(false, true);
  int refused = 0;
  world.refuse = [&](MemberIndex m, KeyView key) {
    return m == 1 && key == "k" && (always || refused == 0) && ++refused > 0;
  };
  CHECK(world.Put(map, "k", "2") == Errc::kUnknown);
  // It leaves if it refuses even what it has.
  if (always) world.RunUntil([&] { return !world.IsIn(1) && !map.Stats().members[1].in; });
  CHECK(world.Get(map, "k") == "1");
  CHECK(world.IsIn(1) != always);
  CHECK(world.StatesOf(0).at("k").value == "1");
  CHECK(world.StatesOf(1).at("k").value == "1");
  world.refuse = {};
  CHECK_FALSE(world.Put(map, "k", "3"));
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(world.StatesOf(1) == world.StatesOf(0));
}

/// Waits until a mark is durable. Then nothing is under way.
void AwaitMark(ReplicaWorld& world, ReplicatedMap& map) {
  world.RunUntil([&] { return map.Stats().mark > 0; });
  CHECK_FALSE(world.Await([&](auto done) {
    boost::asio::post(map.get_executor(),
                      [&, done = std::move(done)]() mutable { map.Flush(std::move(done)); });
  }));
}

TEST_CASE("a refused value is not shown if it cannot be undone", "[replicated]") {
  ReplicaWorld world(1);
  world.want = {"store-0"};
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.lane.max_dirty_bytes = 1000;
  ReplicatedMap& map = world.Open(options);
  const std::string former(600, '1');
  CHECK_FALSE(world.Put(map, "k", former));
  AwaitMark(world, map);
  world.refuse = [&](MemberIndex, KeyView key) {
    if (key != "k") return false;
    world.stores[0]->HoldWrites();
    return true;
  };
  world.stores[0]->HoldWrites();
  std::optional<ErrorCode> answer;
  std::optional<ErrorCode> other;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return world.stores[0]->waiting() > 0; });
  world.Begin(map, "j", std::string(600, '3'), other);  // no room is left for what was there
  world.stores[0]->Open();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kRefused);
  CHECK(world.Get(map, "k") == former);
  CHECK_FALSE(other);
  world.stores[0]->Open();
  world.RunUntil([&] { return other.has_value(); });
  CHECK_FALSE(*other);
  CHECK(world.StatesOf(0).at("k").value == former);
}

TEST_CASE("a drain does not fail because of a refused value", "[replicated]") {
  ReplicaWorld world(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.strong = GENERATE(true, false);
  const bool times_out = GENERATE(false, true);  // an attempt before the one that is refused
  if (times_out) options.engine.lane.attempt_timeout = std::chrono::milliseconds(5);
  ReplicatedMap& map = world.OpenSettled(options);
  world.stores[0]->HoldWrites();
  world.stores[1]->HoldWrites();
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return world.stores[0]->waiting() > (times_out ? 1 : 0); });
  std::optional<ErrorCode> drained;
  world.On(map, [&] { map.Drain([&](ErrorCode ec) { drained = ec; }); });
  world.refuse = [&](MemberIndex m, KeyView key) { return m == 0 && key == "k"; };
  world.stores[0]->Open();
  Pass(world, std::chrono::milliseconds(20));
  CHECK_FALSE(drained);  // the other member has not written yet
  world.stores[1]->Open();
  world.RunUntil([&] { return drained.has_value(); });
  CHECK_FALSE(*drained);
}

TEST_CASE("a refused value waits for room to read the former one", "[replicated]") {
  ReplicaWorld world(1);
  world.want = {"store-0"};
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.lane.max_pending_reads = 2;
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  AwaitMark(world, map);
  world.refuse = [&](MemberIndex, KeyView key) { return key == "k"; };
  world.stores[0]->Shut();
  world.stores[0]->LetWrites();
  std::vector<ErrorCode> fates;
  const auto get = [&](KeyView key) {
    map.Get(key, [&](ErrorCode ec, const ReplicatedMap::Entry&) { fates.push_back(ec); });
  };
  world.On(map, [&] {
    get("a");
    get("b");
  });
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kRefused);
  world.context.restart();
  std::size_t turns = 0;
  while (turns < 10'000 && world.context.poll_one() > 0) ++turns;
  CHECK(turns < 10'000);  // it waits, and does not ask again without end
  CHECK(fates.empty());

  world.On(map, [&] { get("k"); });
  world.RunUntil([&] { return !fates.empty(); });
  CHECK(fates == std::vector<ErrorCode>{Errc::kPushedBack});
  world.stores[0]->Open();
  world.RunUntil([&] { return fates.size() == 3; });
  CHECK_FALSE(fates[1]);
  CHECK_FALSE(fates[2]);
  CHECK(world.Get(map, "k") == "1");
}

TEST_CASE("a member leaves if what it refused cannot be undone at another one", "[replicated]") {
  ReplicaWorld world(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.lane.max_dirty_bytes = 1000;
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", std::string(600, '1')));
  AwaitMark(world, map);
  world.refuse = [&](MemberIndex m, KeyView key) {
    if (m != 0 || key != "k") return false;
    world.stores[0]->HoldWrites();
    return true;
  };
  world.stores[0]->HoldWrites();
  std::optional<ErrorCode> answer;
  std::optional<ErrorCode> other;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return world.stores[0]->waiting() > 0; });
  world.Begin(map, "j", std::string(600, '3'), other);  // no room is left for what was there
  world.stores[0]->Open();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kUnknown);
  world.RunUntil([&] { return !world.IsIn(0); });
  CHECK(world.IsIn(1));
  CHECK(world.Get(map, "k") == "2");
  world.RunUntil([&] { return other.has_value(); });
  CHECK_FALSE(*other);
}

TEST_CASE("no mark covers a change that one member has and another one refused", "[replicated]") {
  ReplicaWorld world(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMap& map = world.Open(ReplicaWorld::Patient());
  CHECK_FALSE(world.Put(map, "k", "1"));
  AwaitMark(world, map);
  world.refuse = [&](MemberIndex m, KeyView key) {
    if (m != 1 || key != "k" || world.StatesOf(0).at("k").value != "2") return false;
    world.stores[1]->Shut();  // the read of the former state waits
    return true;
  };
  const Version before = map.Stats().version;
  std::optional<ErrorCode> answer;
  world.stores[1]->Shut();
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return world.StatesOf(0).at("k").value == "2"; });
  world.stores[1]->Open();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kUnknown);
  bool waited = false;  // for longer than two intervals of marks
  boost::asio::steady_timer timer(world.context, std::chrono::milliseconds(300));
  timer.async_wait([&](ErrorCode) { waited = true; });
  world.RunUntil([&] { return waited; });
  CHECK(map.Stats().mark <= before);
  world.refuse = {};
  world.stores[1]->Open();
  world.RunUntil([&] { return map.Stats().mark > before; });
  CHECK(world.Get(map, "k") == "1");
  CHECK(world.StatesOf(0) == world.StatesOf(1));
}

void CheckAllHave(ReplicaWorld& world, const std::string& key, const std::string& value) {
  for (MemberIndex m = 0; m < ReplicaWorld::kMembers; ++m) {
    CHECK(world.IsIn(m));
    CHECK(world.StatesOf(m).at(key).value == value);
  }
}

TEST_CASE("an attempt that got no answer cannot bring a refused value back", "[replicated]") {
  ReplicaWorld world(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.strong = true;
  options.engine.lane.attempt_timeout = std::chrono::milliseconds(5);
  ReplicatedMap& map = world.OpenSettled(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  const Epoch epoch = world.StatesOf(0).at("k").stamp.epoch;
  for (const MemberIndex m : {0, 1}) world.stores[m]->HoldWrites();
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "2", answer);
  const Version version = map.Stats().version;
  Pass(world, std::chrono::milliseconds(50));  // some attempts time out
  std::optional<ErrorCode> newer;
  const bool is_replaced = GENERATE(false, true);
  if (is_replaced) world.Begin(map, "k", "3", newer);
  world.refuse = [&](MemberIndex, KeyView key) {
    return key == "k" && !(is_replaced ? newer : answer);
  };
  for (const MemberIndex m : {0, 1}) world.stores[m]->Open();
  world.RunUntil([&] { return answer && (newer || !is_replaced); });
  CHECK(*answer == Errc::kUnknown);
  CHECK(world.Get(map, "k") == "1");
  // The first attempt is carried out after all.
  const WriteBatch late{.epoch = epoch, .items = {{.key = "k", .value = "2", .version = version}}};
  world.stores[0]->underneath().Write(late, [](const WriteResult&) {});
  CHECK(world.StatesOf(0).at("k").value == "1");
}

TEST_CASE("a change that all members refuse drops none of them", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.strong = GENERATE(true, false);
  const bool is_new = GENERATE(true, false);
  ReplicatedMap& map = world.OpenSettled(options);
  if (!is_new) CHECK_FALSE(world.Put(map, "k", "1"));
  world.refuse = [&](MemberIndex, KeyView key) { return key == "k"; };
  CHECK(world.Put(map, "k", "2") == Errc::kRefused);
  CHECK(world.Get(map, "k") == (is_new ? "-" : "1"));
  Pass(world, std::chrono::milliseconds(50));
  for (const auto& member : map.Stats().members) CHECK(member.in);
  CHECK(world.Get(map, "k") == (is_new ? "-" : "1"));
  world.refuse = {};
  CHECK_FALSE(world.Put(map, "k", "3"));
  AwaitMark(world, map);
  CHECK(world.StatesOf(0) == world.StatesOf(1));
  CHECK(world.StatesOf(0) == world.StatesOf(2));
}

TEST_CASE("a member that has never had a key may refuse it for ever", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open(ReplicaWorld::Patient());
  world.refuse = [&](MemberIndex m, KeyView key) { return m == 1 && key == "k"; };
  for (const char* const value : {"1", "2"}) {
    CHECK(world.Put(map, "k", value) == Errc::kUnknown);
    CHECK(world.Get(map, "k") == "-");
  }
  Pass(world, std::chrono::milliseconds(50));
  CHECK(world.IsIn(1));
  CHECK_FALSE(world.StatesOf(0).at("k").found);
}

TEST_CASE("in mode ec a member that refuses what another one took leaves", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = false;
  ReplicatedMap& map = world.OpenSettled(options);
  world.refuse = [&](MemberIndex m, KeyView key) { return m != 0 && key == "k"; };
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.RunUntil([&] { return !world.IsIn(1) && !world.IsIn(2); });
  CHECK(world.Get(map, "k") == "1");
}

TEST_CASE("a member that refused what is being undone anyway stays", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open(ReplicaWorld::Patient());
  CHECK_FALSE(world.Put(map, "k", "1"));
  std::array<int, 2> refused{};
  world.refuse = [&](MemberIndex m, KeyView key) {
    if (m > 1 || key != "k" || refused.at(m)++ > 0) return false;
    if (m == 0) world.stores[0]->HoldWrites();
    return true;
  };
  world.stores[1]->HoldWrites();
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return refused[0] > 0; });
  Pass(world, std::chrono::milliseconds(50));  // the older state waits at member 0, or is not sent
  world.stores[1]->Open();
  Pass(world, std::chrono::milliseconds(50));
  world.stores[0]->Open();
  CHECK(world.Get(map, "k") == "1");
  AwaitMark(world, map);
  CheckAllHave(world, "k", "1");
}

TEST_CASE("a client's change while an older state is put back may be refused", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.lane.max_batches_in_flight = 1;
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  AwaitMark(world, map);
  const bool others_too = GENERATE(false, true);
  int refused = 0;
  world.refuse = [&](MemberIndex m, KeyView key) {
    if (key != "k") return false;
    if (m != 0) return others_too && refused == 2;
    if (refused == 2) return false;
    if (++refused == 1) world.stores[0]->HoldWrites();
    return true;
  };
  std::optional<ErrorCode> first;
  std::optional<ErrorCode> other;
  std::optional<ErrorCode> second;
  world.stores[0]->HoldWrites();
  world.Begin(map, "k", "2", first);
  world.RunUntil([&] { return world.stores[0]->waiting() > 0; });
  world.Begin(map, "j", "1", other);
  world.stores[0]->Open();  // it refuses, so that what was there waits behind the other key
  world.RunUntil([&] { return first && world.StatesOf(1).at("k").value == "1"; });
  CHECK(*first == Errc::kUnknown);
  if (others_too) {
    for (const MemberIndex m : {1, 2}) world.stores[m]->HoldWrites();
  }
  world.Begin(map, "k", "3", second);
  world.stores[0]->Open();
  world.RunUntil([&] { return refused == 2; });
  for (const MemberIndex m : {1, 2}) world.stores[m]->Open();
  world.RunUntil([&] { return second.has_value(); });
  CHECK(*second == (others_too ? Errc::kRefused : Errc::kUnknown));
  CHECK(world.Get(map, "k") == "1");
  AwaitMark(world, map);
  CheckAllHave(world, "k", "1");
}

TEST_CASE("what a member took is undone, although it refuses the next change", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.lane.max_batches_in_flight = 1;
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  AwaitMark(world, map);
  std::array<int, ReplicaWorld::kMembers> refusals{1, 0, 0};
  world.refuse = [&](MemberIndex m, KeyView key) { return key == "k" && refusals.at(m)-- > 0; };
  std::optional<ErrorCode> first;
  std::optional<ErrorCode> other;
  std::optional<ErrorCode> second;
  world.stores[0]->HoldWrites();
  world.Begin(map, "k", "2", first);
  world.RunUntil([&] {
    return world.StatesOf(1).at("k").value == "2" && world.StatesOf(2).at("k").value == "2";
  });
  Pass(world, std::chrono::milliseconds(10));
  for (const MemberIndex m : {1, 2}) world.stores[m]->HoldWrites();
  world.Begin(map, "j", "1", other);
  world.RunUntil([&] { return world.stores[1]->waiting() + world.stores[2]->waiting() == 2; });
  world.stores[0]->Open();
  world.RunUntil([&] { return first.has_value(); });
  CHECK(*first == Errc::kUnknown);
  Pass(world, std::chrono::milliseconds(10));  // the older state waits behind the other key
  refusals = {1, 1, 1};
  world.Begin(map, "k", "3", second);
  for (const MemberIndex m : {1, 2}) world.stores[m]->Open();
  world.RunUntil([&] { return second.has_value(); });
  CHECK(*second == Errc::kRefused);
  CHECK(world.Get(map, "k") == "1");
  AwaitMark(world, map);
  CheckAllHave(world, "k", "1");
}

TEST_CASE("members are equal after any refusals", "[replicated]") {
  const unsigned seed = GENERATE(74U, 380U, 483U, 635U, 771U, 1675U);
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = one_in(2);
  options.member_timeout = std::chrono::milliseconds(200);
  options.engine.lane.attempt_timeout = std::chrono::milliseconds(200);
  ReplicatedMap& map = world.OpenSettled(options);
  const unsigned rare = 2 + random() % 3;
  world.refuse = [&](MemberIndex, KeyView key) {
    return !key.starts_with("stout:") && one_in(rare);
  };
  struct Write {
    std::string key, value;
    std::optional<ErrorCode> answer;
  };
  std::deque<Write> writes;
  for (int i = 0; i < 60; ++i) {
    std::optional<std::string> value = std::to_string(i);
    if (one_in(4)) value.reset();
    writes.push_back({one_in(2) ? "a" : "b", value.value_or("-"), {}});
    Write& write = writes.back();
    world.Begin(map, write.key, value, write.answer);
    GatedStore& store = *world.stores.at(random() % ReplicaWorld::kMembers);
    one_in(2) ? store.HoldWrites() : store.Open();
    for (unsigned turns = random() % 30; turns > 0; --turns) world.context.poll_one();
  }
  for (const auto& store : world.stores) store->Open();
  for (const Write& write : writes) world.RunUntil([&] { return write.answer.has_value(); });
  world.refuse = {};
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK_FALSE(world.Put(map, "c", "1"));
  AwaitMark(world, map);
  for (const std::string key : {"a", "b"}) {
    const std::string shown = world.Get(map, key);
    // In mode sc no answered write is lost: none of another value came after the last of `shown`.
    std::string lost;
    for (const Write& write : writes) {
      if (write.key != key) continue;
      if (write.value == shown) lost.clear();
      if (write.value != shown && !*write.answer) lost = write.value;
    }
    CHECK((!*options.strong || lost.empty()));
    for (MemberIndex m = 0; m < ReplicaWorld::kMembers; ++m) {
      CAPTURE(key, m);
      REQUIRE(world.IsIn(m));
      const StoredState state = world.StatesOf(m)[key];
      CHECK((state.found ? state.value : "-") == shown);
    }
  }
}

}  // namespace
}  // namespace stout
