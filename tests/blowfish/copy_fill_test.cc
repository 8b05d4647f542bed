// A member of a replicated range that lost its directory: a copy of a healthy member's store takes
// its place, and the ordinary fill brings what the copy lacks, and little else.

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stout/adapters/blowfish_store.h"
#include "tests/shell/replica_world.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::BlowfishServer;
using States = std::map<std::string, StoredState>;

constexpr int kMemberKeys = 400;
constexpr int kMemberShards = 2;

// A ReplicaWorld of three blowfish-servers, the last of which may be lost.
class Deployment {
 public:
  Deployment() {
    for (MemberIndex m = 0; m < ReplicaWorld::kMembers; ++m) {
      servers_.push_back(std::make_unique<BlowfishServer>(kMemberShards));
      Attach(m);
    }
    map_ = &world.Open(Patient());
    for (int i = 0; i < kMemberKeys; ++i) CHECK_FALSE(Put("key" + std::to_string(i), "old"));
    world.RunUntil([&] { return world.IsSettled(*map_); });
  }

  // Processes answer later than stores in memory.
  static ReplicatedMapOptions Patient() {
    ReplicatedMapOptions options = ReplicaWorld::Quick();
    options.engine.lane.attempt_timeout = std::chrono::seconds(30);
    options.member_timeout = std::chrono::seconds(60);
    return options;
  }

  // Starts a server with an empty directory, or with a copy of the first member's.
  [[nodiscard]] std::unique_ptr<BlowfishServer> MakeServer(bool copied) const {
    std::vector<std::string> settings;
    if (copied) settings = {"--copy-from", servers_.front()->Url()};
    return std::make_unique<BlowfishServer>(kMemberShards, settings);
  }
  // Puts the server in the place of the last member's. The map gets no new store yet.
  void Replace(std::unique_ptr<BlowfishServer> server) {
    servers_.back() = std::move(server);
    former_.push_back(std::move(world.stores.back()));  // the map may still call it
    Attach(ReplicaWorld::kMembers - 1);
  }
  // The member leaves, as it does if its server does not answer.
  void Leave() {
    std::vector<Replica> replicas = world.Replicas();
    replicas.back().store = nullptr;
    world.On(*map_, [&] { map_->Want(world.want, replicas); });
    world.RunUntil([&] { return !world.IsIn(2); });
  }
  // The member gets its present store, and is filled. Returns the number of states that it got.
  std::size_t FillLast() {
    world.On(*map_, [&] { map_->Want(world.want, world.Replicas()); });
    world.RunUntil([&] { return world.IsIn(2) && world.IsSettled(*map_); });
    return map_->Stats().members[2].copied;
  }
  void NextOwner() {
    world.Destroy(*map_);
    map_ = &world.Open(Patient());
    world.RunUntil([&] { return world.IsIn(2) && world.IsSettled(*map_); });
  }
  ErrorCode Put(const std::string& key, std::optional<std::string> value) {
    return world.Put(*map_, key, std::move(value));
  }
  // The states at a member, without its own keys.
  States StatesOf(MemberIndex m) {
    States states;
    std::string cursor;
    do {
      std::optional<ScanResult> page;
      world.stores[m]->Scan({.cursor = cursor, .values = true},
                            [&](ScanResult result) { page = std::move(result); });
      world.RunUntil([&] { return page.has_value(); });
      REQUIRE(page->errc == Errc::kOk);
      for (ScannedKey& each : page->keys) {
        if (!each.key.starts_with("stout:")) states[each.key] = std::move(each.state);
      }
      cursor = page->cursor;
    } while (!cursor.empty());
    return states;
  }
  // Without stamps: a fill gives states of older epochs a stamp of its own epoch.
  [[nodiscard]] std::map<std::string, std::optional<std::string>> ValuesOf(MemberIndex m) {
    std::map<std::string, std::optional<std::string>> values;
    for (const auto& [key, state] : StatesOf(m)) {
      values[key] = state.found ? std::optional(state.value) : std::nullopt;
    }
    return values;
  }
  [[nodiscard]] std::size_t copied() const { return map_->Stats().members[2].copied; }

  ReplicaWorld world;

 private:
  void Attach(MemberIndex m) {
    const std::string url = servers_[m]->Url("timeout=30s");
    auto store = BlowfishStore::OpenUrl(ParseStoreUrl(url, nullptr).value(),
                                        world.context.get_executor(), nullptr);
    REQUIRE(store.has_value());
    world.stores[m] = std::make_unique<GatedStore>(*std::move(store));
  }

  std::vector<std::unique_ptr<BlowfishServer>> servers_;
  std::vector<std::unique_ptr<GatedStore>> former_;
  ReplicatedMap* map_ = nullptr;
};

TEST_CASE("a fill of a copied store copies the states that it lacks, and no others") {
  const bool copied = GENERATE(true, false);
  CAPTURE(copied);
  Deployment deployment;
  deployment.Leave();
  CHECK_FALSE(deployment.Put("before", "the copy"));
  auto server = deployment.MakeServer(copied);
  CHECK_FALSE(deployment.Put("key1", "new"));
  CHECK_FALSE(deployment.Put("key2", std::nullopt));
  CHECK_FALSE(deployment.Put("after", "the copy"));
  deployment.Replace(std::move(server));
  const std::size_t states = deployment.FillLast();
  // The three changes after the copy, and the key that shows that the store was filled.
  if (copied) {
    CHECK(states == 4);
  } else {
    CHECK(states > kMemberKeys);
  }
  CHECK(deployment.StatesOf(2).at("key1").value == "new");
  CHECK(deployment.StatesOf(2) == deployment.StatesOf(0));
}

TEST_CASE("a copy does not pass as the store of the member whose place it takes", "[not_tsan]") {
  Deployment deployment;
  auto server = deployment.MakeServer(true);  // while all members are in
  CHECK_FALSE(deployment.Put("key1", "after the copy"));
  const Stamp first = deployment.world.registry.record.members[2].entered;
  SECTION("if the next owner finds it") {
    deployment.Replace(std::move(server));
    deployment.NextOwner();
    CHECK(deployment.world.registry.record.members[2].entered > first);
    CHECK(deployment.copied() > 0);
    CHECK(deployment.ValuesOf(2).at("key1") == "after the copy");
    CHECK(deployment.ValuesOf(2) == deployment.ValuesOf(0));
  }
  SECTION("but the store that was there before does") {
    deployment.NextOwner();
    CHECK(deployment.world.registry.record.members[2].entered == first);
    CHECK(deployment.copied() == 0);
  }
}

}  // namespace
}  // namespace stout::blowfish
