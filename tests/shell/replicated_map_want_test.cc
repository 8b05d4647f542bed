// Members of a ReplicatedMap that come, go, and get other stores.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/forwarding_store.h"
#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"
#include "tests/support/gated_store.h"
#include "tests/support/scripted_store.h"

namespace stout {
namespace {

using Names = std::vector<std::string>;

Names In(const RangeRecord& record) {
  Names in;
  for (const RangeRecord::Member& member : record.members) {
    if (member.in) in.push_back(member.datalet);
  }
  return in;
}

/// A store that answers no call by itself.
class SilentStore final : public Store {
 public:
  explicit SilentStore(const StoreTraits& traits) : traits_(traits) {}

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch&, WriteHandler) override {}
  void Read(const ReadBatch&, ReadHandler) override {}
  void NewEpoch(EpochHandler) override {}
  void Fence(const Scope&, Epoch, FenceHandler handler) override {
    fences.push_back(std::move(handler));
  }

  std::vector<FenceHandler> fences;

 private:
  const StoreTraits traits_;
};

TEST_CASE("a range that is being taken over shows the members that are in", "[replicated]") {
  ReplicaWorld world(2);
  for (const auto& store : world.stores) store->Shut();
  ReplicatedMap& map = world.Make();
  map.Open([](ErrorCode) {});
  world.Turn();
  std::vector<bool> in;
  for (const MemberStats& member : map.Stats().members) in.push_back(member.in);
  CHECK(in == std::vector<bool>{true, true, false});
}

TEST_CASE("a datalet that is wanted joins, and then the one that is not leaves", "[replicated]") {
  ReplicaWorld world;
  world.registry.record.members.resize(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.local = "store-2";
  ReplicatedMap& map = world.Make(options);
  CHECK_FALSE(world.Await([&](auto done) { map.Open(std::move(done)); }));
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.stores[2]->Shut();
  const Names want = {"store-1", "store-2"};
  world.On(map, [&] { map.Want(want, world.Replicas()); });
  CHECK_FALSE(world.Put(map, "k", "2"));
  CHECK(In(world.registry.record) == Names{"store-0", "store-1"});
  world.stores[2]->Open();
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(In(world.registry.record) == want);
  CHECK(world.registry.record.members[2].datalet == "store-2");
  CHECK(world.StatesOf(2) == world.StatesOf(1));
  CHECK(world.StatesOf(2).at("k").value == "2");
  CHECK(map.Stats().members.size() == 3);
  CHECK(world.Get(map, "k") == "2");

  world.want = want;
  ReplicatedMap& next = world.Open();
  CHECK(next.record().members.size() == 2);
  CHECK(world.registry.record.members.size() == 2);
  CHECK(world.Get(next, "k") == "2");
}

TEST_CASE("what is wanted before the opening is what the map begins with", "[replicated]") {
  ReplicaWorld world(1);
  ReplicatedMap& map = world.Make();
  world.On(map, [&] { map.Want({"store-0", "store-2"}, world.Replicas()); });
  CHECK_FALSE(world.Await([&](auto done) { map.Open(std::move(done)); }));
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(In(world.registry.record) == Names{"store-0", "store-2"});
  CHECK(world.registry.record.members.size() == 2);
}

TEST_CASE("a member is called once it has a store that suits", "[replicated]") {
  ReplicaWorld world(1);
  ReplicatedMap& map = world.Make();
  ScriptedStore no_scans;
  StoreTraits traits = world.Replicas()[2].store->traits();
  traits.tombstone_ttl = ReplicatedMapOptions().tombstone_ttl - Duration(1);
  SilentStore forgetful(traits);
  std::vector<Replica> replicas = world.Replicas();
  replicas[1].store = nullptr;
  SECTION("and scans") { replicas[2].store = &no_scans; }
  SECTION("and remembers deletes") { replicas[2].store = &forgetful; }
  world.On(map, [&] { map.Want(world.want, replicas); });
  CHECK_FALSE(world.Await([&](auto done) { map.Open(std::move(done)); }));
  CHECK_FALSE(world.Put(map, "k", "1"));
  CHECK_FALSE(map.Stats().settled);
  CHECK(no_scans.fences.empty());
  CHECK(forgetful.fences.empty());
  world.On(map, [&] { map.Want(world.want, world.Replicas()); });
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(In(world.registry.record) == world.want);
  CHECK(world.StatesOf(2) == world.StatesOf(0));
}

TEST_CASE("a member whose store comes just after it was called in vain is filled at once",
          "[replicated]") {
  ReplicaWorld world(1);
  world.registry.record.members.resize(1);
  world.want = {"store-0"};
  ReplicatedMap& map = world.Open(ReplicaWorld::Patient());
  world.RunUntil([&] { return world.IsSettled(map); });
  const Names want = {"store-0", "store-1"};
  std::vector<Replica> replicas = world.Replicas();
  replicas[1].store = nullptr;
  world.On(map, [&] {
    map.Want(want, replicas);  // the map calls the member in its next turn
    boost::asio::post(map.get_executor(), [&] { map.Want(want, world.Replicas()); });
  });
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(In(world.registry.record) == want);
}

TEST_CASE("a member whose store is replaced leaves and is filled", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::seconds(1);  // longer than a busy machine stops this thread
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  std::vector<Replica> replicas = world.Replicas();
  const std::size_t commits = world.registry.commits;
  SECTION("unless it is only gone for a while") {
    replicas.pop_back();
    world.On(map, [&] { map.Want(world.want, replicas); });
    CHECK_FALSE(world.Put(map, "k", "2"));
    world.On(map, [&] { map.Want(world.want, world.Replicas()); });
    CHECK_FALSE(world.Put(map, "k", "3"));
    CHECK(world.IsSettled(map));
    CHECK(world.registry.commits == commits);
    CHECK(world.StatesOf(2).at("k").value == "3");
  }
  SECTION("from the others") {
    GatedStore other(std::make_unique<MemoryStore>(world.context.get_executor()));
    replicas[1].store = &other;
    world.stores[1]->Shut();  // the former store is not asked for anything
    world.On(map, [&] { map.Want(world.want, replicas); });
    world.RunUntil([&] { return !world.IsIn(1); });
    CHECK_FALSE(world.Put(map, "j", "2"));
    world.RunUntil([&] { return world.IsSettled(map); });
    CHECK(world.IsIn(1));
    CHECK_FALSE(world.StatesOf(1).contains("j"));
    bool read = false;
    const ReadBatch batch{.id = 1, .lane = 0, .keys = {"j", "k"}};
    other.Read(batch, [&](const ReadResult& result) {
      CHECK(result.states.at(0).value == "2");
      CHECK(result.states.at(1).value == "1");
      read = true;
    });
    world.RunUntil([&] { return read; });
    CHECK(world.registry.commits == commits + 2);
    world.Destroy(map);
    world.Turn();
  }
}

TEST_CASE("a member that refuses an older state holds no other work up", "[replicated]") {
  ReplicaWorld world;
  world.registry.record.members.resize(1);
  world.want = {"store-0"};
  ReplicatedMap& map = world.Open();
  for (const char* key : {"i", "j", "k", "l"}) CHECK_FALSE(world.Put(map, key, "1"));
  world.refuse = [](MemberIndex m, KeyView key) { return m == 1 && key == "k"; };
  const Names want = {"store-0", "store-1", "store-2"};
  world.On(map, [&] { map.Want(want, world.Replicas()); });
  world.RunUntil([&] { return world.unfillable.contains("store-1"); });
  CHECK(world.unfillable.at("store-1") == "k");
  world.RunUntil([&] { return In(world.registry.record) == Names{"store-0", "store-2"}; });
  world.On(map, [&] { map.WantStrong(false); });
  world.RunUntil([&] { return !world.registry.record.strong; });
  CHECK_FALSE(world.IsIn(1));
  world.refuse = {};
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(world.StatesOf(1) == world.StatesOf(0));
}

TEST_CASE("a member that is filled too slowly refuses no write", "[replicated]") {
  ReplicaWorld world(1);
  world.registry.record.members.resize(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::hours(1);
  options.engine.lane.max_dirty_bytes = 1000;
  ReplicatedMap& map = world.Open(options);
  world.RunUntil([&] { return map.Stats().members[1].filling; });
  world.stores[1]->Shut();
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(world.Put(map, std::to_string(i), std::string(100, 'v')));
  }
  CHECK_FALSE(map.Stats().members[1].filling);
  CHECK(world.given_up == 0);
}

TEST_CASE("a late answer of a member's former store is no loss of the next one", "[replicated]") {
  ReplicaWorld world(1);
  world.registry.record.members.resize(2);
  world.want = {"store-0"};
  ReplicatedMap& map = world.Open();
  CHECK_FALSE(world.Put(map, "k", "1"));
  SilentStore former(world.stores[1]->traits());
  std::vector<Replica> replicas = world.Replicas();
  replicas[1].store = &former;
  const Names want = {"store-0", "store-1"};
  world.On(map, [&] { map.Want(want, replicas); });
  world.RunUntil([&] { return !former.fences.empty(); });
  world.On(map, [&] { map.Want(want, world.Replicas()); });
  world.RunUntil([&] { return world.IsSettled(map); });
  const std::size_t commits = world.registry.commits;
  for (Store::FenceHandler& fence : former.fences) fence(Errc::kLost);
  world.Turn();
  CHECK(world.IsSettled(map));
  CHECK(world.registry.commits == commits);
  world.Destroy(map);
  world.Turn();
}

TEST_CASE("reads join the shortest queue of the members' stores", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.cache_bytes = 0;
  ReplicatedMap& map = world.Open(options);
  world.RunUntil([&] { return world.IsSettled(map); });
  int reads = 0;
  const auto read = [&] { CHECK(world.Get(map, std::to_string(++reads)) == "-"); };
  for (MemberIndex m = 0; m < 2; ++m) {
    world.stores[m]->LengthenQueue(9);
    for (const std::size_t before = world.stores[m]->reads(); world.stores[m]->reads() == before;) {
      read();
    }
  }
  const auto busy = [&] { return world.stores[0]->reads() + world.stores[1]->reads(); };
  const std::size_t before = busy();
  for (int i = 0; i < 20; ++i) read();
  CHECK(busy() - before <= 4);  // each is asked again after nine reads elsewhere
}

TEST_CASE("a member that stalls leaves, and only then is a write answered", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = world.Open();
  CHECK_FALSE(world.Put(map, "k", "1"));
  world.stores[2]->Shut();
  world.registry.holds = true;
  std::optional<ErrorCode> answer;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return !world.registry.held.empty(); });
  world.Turn();
  CHECK_FALSE(world.registry.held[0].record().members[2].in);
  CHECK(world.StatesOf(1).at("k").value == "2");
  CHECK(world.StatesOf(2).at("k").value == "1");
  CHECK_FALSE(answer);  // the record still names the member
  world.registry.holds = false;
  world.registry.Release();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK_FALSE(*answer);
  CHECK_FALSE(world.IsIn(2));
  CHECK_FALSE(map.Stats().members[2].in);

  SECTION("it returns and is filled, whatever it still had to do") {
    CHECK_FALSE(world.Put(map, "j", "3"));
    CHECK_FALSE(world.Put(map, "k", std::nullopt));
    world.stores[2]->Open();
    world.RunUntil([&] { return world.IsSettled(map); });
    CHECK(world.IsIn(2));
    CHECK(world.StatesOf(2) == world.StatesOf(0));
    CHECK(world.StatesOf(2).at("j").value == "3");
    CHECK_FALSE(world.StatesOf(2).at("k").found);
  }
}

TEST_CASE("a member whose store is known to be silent leaves at once", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::hours(1);
  ReplicatedMap& map = world.Open(options);
  world.stores[1]->Shut();
  std::vector<Replica> replicas = world.Replicas();
  replicas[1].store = nullptr;
  world.On(map, [&] { map.Want(world.want, replicas); });
  CHECK_FALSE(world.Put(map, "k", "1"));
  CHECK_FALSE(world.IsIn(1));
}

// Answers a fence when the test says so.
class LateFence final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    underneath().Fence(scope, epoch, [this, handler = std::move(handler)](ErrorCode ec) mutable {
      answer = [ec, handler = std::move(handler)]() mutable { handler(ec); };
    });
  }
  UniqueFunction<void()> answer;
};

TEST_CASE("a member that just begins to be filled may get what another one refused",
          "[replicated]") {
  ReplicaWorld world(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMapOptions options = ReplicaWorld::Patient();
  options.strong = true;
  options.engine.lane.max_pending_reads = 2;
  ReplicatedMap& map = world.OpenSettled(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  LateFence late(*world.stores[2]);
  auto replicas = world.Replicas();
  replicas[2].store = &late;
  const std::vector<std::string> want = {"store-0", "store-1", "store-2"};
  world.On(map, [&] { map.Want(want, replicas); });
  world.RunUntil([&] { return static_cast<bool>(late.answer); });
  // The other member waits for room to read what it had.
  world.stores[0]->LengthenQueue(1000);
  const std::size_t before = world.stores[0]->reads();
  for (int i = 0; world.stores[0]->reads() == before; ++i) (void)world.Get(map, std::to_string(i));
  world.stores[1]->Shut();
  world.stores[1]->LetWrites();
  int answered = 0;
  world.On(map, [&] {
    for (const char* const key : {"a", "b"}) {
      map.Get(key, [&](ErrorCode, const ReplicatedMap::Entry&) { ++answered; });
    }
  });
  world.RunUntil([&] { return world.stores[1]->waiting() > 0; });
  world.refuse = [&](MemberIndex m, KeyView key) { return m == 1 && key == "k"; };
  CHECK(world.Put(map, "k", "2") == Errc::kUnknown);
  world.Turn();
  // It leaves. In the next turn the new member is fenced, and gets changes from then on.
  replicas[1].store = nullptr;
  world.On(map, [&] { map.Want(want, replicas); });
  world.context.restart();
  while (map.Stats().members[1].in) world.context.run_one();
  std::exchange(late.answer, {})();
  world.RunUntil([&] { return answered == 2; });
  CHECK(world.Get(map, "k") == "2");
  world.stores[1]->Open();
  world.Destroy(map);
  world.Turn();
}

TEST_CASE("the last member whose store is replaced ends the range", "[replicated]") {
  ReplicaWorld world(1);
  world.want = {"store-0"};
  ReplicatedMap& map = world.Open();
  std::vector<Replica> replicas = world.Replicas();
  replicas[0].store = world.stores[1].get();
  world.On(map, [&] { map.Want(world.want, replicas); });
  world.RunUntil([&] { return world.given_up == 1; });
  CHECK(world.why == GivenUp::kLost);
  CHECK(In(world.registry.record) == world.want);
}

}  // namespace
}  // namespace stout
