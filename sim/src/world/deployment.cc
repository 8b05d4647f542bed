#include "stout/sim/deployment.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stout/core/lease_keeper.h"
#include "stout/core/lease_ledger.h"
#include "stout/core/placement.h"
#include "stout/sim/event_queue.h"
#include "stout/unique_function.h"
#include "world/phase_meter.h"
#include "world/units.h"

namespace stout::sim {
namespace internal {
namespace {

using namespace stout::internal;
using namespace std::chrono_literals;
using NodeIndex = std::uint32_t;

// A node takes what it hears within this time as one table, which keeps large simulations short.
constexpr Duration kTableEvery = 2ms;
// etcd looks for sessions that have ended this often.
constexpr Duration kExpiryEvery = 500ms;
constexpr Duration kPhaseLimit = 10min;

// Returns how many records of a coordinator differ.
std::uint64_t Changes(const LeaseTable& before, const LeaseTable& after) {
  std::vector<std::string> members;
  std::set_symmetric_difference(before.members.begin(), before.members.end(), after.members.begin(),
                                after.members.end(), std::back_inserter(members));
  std::uint64_t changes = members.size();
  for (RangeId id = 0; id < after.ranges.size(); ++id) {
    const bool same = id < before.ranges.size() ? before.ranges[id] == after.ranges[id]
                                                : !after.ranges[id].has_value();
    changes += same ? 0 : 1;
  }
  return changes;
}

class Deployment {
 public:
  Deployment(const DeploymentSpec& spec, const std::atomic<bool>* stop)
      : spec_(spec), stop_(stop), nodes_(spec.nodes), ranges_(spec.ranges) {}

  DeploymentResult Run() {
    DeploymentResult result;
    result.start = Measure([this] {
      for (NodeIndex n = 0; n < spec_.nodes; ++n) Start(n);
    });
    if (!result.start.ended) return result;
    result.steady = Measure([] {}, std::max<Duration>(60s, Seconds(6 * spec_.ttl_s)));
    const NodeIndex victim = Busiest();
    AwaitRenewal(victim);
    result.death = Measure([this, victim] { Kill(victim); });
    if (!result.death.ended) return result;
    result.join = Measure([this, victim] { Start(victim); });
    return result;
  }

 private:
  struct Node {
    std::optional<LeaseKeeper> keeper{};  // nullopt: it is dead
    std::uint64_t boot = 0;
    TimePoint tick = kNever;
    bool hears = false;  // a table will be sent to it
    // Its calls that change something have one connection, as in the adapter of etcd.
    bool asks = false;
    std::deque<UniqueFunction<void()>> waiting{};
  };
  struct Range {
    std::optional<NodeIndex> served_by;
    NodeIndex rightful = 0;
    TimePoint unserved_since{};
  };

  static std::string AddressOf(NodeIndex node) { return "node-" + std::to_string(node) + ":7001"; }

  // --- The agenda -------------------------------------------------------------------------------

  void After(Duration delay, UniqueFunction<void()> call) {
    agenda_.Push(agenda_.now() + delay, std::move(call));
  }
  // The call is dropped if the node dies before.
  template <typename Call>
  void AtNode(Duration delay, NodeIndex n, Call call) {
    After(delay, [this, n, boot = nodes_[n].boot, call = std::move(call)]() mutable {
      if (!nodes_[n].keeper || nodes_[n].boot != boot) return;
      call();
      Drive(n);
    });
  }

  [[nodiscard]] bool stopped() const { return stop_ != nullptr && *stop_; }
  [[nodiscard]] Duration Backlog() const { return std::max(Duration(), free_at_ - agenda_.now()); }

  template <typename Event>
  DeploymentPhase Measure(Event event, std::optional<Duration> length = {}) {
    meter_ = PhaseMeter(agenda_.now(), Backlog());
    const TimePoint end = agenda_.now() + length.value_or(kPhaseLimit);
    event();
    while (!stopped() && agenda_.next() < end && (length || !Settled())) agenda_.Pop()();
    return meter_.End(length ? end : agenda_.now(), Backlog(), length || Settled());
  }

  // A node that dies now has its session for the longest time.
  void AwaitRenewal(NodeIndex n) {
    awaited_ = n;
    while (!stopped() && awaited_) agenda_.Pop()();
  }

  [[nodiscard]] bool Settled() const { return right_ == spec_.ranges && drops_ == 0; }

  // After a node has started or died.
  void FindRightful() {
    std::map<std::string, NodeIndex> live;
    for (NodeIndex n = 0; n < spec_.nodes; ++n) {
      if (nodes_[n].keeper) live[AddressOf(n)] = n;
    }
    std::vector<std::string> members;
    members.reserve(live.size());
    for (const auto& [address, n] : live) members.push_back(address);
    right_ = 0;
    const std::vector<std::size_t> owners = RightfulOwners(members, spec_.ranges);
    for (RangeId id = 0; id < spec_.ranges; ++id) {
      ranges_[id].rightful = live.at(members[owners[id]]);
      right_ += IsRight(ranges_[id]) ? 1 : 0;
    }
  }
  static bool IsRight(const Range& range) { return range.served_by == range.rightful; }

  void SetOwner(RangeId id, std::optional<NodeIndex> owner) {
    Range& range = ranges_[id];
    if (range.served_by == owner) return;
    right_ -= IsRight(range) ? 1 : 0;
    if (range.served_by) range.unserved_since = agenda_.now();
    if (owner) meter_.AddMove(agenda_.now() - range.unserved_since);
    range.served_by = owner;
    right_ += IsRight(range) ? 1 : 0;
  }

  // --- The coordinator --------------------------------------------------------------------------

  // Carries out `call` at the coordinator, and `answer` at the node with its result.
  template <typename Call, typename Answer>
  void Send(NodeIndex n, double cost_us, Call call, Answer answer) {
    After(rtt_ / 2, [this, n, boot = nodes_[n].boot, cost_us, call = std::move(call),
                     answer = std::move(answer)]() mutable {
      meter_.AddWait(Backlog());
      Work(cost_us);
      agenda_.Push(
          free_at_, [this, n, boot, call = std::move(call), answer = std::move(answer)]() mutable {
            const auto result = call();
            Publish();
            if (nodes_[n].boot != boot) return;
            AtNode(rtt_ / 2, n, [answer = std::move(answer), result]() mutable { answer(result); });
          });
    });
  }
  // The same, after the node's other calls.
  template <typename Call, typename Answer>
  void Ask(NodeIndex n, double cost_us, Call call, Answer answer) {
    nodes_[n].waiting.emplace_back(
        [this, n, cost_us, call = std::move(call), answer = std::move(answer)]() mutable {
          meter_.CountCall();
          Send(n, cost_us, std::move(call),
               [this, n, answer = std::move(answer)](const auto& result) mutable {
                 nodes_[n].asks = false;
                 answer(result);
                 AskNext(n);
               });
        });
    AskNext(n);
  }
  void AskNext(NodeIndex n) {
    Node& node = nodes_[n];
    if (node.asks || node.waiting.empty()) return;
    node.asks = true;
    UniqueFunction<void()> next = std::move(node.waiting.front());
    node.waiting.pop_front();
    next();
  }
  void Work(double cost_us) {
    free_at_ = std::max(free_at_, agenda_.now()) + Microseconds(cost_us);
    meter_.AddWork(Microseconds(cost_us));
  }

  // Tells the nodes what has changed, and wakes up when the next session ends.
  void Publish() {
    auto table = std::make_shared<const LeaseTable>(ledger_.Table());
    const std::uint64_t changes = Changes(*table_, *table);
    table_ = std::move(table);
    TellAll(changes);
    const TimePoint expiry = ledger_.NextExpiry();
    if (expiry == kNever) return;
    const TimePoint noticed =
        TimePoint((expiry.time_since_epoch() / kExpiryEvery + 1) * kExpiryEvery);
    if (noticed == expiry_) return;
    expiry_ = noticed;
    agenda_.Push(noticed, [this] {
      if (ledger_.NextExpiry() <= agenda_.now()) Work(spec_.write_us);
      ledger_.Expire(agenda_.now());
      Publish();
    });
  }
  void TellAll(std::uint64_t changes) {
    for (NodeIndex n = 0; changes > 0 && n < spec_.nodes; ++n) {
      if (nodes_[n].keeper) Tell(n, changes);
    }
  }
  // The node hears of what is known when its turn comes.
  void Tell(NodeIndex n, std::uint64_t changes) {
    meter_.CountEvents(changes);
    Work(spec_.event_us * static_cast<double>(changes));
    if (std::exchange(nodes_[n].hears, true)) return;
    AtNode(Backlog() + kTableEvery, n, [this, n] {
      nodes_[n].hears = false;
      AtNode(rtt_ / 2, n,
             [this, n, table = table_] { nodes_[n].keeper->OnTable(*table, agenda_.now()); });
    });
  }

  // --- The nodes --------------------------------------------------------------------------------

  void Start(NodeIndex n) {
    Node& node = nodes_[n];
    node = {.boot = node.boot + 1};
    node.keeper.emplace(AddressOf(n), spec_.ranges, Seconds(spec_.ttl_s));
    FindRightful();
    node.keeper->Start(agenda_.now());
    Drive(n);
    Tell(n, 1);
  }

  void Kill(NodeIndex n) {
    nodes_[n] = {.boot = nodes_[n].boot + 1};
    for (RangeId id = 0; id < spec_.ranges; ++id) {
      if (ranges_[id].served_by == n) SetOwner(id, std::nullopt);
    }
    FindRightful();
    std::map<std::string, Recorded<Datalet>> datalets;
    for (NodeIndex d = 0; d < spec_.nodes; ++d) datalets.try_emplace(AddressOf(d));
    for (RangeId id = 0; id < spec_.ranges; ++id) {
      const auto members = PlaceRange(id, datalets, spec_.replicas);
      if (std::find(members.begin(), members.end(), AddressOf(n)) == members.end()) continue;
      if (ranges_[id].served_by) After(Seconds(spec_.member_timeout_s), [this, id] { Drop(id); });
      drops_ += ranges_[id].served_by ? 1 : 0;
    }
  }
  // The owner drops the dead member. A range without an owner gets one that does it on opening.
  void Drop(RangeId id) {
    if (!ranges_[id].served_by) {
      --drops_;
    } else {
      WriteRecord(*ranges_[id].served_by, [this] { --drops_; });
    }
  }
  template <typename Then>
  void WriteRecord(NodeIndex n, Then then) {
    Ask(
        n, spec_.write_us,
        [this] {
          TellAll(1);
          return true;
        },
        [then = std::move(then)](bool) mutable { then(); });
  }

  NodeIndex Busiest() const {
    std::vector<std::size_t> owned(spec_.nodes);
    for (const Range& range : ranges_) {
      if (range.served_by) ++owned[*range.served_by];
    }
    return static_cast<NodeIndex>(std::max_element(owned.begin(), owned.end()) - owned.begin());
  }

  // Carries out what the node's keeper asks for.
  void Drive(NodeIndex n) {
    Node& node = nodes_[n];
    for (const lease::Action& action : node.keeper->TakeActions()) {
      std::visit([this, n](const auto& each) { Do(n, each); }, action);
    }
    const TimePoint next = node.keeper->NextTick();
    if (next == kNever || next >= node.tick) return;
    node.tick = next;
    AtNode(next - agenda_.now(), n, [this, n, next] {
      if (nodes_[n].tick != next) return;  // an earlier one was set meanwhile
      nodes_[n].tick = kNever;
      nodes_[n].keeper->Tick(agenda_.now());
    });
  }

  // A session takes three calls of etcd.
  void Do(NodeIndex n, const lease::Join& join) {
    Ask(
        n, 3 * spec_.write_us,
        [this, n] {
          return ledger_.Join(AddressOf(n), spec_.ranges, Seconds(spec_.ttl_s), agenda_.now());
        },
        [this, n, join](const LeaseLedger::Joined& joined) {
          nodes_[n].keeper->OnJoined(join.attempt, joined.errc, joined.session, agenda_.now());
        });
  }
  void Do(NodeIndex n, const lease::KeepAlive& renewal) {
    meter_.CountRenewal();
    Send(
        n, spec_.renew_us,
        [this, renewal] { return ledger_.KeepAlive(renewal.session, agenda_.now()); },
        [this, n, renewal](Errc errc) {
          nodes_[n].keeper->OnKeptAlive(renewal.session, renewal.sent, errc, agenda_.now());
          if (awaited_ == n) awaited_.reset();
        });
  }
  void Do(NodeIndex n, const lease::Acquire& wish) {
    Ask(
        n, spec_.write_us,
        [this, wish] { return ledger_.Acquire(wish.session, wish.range, agenda_.now()); },
        [this, n, wish](const LeaseLedger::Acquired& got) {
          nodes_[n].keeper->OnAcquired(wish.attempt, wish.range, got.errc, got.epoch,
                                       agenda_.now());
        });
  }
  void Do(NodeIndex n, const lease::Release& wish) {
    Ask(
        n, spec_.write_us,
        [this, wish] {
          return ledger_.Release(wish.session, wish.range, wish.epoch, agenda_.now());
        },
        [this, n, wish](Errc errc) {
          nodes_[n].keeper->OnReleased(wish.attempt, wish.range, errc, agenda_.now());
        });
  }
  void Do(NodeIndex n, const lease::Leave& leave) {
    Ask(
        n, spec_.write_us,
        [this, leave] {
          ledger_.Leave(leave.session, agenda_.now());
          return Errc::kOk;
        },
        [this, n, leave](Errc errc) {
          nodes_[n].keeper->OnLeft(leave.session, errc, agenda_.now());
        });
  }
  // The new owner opens the range, and writes its record.
  void Do(NodeIndex n, const lease::Acquired& got) {
    AtNode(Microseconds(spec_.open_us), n, [this, n, got] {
      WriteRecord(n, [this, n, got] {
        if (nodes_[n].keeper->HeldEpoch(got.range) == got.epoch) SetOwner(got.range, n);
      });
    });
  }
  void Do(NodeIndex n, const lease::HandOver& wish) {
    AtNode(Microseconds(spec_.hand_over_us), n, [this, n, wish] {
      if (ranges_[wish.range].served_by == n) SetOwner(wish.range, std::nullopt);
      nodes_[n].keeper->OnHandedOver(wish.range, wish.epoch, agenda_.now());
    });
  }
  void Do(NodeIndex n, const lease::Lost& lost) {
    if (ranges_[lost.range].served_by == n) SetOwner(lost.range, std::nullopt);
  }
  void Do(NodeIndex, const lease::Refused&) {}
  void Do(NodeIndex, const lease::Left&) {}

  const DeploymentSpec spec_;
  const std::atomic<bool>* const stop_;
  const Duration rtt_ = Microseconds(spec_.rtt_us);
  EventQueue<UniqueFunction<void()>> agenda_;
  LeaseLedger ledger_{1};
  std::shared_ptr<const LeaseTable> table_ = std::make_shared<const LeaseTable>();
  TimePoint expiry_ = kNever;
  TimePoint free_at_{};  // of the coordinator
  std::vector<Node> nodes_;
  std::vector<Range> ranges_;
  RangeId right_ = 0;                 // ranges that their rightful owners serve
  std::uint32_t drops_ = 0;           // of a dead member, which are to come
  std::optional<NodeIndex> awaited_;  // see AwaitRenewal

  PhaseMeter meter_{{}, {}};
};

}  // namespace
}  // namespace internal

DeploymentResult SimulateDeployment(const DeploymentSpec& spec, const std::atomic<bool>* stop) {
  return internal::Deployment(spec, stop).Run();
}

}  // namespace stout::sim
