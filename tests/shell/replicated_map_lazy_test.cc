// Lazy members, which get every change and count for nothing.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

// A world in which store-2 is lazy.
class LazyWorld : public ReplicaWorld {
 public:
  LazyWorld() : ReplicaWorld(2) { want = {"store-0", "store-1"}; }

  // No member is silent because a busy machine stops this thread.
  static ReplicatedMapOptions Patient() {
    ReplicatedMapOptions options = Quick();
    options.member_timeout = std::chrono::milliseconds(500);
    options.engine.lane.attempt_timeout = std::chrono::milliseconds(500);
    return options;
  }
  ReplicatedMap& OpenWithLazy(ReplicatedMapOptions options = Patient()) {
    ReplicatedMap& map = Open(std::move(options));
    Tell(map, true);
    RunUntil([&] { return IsLazy(map) && IsSettled(map); });
    return map;
  }
  void Tell(ReplicatedMap& map, bool lazy) {
    std::vector<Replica> replicas = Replicas();
    replicas[2].lazy = lazy;
    On(map, [&] { map.Want(want, replicas); });
  }
  [[nodiscard]] static bool IsLazy(const ReplicatedMap& map) {
    const auto stats = map.Stats();
    return stats.members.size() == 3 && stats.members[2].lazy;
  }
  bool Has(const std::string& key, const std::string& value) {
    const auto states = StatesOf(2);
    const auto found = states.find(key);
    return found != states.end() && found->second.value == value;
  }
};

TEST_CASE("a lazy member gets what was there and every change, and is never in", "[replicated]") {
  LazyWorld world;
  {
    ReplicatedMap& map = world.Open(LazyWorld::Patient());
    CHECK_FALSE(world.Put(map, "before", "1"));
  }
  ReplicatedMap& map = world.OpenWithLazy();
  CHECK(world.Has("before", "1"));
  CHECK_FALSE(world.Put(map, "after", "2"));
  world.RunUntil([&] { return world.Has("after", "2"); });
  CHECK_FALSE(world.Put(map, "before", std::nullopt));
  world.RunUntil([&] { return !world.StatesOf(2).at("before").found; });
  // The coordinator never learns of it, so no other owner expects it back.
  for (const auto& member : world.registry.record.members) {
    CHECK(member.in);
    CHECK(member.datalet != "store-2");
  }
}

TEST_CASE("no answer, flush, fill or new owner waits for a lazy member", "[replicated]") {
  LazyWorld world;
  ReplicatedMap& map = world.OpenWithLazy();
  world.stores[2]->Shut();
  for (int i = 0; i < 300; ++i) CHECK_FALSE(world.Put(map, "k", std::to_string(i)));
  CHECK(map.Stats().replies_waiting == 0);
  CHECK(world.Get(map, "k") == "299");
  CHECK_FALSE(world.Await([&](auto done) { world.On(map, [&] { map.Flush(std::move(done)); }); }));

  // Another member leaves and is filled although a key is dirty at the lazy one alone.
  world.want = {"store-0"};
  world.Tell(map, true);
  world.RunUntil([&] { return !world.IsIn(1); });
  world.want = {"store-0", "store-1"};
  world.Tell(map, true);
  world.RunUntil([&] { return world.IsIn(1); });
  CHECK(world.StatesOf(1).at("k").value == "299");

  CHECK(world.IsLazy(map));
  CHECK_FALSE(world.Await([&](auto done) { world.On(map, [&] { map.Drain(std::move(done)); }); }));
  ReplicatedMap& next = world.Open(LazyWorld::Patient());
  CHECK_FALSE(world.Put(next, "k", "last"));
  world.stores[2]->Open();
  world.Tell(next, true);
  world.RunUntil([&] { return world.IsLazy(next); });
  world.RunUntil([&] { return world.Has("k", "last"); });
}

TEST_CASE("a lazy member that lags too far is filled again", "[replicated]") {
  LazyWorld world;
  ReplicatedMapOptions options = LazyWorld::Patient();
  options.engine.lane.max_dirty_keys = 4;
  ReplicatedMap& map = world.OpenWithLazy(options);
  world.stores[2]->Shut();
  const auto key = [](int i) { return "k" + std::to_string(i); };
  for (int i = 0; i < 20; ++i) CHECK_FALSE(world.Put(map, key(i), "1"));
  CHECK_FALSE(world.IsLazy(map));
  world.stores[2]->Open();
  world.RunUntil([&] { return world.IsLazy(map); });
  for (int i = 0; i < 20; ++i) CHECK(world.Has(key(i), "1"));
}

TEST_CASE("a value that is too large for any member costs no lazy member", "[replicated]") {
  LazyWorld world;
  ReplicatedMapOptions options = LazyWorld::Patient();
  options.engine.lane.max_dirty_bytes = 1000;
  ReplicatedMap& map = world.OpenWithLazy(std::move(options));
  CHECK(world.Put(map, "k", std::string(2000, 'x')) == Errc::kTooLarge);
  CHECK(LazyWorld::IsLazy(map));
}

TEST_CASE("a lazy member goes without a value that it refuses", "[replicated]") {
  LazyWorld world;
  {
    ReplicatedMap& map = world.Open(LazyWorld::Patient());
    CHECK_FALSE(world.Put(map, "bad", "1"));
    CHECK_FALSE(world.Put(map, "good", "1"));
  }
  world.refuse = [](MemberIndex m, KeyView key) { return m == 2 && key == "bad"; };
  ReplicatedMap& map = world.OpenWithLazy();
  CHECK(world.unfillable.at("store-2") == "bad");
  CHECK_FALSE(world.Put(map, "bad", "2"));
  CHECK_FALSE(world.Put(map, "good", "2"));
  world.RunUntil([&] { return world.Has("good", "2"); });
  CHECK(world.Get(map, "bad") == "2");
  CHECK_FALSE(world.StatesOf(2).contains("bad"));
  CHECK(world.IsLazy(map));
}

TEST_CASE("a lazy member becomes an ordinary one, and the other way round", "[replicated]") {
  LazyWorld world;
  ReplicatedMap& map = world.OpenWithLazy();
  world.want = {"store-0", "store-1", "store-2"};
  world.Tell(map, false);
  world.RunUntil([&] { return IsIn(world.registry.record, "store-2"); });
  CHECK_FALSE(world.IsLazy(map));
  world.want = {"store-0", "store-1"};
  world.Tell(map, true);
  world.RunUntil([&] { return world.IsLazy(map); });
  CHECK_FALSE(IsIn(world.registry.record, "store-2"));
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.RunUntil([&] { return world.Has("k", "1"); });
}

}  // namespace
}  // namespace stout
