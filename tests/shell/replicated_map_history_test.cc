// Clients of a range's owners, among faults of stores, coordinator and owners. The histories that
// the clients see are judged.
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/random.h"
#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"
#include "tests/support/history_checker.h"

namespace stout {
namespace {

using namespace std::chrono_literals;
using test::JudgeHistory;
using test::Operation;
using Verdict = test::Judgement::Verdict;

std::int64_t SteadyNs() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

FaultyOptions SomeFaults(std::uint64_t seed) {
  return {.writes = {.delay = 0.1,
                     .fail = 0.02,
                     .lose_request = 0.01,
                     .lose_answer = 0.01,
                     .unknown = 0.02,
                     .apply_late = 0.02,
                     .apply_twice = 0.02},
          .reads = {.delay = 0.1, .fail = 0.02, .lose_request = 0.01, .lose_answer = 0.01},
          .delay_min = 100us,
          .delay_max = 3ms,
          .seed = seed};
}

// Clients of one range, and the faults around it, from a seed. The times are real, so a seed does
// not repeat a run exactly.
class HistoryRun {
 public:
  static constexpr int kClients = 4;
  static constexpr int kOperations = 120;  // of each client
  static constexpr std::uint64_t kKeys = 3;

  explicit HistoryRun(std::uint64_t seed)
      : world_(2, SomeFaults(seed)), random_(seed), faults_(world_.context) {
    world_.registry.next_fault = [this] {
      using Fault = FakeRegistry::Fault;
      const std::uint64_t draw = random_.Next() % 10;
      if (draw == 0) return Fault::kFail;
      if (draw == 1) return Fault::kLoseRequest;
      return draw == 2 ? Fault::kLoseAnswer : Fault::kNone;
    };
  }

  void Run() {
    ChangeOwner();
    for (int client = 0; client < kClients; ++client) Continue(client, kOperations);
    Disturb();
    world_.RunUntil([&] { return ended_ == kClients; });
    faults_.cancel();
    for (const auto& store : world_.stores) store->Open();
    do {
      ChangeOwner();
      world_.RunUntil([&] { return world_.IsSettled(*map_) || Lost(); });
    } while (Lost());
  }

  void CheckMembersAreEqual() {
    const auto first = world_.StatesOf(0);
    for (MemberIndex m = 1; m < ReplicaWorld::kMembers; ++m) {
      const auto states = world_.StatesOf(m);
      CHECK(states.size() == first.size());
      for (const auto& [key, state] : first) {
        CAPTURE(m, key);
        REQUIRE(states.contains(key));
        CHECK(states.at(key).found == state.found);
        CHECK(states.at(key).value == state.value);
      }
    }
  }

  std::vector<Operation> history;
  std::size_t answered = 0;

 private:
  [[nodiscard]] bool Lost() const { return world_.given_up == map_->epoch(); }

  [[nodiscard]] bool Owns(Epoch epoch) const { return map_->epoch() == epoch; }

  void ChangeOwner() {
    ReplicatedMap* const former = map_;
    map_ = &world_.Make();
    map_->Open([](ErrorCode) {});
    const std::uint64_t draw = random_.Next() % 3;
    if (former == nullptr || draw == 0) return;  // it does not know yet
    boost::asio::post(former->get_executor(), [this, former, draw] {
      draw == 1 ? former->Fence() : world_.Destroy(*former);
    });
  }

  void Disturb() {
    faults_.expires_after(std::chrono::milliseconds(2 + random_.Next() % 30));
    faults_.async_wait([this](ErrorCode cut) {
      if (cut || ended_ == kClients) return;
      GatedStore& store = *world_.stores[random_.Next() % ReplicaWorld::kMembers];
      switch (random_.Next() % 5) {
        case 0:
          store.Shut();
          break;
        case 1:
          store.Drop();
          store.Open();
          break;
        case 2:
          ChangeOwner();
          break;
        default:
          for (const auto& each : world_.stores) each->Open();
      }
      if (Lost()) ChangeOwner();
      Disturb();
    });
  }

  // The next operation of a client, a moment later.
  void Continue(int client, int left) {
    if (left == 0) {
      ++ended_;
      return;
    }
    const auto pause = std::make_shared<boost::asio::steady_timer>(
        world_.context, std::chrono::microseconds(random_.Next() % 2000));
    pause->async_wait([this, pause, client, left](ErrorCode) {
      boost::asio::post(map_->get_executor(), [this, client, left, epoch = map_->epoch()] {
        Serve(epoch, client, left);
      });
    });
  }

  // On the strand of the owner under this epoch.
  void Serve(Epoch epoch, int client, int left) {
    ReplicatedMap& map = *map_;
    if (!Owns(epoch) || !map.Stats().serving) return Continue(client, left);
    const std::size_t index = history.size();
    const std::string key(1, static_cast<char>('a' + random_.Next() % kKeys));
    const std::uint64_t kind = random_.Next() % 5;
    history.push_back({.client = client, .key = key, .call_ns = SteadyNs()});
    Operation& operation = history.back();
    const KeyView view = key;
    if (kind >= 2) {
      operation.op = kind == 2 ? Operation::Kind::kDel : Operation::Kind::kSet;
      if (kind > 2) operation.value = std::to_string(index);
      const auto stamp = kind == 2 ? map.Delete(key) : map.Put(key, *operation.value);
      if (!stamp) return End(index, Operation::Outcome::kFail, left);
      return map.SafeReply({&view, 1}, [this, index, left](ErrorCode ec) {
        End(index, ec ? Operation::Outcome::kUnknown : Operation::Outcome::kOk, left);
      });
    }
    map.Get(key, [this, epoch, index, left](ErrorCode ec, const ReplicatedMap::Entry& entry) {
      if (ec || !Owns(epoch)) return End(index, Operation::Outcome::kFail, left);
      if (entry.value) history[index].value = *entry.value;
      const KeyView again = history[index].key;
      map_->SafeReply({&again, 1},
                      [this, index, left](ErrorCode error) {
                        End(index, error ? Operation::Outcome::kFail : Operation::Outcome::kOk,
                            left);
                      },
                      {.members = std::nullopt, .write = false});
    });
  }

  void End(std::size_t index, Operation::Outcome outcome, int left) {
    history[index].outcome = outcome;
    history[index].return_ns = SteadyNs();
    if (outcome == Operation::Outcome::kOk) ++answered;
    Continue(static_cast<int>(history[index].client), left - 1);
  }

  ReplicaWorld world_;
  SplitMix64 random_;
  boost::asio::steady_timer faults_;
  ReplicatedMap* map_ = nullptr;
  int ended_ = 0;
};

TEST_CASE("histories are linearizable among faults of stores and owners", "[replicated]") {
  const std::uint64_t seed = GENERATE(range(1, 11));
  CAPTURE(seed);
  HistoryRun run(seed);
  run.Run();
  const test::Judgement judgement = JudgeHistory(run.history);
  INFO(judgement.key << ": " << judgement.reason);
  CHECK(judgement.verdict == Verdict::kLinearizable);
  CHECK(run.answered > 0);
  run.CheckMembersAreEqual();
}

// Writes 1 and 2, loses the first member, changes the owner, and reads. Returns the history.
std::vector<Operation> WriteAndFailOver(bool strong) {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.strong = strong;
  if (!strong) options.member_timeout = 1h;
  ReplicatedMap& former = world.Open(options);
  world.RunUntil([&] { return former.Stats().settled; });
  std::vector<Operation> history;
  const auto add = [&](Operation::Kind kind, std::string value, std::int64_t start) {
    history.push_back({.op = kind,
                       .key = "k",
                       .value = std::move(value),
                       .call_ns = start,
                       .return_ns = SteadyNs()});
  };
  std::int64_t start = SteadyNs();
  REQUIRE_FALSE(world.Put(former, "k", "1"));
  add(Operation::Kind::kSet, "1", start);
  world.On(former, [&] { former.Flush([](ErrorCode) {}); });
  world.RunUntil([&] { return former.Stats().members[2].engine.lanes.at(0).dirty_keys == 0; });
  world.RunUntil([&] { return former.Stats().members[1].engine.lanes.at(0).dirty_keys == 0; });
  world.stores[1]->Shut();
  world.stores[2]->Shut();
  start = SteadyNs();
  REQUIRE_FALSE(world.Put(former, "k", "2"));
  add(Operation::Kind::kSet, "2", start);
  world.On(former, [&] { former.Fence(); });
  world.stores[0]->Shut();
  for (const MemberIndex m : {1, 2}) {
    world.stores[m]->Drop();
    world.stores[m]->Open();
  }
  const bool either = world.IsIn(1) || world.IsIn(2);
  CHECK(either != strong);  // in sc, the answer came after the members had left
  if (!either) world.stores[0]->Open();
  options = ReplicaWorld::Quick();
  ReplicatedMap& next = world.Open(options);
  start = SteadyNs();
  std::string shown = world.Get(next, "k");
  add(Operation::Kind::kGet, std::move(shown), start);
  return history;
}

TEST_CASE("a failover keeps an answered write in sc, and the judge sees that ec does not",
          "[replicated]") {
  CHECK(JudgeHistory(WriteAndFailOver(true)).verdict == Verdict::kLinearizable);
  CHECK(JudgeHistory(WriteAndFailOver(false)).verdict == Verdict::kViolated);
}

}  // namespace
}  // namespace stout
