// Goal: a page of a ReplicatedMap's keys shows settled states only, and all that was answered.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Page {
  std::optional<ErrorCode> ec;
  Pairs keys;  // those that exist
  std::optional<std::string> next;
};

// The page is answered as a node would answer it.
void BeginScan(ReplicaWorld& world, ReplicatedMap& map, KeyScan scan, Page& page) {
  world.On(map, [&] {
    map.Scan(std::move(scan), [&map, &page](ErrorCode ec, KeyPage found) {
      std::vector<KeyView> views;
      for (const ScannedKey& each : found.keys) {
        views.push_back(each.key);
        if (each.state.found) page.keys.emplace_back(each.key, each.state.value);
      }
      page.next = std::move(found.next);
      if (ec) {
        page.ec = ec;
        return;
      }
      map.SafeReply(views, [&page](ErrorCode error) { page.ec = error; },
                    {.members = std::nullopt, .write = false});
    });
  });
}

Page Scan(ReplicaWorld& world, ReplicatedMap& map, KeyScan scan = {}) {
  Page page;
  if (!scan.wanted) scan.wanted = [](KeyView key) { return !key.starts_with("stout:"); };
  BeginScan(world, map, std::move(scan), page);
  world.RunUntil([&] { return page.ec.has_value(); });
  return page;
}

TEST_CASE("a page has the keys of an interval, and where the next one begins", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open();
  for (const char* const key : {"a", "b", "c", "d"}) CHECK_FALSE(world.Put(map, key, key));
  CHECK_FALSE(world.Put(map, "c", std::nullopt));
  const Page all = Scan(world, map);
  CHECK_FALSE(*all.ec);
  CHECK(all.keys == Pairs{{"a", "a"}, {"b", "b"}, {"d", "d"}});
  CHECK_FALSE(all.next);
  const Page first = Scan(world, map, {.first = "a", .end = "d", .limit = 1});
  CHECK(first.keys == Pairs{{"a", "a"}, {"b", "b"}});
  REQUIRE(first.next);
  const Page second = Scan(world, map, {.first = *first.next, .end = "d", .limit = 2});
  CHECK(second.keys.empty());
  CHECK_FALSE(second.next);
}

TEST_CASE("a page shows no state that another member lacks", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open();
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.stores[1]->Shut();
  std::optional<ErrorCode> written;
  world.Begin(map, "k", "2", written);
  world.RunUntil([&] { return world.StatesOf(0).at("k").value == "2"; });
  Page page;
  BeginScan(world, map, {.end = "l"}, page);
  world.Turn();
  CHECK_FALSE(page.ec);
  world.stores[1]->Open();
  world.RunUntil([&] { return page.ec.has_value(); });
  CHECK_FALSE(*page.ec);
  CHECK(page.keys == Pairs{{"k", "2"}});
  CHECK(world.StatesOf(1).at("k").value == "2");
}

TEST_CASE("a page has what was answered, although a member refuses another change",
          "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = false;  // one member answers
  options.local = "store-1";
  options.member_timeout = std::chrono::seconds(2);
  options.engine.lane.attempt_timeout = std::chrono::seconds(2);
  ReplicatedMap& map = world.Open(options);
  world.RunUntil([&] { return !world.registry.record.strong && world.IsSettled(map); });
  world.refuse = [](MemberIndex m, KeyView key) { return m == 0 && key == "bad"; };
  for (const MemberIndex m : {1, 2}) world.stores[m]->HoldWrites();
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.stores[0]->HoldWrites();
  std::optional<ErrorCode> written;
  world.Begin(map, "bad", "1", written);
  Page page;
  BeginScan(world, map, {.wanted = [](KeyView key) { return key == "k"; }}, page);
  world.stores[0]->Open();
  world.RunUntil([&] { return page.ec || !world.IsIn(0); });
  for (const MemberIndex m : {1, 2}) world.stores[m]->Open();
  world.RunUntil([&] { return page.ec.has_value(); });
  CHECK_FALSE(*page.ec);
  CHECK(page.keys == Pairs{{"k", "1"}});
}

TEST_CASE("a page is pushed back if there is no room for its answer", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.engine.max_replies = 1;
  ReplicatedMap& map = world.Open(options);
  for (const auto& store : world.stores) store->Shut();
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "1", answer);
  CHECK(Scan(world, map).ec == ErrorCode(Errc::kPushedBack));
  for (const auto& store : world.stores) store->Open();
  world.RunUntil([&] { return answer.has_value(); });
}

TEST_CASE("a page repairs what a former owner left at some members", "[replicated]") {
  ReplicaWorld world;
  {
    ReplicatedMap& map = world.Open();
    CHECK_FALSE(world.Put(map, "k", "1"));
    for (const MemberIndex m : {1, 2}) world.stores[m]->Shut();
    std::optional<ErrorCode> written;
    world.Begin(map, "k", "2", written);
    world.RunUntil([&] { return world.StatesOf(0).at("k").value == "2"; });
    world.Destroy(map);
    world.Turn();
    for (const MemberIndex m : {1, 2}) world.stores[m]->Open();
  }
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.local = GENERATE("store-0", "store-1");  // where the page is read
  ReplicatedMap& map = world.Open(options);
  const Page page = Scan(world, map);
  CHECK_FALSE(*page.ec);
  REQUIRE(page.keys.size() == 1);
  for (MemberIndex m = 0; m < ReplicaWorld::kMembers; ++m)
    CHECK(world.StatesOf(m).at("k").value == page.keys[0].second);
}

TEST_CASE("a page of a range that all nodes write shows the newest state of each key",
          "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = false;
  options.shared = true;
  ReplicatedMap& owner = world.Open(options);
  world.RunUntil([&] { return world.registry.record.shared != 0 && world.IsSettled(owner); });
  // The map of a node that reaches these members, and reads pages at the first.
  const auto make_node = [&](std::uint32_t number, const std::vector<MemberIndex>& reached) {
    std::vector<Replica> replicas;
    for (const Replica& each : world.Replicas()) replicas.push_back({each.datalet, nullptr});
    for (const MemberIndex m : reached) replicas[m].store = world.stores[m].get();
    options.shared = false;
    options.local = replicas[reached.front()].datalet;
    options.clock = std::make_shared<NodeClock>();
    options.clock->Reserve({.number = number, .from = 0, .until = UINT64_MAX >> 10});
    auto map = std::make_unique<ReplicatedMap>(
        world.context.get_executor(),
        ReplicatedRange{.record = {world.registry.record, world.registry.revision},
                        .scope = "range",
                        .replicas = std::move(replicas)},
        options);
    REQUIRE_FALSE(world.Await([&](auto done) { map->Open(std::move(done)); }));
    return map;
  };
  const auto a = make_node(1, {0});
  const auto b = make_node(2, {1, 2});
  CHECK_FALSE(world.Put(*a, "k", "1"));
  CHECK_FALSE(world.Put(*b, "k", "2"));
  const auto both = make_node(3, {0, 1});
  CHECK(world.StatesOf(0).at("k").value == "1");
  const Page page = Scan(world, *both);
  CHECK_FALSE(*page.ec);
  CHECK(page.keys == Pairs{{"k", "2"}});
}

}  // namespace
}  // namespace stout
