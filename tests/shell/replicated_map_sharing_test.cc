// A range that several ReplicatedMaps write to, in mode aa+ec.
#include <boost/asio/post.hpp>
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

ReplicatedMapOptions Sharing() {
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = false;
  options.shared = true;
  return options;
}

// The map of a node, without a lease, which reaches these members only.
std::unique_ptr<ReplicatedMap> MakeNode(ReplicaWorld& world, std::uint32_t number,
                                        const std::vector<MemberIndex>& reached,
                                        std::uint64_t until = UINT64_MAX >> 10,
                                        std::uint64_t from = 0) {
  std::vector<Replica> replicas;
  for (const Replica& each : world.Replicas()) replicas.push_back({each.datalet, nullptr});
  for (const MemberIndex m : reached) replicas[m].store = world.stores[m].get();
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = false;
  options.clock = std::make_shared<NodeClock>();
  options.clock->Reserve({.number = number, .from = from, .until = until});
  auto map = std::make_unique<ReplicatedMap>(
      world.context.get_executor(),
      ReplicatedRange{.record = {world.registry.record, world.registry.revision},
                      .scope = "range",
                      .replicas = std::move(replicas)},
      std::move(options));
  REQUIRE_FALSE(map->trouble());
  REQUIRE_FALSE(world.Await([&](auto done) { map->Open(std::move(done)); }));
  return map;
}

TEST_CASE("nodes write the same keys while they are cut apart, and the owner merges the members",
          "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMap& owner = world.Open(Sharing());
  CHECK_FALSE(world.Put(owner, "old", "0"));
  world.RunUntil([&] { return world.registry.record.shared != 0; });
  world.RunUntil([&] { return world.IsSettled(owner); });
  CHECK(world.Put(owner, "k", "owner") == Errc::kClosed);
  for (const MemberStats& member : owner.Stats().members) CHECK(member.in);
  const auto a = MakeNode(world, 1, {0});
  const auto b = MakeNode(world, 2, {1, 2});
  const auto expired = MakeNode(world, 3, {0}, 1);
  CHECK(world.Put(*expired, "a", "0") == Errc::kTransient);
  CHECK_FALSE(world.Put(*a, "a", "1"));
  CHECK_FALSE(world.Put(*a, "both", "1"));
  CHECK_FALSE(world.Put(*b, "both", "2"));
  CHECK_FALSE(world.Put(*b, "old", std::nullopt));
  CHECK(world.Get(*a, "both") == "1");
  CHECK(world.Get(*b, "a") == "-");
  world.On(owner, [&] {  // the members can be reached again: it merges at once
    owner.Want(world.want, {{"store-0"}, {"store-1"}, {"store-2"}});
    owner.Want(world.want, world.Replicas());
  });
  world.RunUntil([&] {
    return world.StatesOf(0) == world.StatesOf(1) && world.StatesOf(1) == world.StatesOf(2);
  });
  CHECK(world.Get(*a, "both") == "2");
  CHECK(world.Get(*a, "old") == "-");
  CHECK(world.Get(*b, "a") == "1");
  CHECK_FALSE(world.Put(*a, "both", "3"));  // a has seen b's stamp
  CHECK(world.StatesOf(0).at("both").value == "3");

  world.On(owner, [&] { owner.WantShared(false); });
  world.RunUntil([&] { return world.why.has_value(); });
  CHECK(*world.why == GivenUp::kUnshared);
  CHECK(world.registry.record.shared == 0);
  ReplicatedMapOptions strong = ReplicaWorld::Quick();
  strong.strong = true;
  ReplicatedMap& next = world.Open(strong);
  CHECK(world.Put(*a, "both", "late") != Errc::kOk);
  CHECK(world.Get(next, "both") == "3");
  world.RunUntil([&] { return world.IsSettled(next); });
  CHECK(world.registry.record.strong);
  CHECK(world.StatesOf(0) == world.StatesOf(1));
  CHECK(world.StatesOf(2) == world.StatesOf(1));
}

TEST_CASE("the owner after the sharing finds what only members that were away had",
          "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMap& owner = world.Open(Sharing());
  CHECK_FALSE(world.Put(owner, "old", "0"));
  world.RunUntil([&] { return world.registry.record.shared != 0; });
  world.RunUntil([&] { return world.IsSettled(owner); });
  const auto a = MakeNode(world, 1, {0});
  const auto b = MakeNode(world, 2, {1, 2});
  for (const char* key : {"both", "later"}) CHECK_FALSE(world.Put(*a, key, "a"));
  for (const char* key : {"both", "later", "b"}) CHECK_FALSE(world.Put(*b, key, "b"));
  CHECK_FALSE(world.Put(*b, "old", std::nullopt));
  world.On(owner, [&] { owner.WantShared(false); });
  world.RunUntil([&] { return world.why.has_value(); });

  const bool strong = GENERATE(false, true);
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = strong;
  for (const MemberIndex m : {1, 2}) world.stores[m]->Shut();
  ReplicatedMap& next = world.Open(options);
  CHECK(world.Get(next, "both") == "a");
  CHECK_FALSE(world.Put(next, "later", "next"));
  CHECK(world.StatesOf(0).at("both").stamp.epoch == world.registry.record.swept + 1);
  CHECK_FALSE(world.registry.record.strong);
  world.stores[1]->Open();
  CHECK_FALSE(world.IsSettled(next));
  world.stores[2]->Open();
  world.RunUntil([&] { return world.IsSettled(next); });
  CHECK(world.registry.record.strong == strong);
  CHECK(world.Get(next, "both") == "b");
  CHECK(world.Get(next, "b") == "b");
  CHECK(world.Get(next, "old") == "-");
  CHECK(world.Get(next, "later") == "next");
  for (const MemberIndex m : {0, 1, 2}) {
    CHECK(world.StatesOf(m).at("both").value == "b");
    CHECK(world.StatesOf(m).at("later").value == "next");
  }
}

// Opens an owner, and waits until it asks the coordinator to share the range.
ReplicatedMap& OpenUntilShared(ReplicaWorld& world) {
  ReplicatedMapOptions options = Sharing();
  options.member_timeout = std::chrono::hours(1);  // its own changes are never given up
  ReplicatedMap& owner = world.Open(std::move(options));
  world.registry.holds = true;
  while (world.registry.held.empty() || world.registry.held.front().record().shared == 0) {
    world.registry.Release();
    world.RunUntil([&] { return !world.registry.held.empty(); });
  }
  return owner;
}

TEST_CASE("an owner merges a shared range after its own changes are durable",
          "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMap& owner = OpenUntilShared(world);
  world.stores[2]->HoldWrites();
  CHECK_FALSE(world.Put(owner, "k", "1"));  // at the others
  world.registry.holds = false;
  world.registry.Release();
  std::optional<ErrorCode> flushed;
  world.On(owner, [&] { owner.Flush([&](ErrorCode ec) { flushed = ec; }); });
  const auto copied = [&] { return owner.Stats().members[2].copied > 0; };
  world.RunUntil([&] { return copied() || world.stores[2]->waiting() >= 6; });
  CHECK_FALSE(copied());
  CHECK_FALSE(flushed);
  world.stores[2]->Open();
  world.RunUntil([&] { return flushed.has_value(); });
  CHECK_FALSE(*flushed);
  world.RunUntil([&] { return world.IsSettled(owner); });
  CHECK(world.StatesOf(2) == world.StatesOf(0));
}

TEST_CASE("a change that a store refuses undoes no change of another node",
          "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMap& owner = world.Open(Sharing());
  CHECK_FALSE(world.Put(owner, "k", "0"));
  world.RunUntil([&] { return world.registry.record.shared != 0; });
  world.RunUntil([&] { return world.IsSettled(owner); });
  const auto a = MakeNode(world, 1, {0});
  const auto b = MakeNode(world, 2, {1, 2});
  CHECK_FALSE(world.Put(*b, "k", "b"));
  bool refused = false;
  world.refuse = [&](MemberIndex m, KeyView) { return m == 0 && !std::exchange(refused, true); };
  CHECK(world.Put(*a, "k", "a") == Errc::kRefused);
  CHECK(world.Get(*a, "k") == "0");
  CHECK_FALSE(world.Put(*a, "j", "a"));
  world.refuse = [](MemberIndex, KeyView key) { return key == "bad"; };
  CHECK(world.Put(*b, "bad", "b") == Errc::kRefused);  // by both members
  CHECK(world.Get(*b, "bad") == "-");
  for (const MemberIndex m : {1, 2}) CHECK(b->Stats().members[m].in);
  world.On(owner, [&] {
    owner.Want(world.want, {{"store-0"}});
    owner.Want(world.want, world.Replicas());
  });
  world.RunUntil([&] { return world.StatesOf(0) == world.StatesOf(1); });
  CHECK(world.StatesOf(0).at("k").value == "b");
}

TEST_CASE("a change after a scan is newer than what the scan has shown", "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMap& owner = world.Open(Sharing());
  world.RunUntil([&] { return world.registry.record.shared != 0; });
  world.RunUntil([&] { return world.IsSettled(owner); });
  const auto ahead = MakeNode(world, 1, {0, 1, 2}, UINT64_MAX >> 10, UINT64_MAX >> 11);
  const auto node = MakeNode(world, 2, {0, 1, 2});
  CHECK_FALSE(world.Put(*ahead, "k", "1"));
  std::optional<ErrorCode> scanned;
  world.On(*node,
           [&] { node->Scan({}, [&](ErrorCode ec, const KeyPage& /*page*/) { scanned = ec; }); });
  world.RunUntil([&] { return scanned.has_value(); });
  CHECK_FALSE(*scanned);
  CHECK_FALSE(world.Put(*node, "k", "2"));
  world.RunUntil([&] { return world.StatesOf(0).at("k").value == "2"; });
}

TEST_CASE("a read of a shared range finds what only one member has", "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMap& owner = world.Open(Sharing());
  world.RunUntil([&] { return world.registry.record.shared != 0; });
  world.RunUntil([&] { return world.IsSettled(owner); });
  const auto a = MakeNode(world, 1, {0});
  const auto b = MakeNode(world, 2, {0, 1, 2});
  for (int i = 0; i < 20; ++i) {
    const std::string value = std::to_string(i);
    CHECK_FALSE(world.Put(*a, "k", value));
    CHECK(world.Get(*b, "k") == value);
  }
}

TEST_CASE("a flush ends if a node reaches no member", "[replicated][sharing]") {
  ReplicaWorld world;
  ReplicatedMap& owner = world.Open(Sharing());
  world.RunUntil([&] { return world.registry.record.shared != 0; });
  const auto node = MakeNode(world, 1, {0});
  world.stores[0]->Shut();
  std::optional<ErrorCode> answer;
  world.Begin(*node, "k", "1", answer);
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(world.Await([&](auto done) {
    boost::asio::post(node->get_executor(),
                      [&, done = std::move(done)]() mutable { node->Flush(std::move(done)); });
  }));
  world.stores[0]->Open();
  CHECK(owner.Stats().shared);
}

}  // namespace
}  // namespace stout
