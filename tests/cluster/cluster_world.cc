#include "tests/cluster/cluster_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stout::sim {
namespace {

using namespace std::chrono_literals;
using Kind = test::Operation::Kind;
using Outcome = test::Operation::Outcome;

RangeRecord FirstRecord(const ClusterOptions& options) {
  RangeRecord record;
  for (MemberIndex m = 0; m < options.replicas; ++m) {
    record.members.push_back({.datalet = DataletName(m), .in = m < options.in_at_start});
    if (!options.durable) record.members.back().incarnation = "1";
  }
  record.strong = options.strong;
  return record;
}

/// Two members have the change under one stamp, or one of them has a copy that a later owner made.
/// A store may forget a delete.
bool OrdersAlike(const StoredState& a, const StoredState& b) {
  if (a.stamp == b.stamp) return true;
  const bool forgotten = !a.found && (a.stamp == Stamp{} || b.stamp == Stamp{});
  return forgotten || std::max(a.stamp, b.stamp).version == 0;
}

}  // namespace

ClusterWorld::Counts& ClusterWorld::Counts::operator+=(const Counts& other) {
  answered += other.answered;
  owners += other.owners;
  changes += other.changes;
  fills += other.fills;
  drops += other.drops;
  joins += other.joins;
  sweeps += other.sweeps;
  repairs += other.repairs;
  unknown_commits += other.unknown_commits;
  undecided += other.undecided;
  relaxed += other.relaxed;
  bounded += other.bounded;
  causal += other.causal;
  shared += other.shared;
  merges += other.merges;
  return *this;
}

ClusterWorld::ClusterWorld(const ClusterOptions& options, bool print)
    : options_(options),
      random_(options.seed ^ 0xc1a5),
      read_random_(options.seed ^ 0x4ead),
      trace_(print),
      registry_(FirstRecord(options), options.mistake),
      datalets_(options.datalets),
      nodes_(options.nodes),
      sessions_(options.clients),
      want_mode_(options.shared   ? Mode::kAaEc
                 : options.strong ? Mode::kMsSc
                                  : Mode::kMsEc),
      reserved_(options.nodes),
      clients_(options.clients),
      asked_at_(options.clients) {
  for (DataletModel& datalet : datalets_) datalet.durable = options.durable;
  for (MemberIndex m = 0; m < options.in_at_start; ++m) {
    (void)datalets_[m].Write(0, {{.key = kIdentityKey, .value = DataletName(m), .version = 1}});
  }
  for (MemberIndex m = 0; m < options.replicas; ++m) wanted_.push_back(DataletName(m));
  if (options.has_lazy) lazy_.push_back(DataletName(options.datalets - 1));
  if (options.place) {
    for (MemberIndex m = 0; m + lazy_.size() < options.datalets; ++m)
      live_.try_emplace(DataletName(m));
    wanted_ = options.place(0, live_, options.replicas);
  }
  if (options.strong || options.mistake == Mistake::kEcJudgedAsSc) strong_.emplace_back();
  for (Node& node : nodes_) {
    // Four fifths of the margin that a lease leaves for clocks, which is a twentieth.
    node.drift = (random_.Unit() - 0.5) * 0.04;
    node.offset = random_.Between(0ms, 1000ms);
    if (options.synchronized) {
      node.drift /= 200;
      node.offset /= 200;
    }
    node.cut_until.resize(options.datalets);
    node.seen = registry_.record();
  }
  for (std::uint32_t node = 0; node < options.nodes; ++node) ReserveVersions(node, true);
}

// --- The phases ----------------------------------------------------------------------------------

void ClusterWorld::Run() {
  for (std::uint32_t node = 0; node < options_.nodes; ++node) TickNode(node);
  for (std::uint32_t i = 0; i < options_.steps && !verdict_.failed(); ++i) {
    RunUntil(now() + random_.Between(Duration::zero(), options_.mean_pause * 2));
    if (!verdict_.failed()) Step();
  }
  Heal();
  ExpectEqualMembers();
  ExpectService();
  CheckOwed();
  if (options_.mistake == Mistake::kNone) ExpectServiceWithFullDisk();
  CheckHistory();
}

void ClusterWorld::RunUntil(TimePoint end) {
  bool reached = false;
  agenda_.Push(end, [&] { reached = true; });
  while (!reached && !verdict_.failed()) agenda_.Pop()();
}

void ClusterWorld::Step() {
  Trouble();
  Ask(static_cast<std::uint32_t>(random_.Below(options_.clients)));
  AskRelaxed();
}

void ClusterWorld::Heal() {
  if (verdict_.failed()) return;
  trace_.Add(now(), "faults stop");
  options_.faults = ClusterFaults{};
  healed_ = true;
  for (DataletModel& datalet : datalets_) {
    datalet.up = true;
    datalet.full = false;
    datalet.slow_until = {};
  }
  for (Node& node : nodes_) {
    node.paused_until = {};
    std::fill(node.cut_until.begin(), node.cut_until.end(), TimePoint{});
    if (node.owner) node.owner->AskMembers();
    if (node.writer) node.writer->AskMembers();
  }
  Settle();
}

void ClusterWorld::Settle() {
  RunUntil(now() + 6 * options_.ttl + 40 * options_.keeper.member_timeout + 3s);
  const auto owner = AnyOwner();
  if (verdict_.failed()) return;
  if (!owner) return verdict_.Fail("the range has no owner after the end of all faults");
  if (!nodes_[*owner].owner->keeper().settled()) {
    verdict_.Fail("the owner does not settle after the end of all faults");
  }
  for (const std::optional<std::size_t>& request : clients_) {
    if (request) verdict_.Fail(fmt::format("request {} does not end", *request));
  }
}

void ClusterWorld::ExpectService() {
  for (std::uint32_t k = 0; k < options_.keys && !verdict_.failed(); ++k) {
    for (const Kind kind : {Kind::kGet, Kind::kSet, Kind::kGet}) {
      const std::uint64_t before = counts_.answered;
      test::Operation operation{.op = kind, .key = fmt::format("k{}", k)};
      // A set is refused while the engine is full, for example of a mark.
      for (int tries = 0; tries < 5 && counts_.answered == before; ++tries) {
        if (kind == Kind::kSet) operation.value = fmt::format("v{}", ++last_value_);
        const auto server = AnyServer();
        if (!server) return verdict_.Fail("the owner is lost without a fault");
        Submit(0, *server, operation);
        RunUntil(now() + 2 * options_.keeper.member_timeout + 200ms);
        if (clients_[0]) break;
      }
      if (counts_.answered == before) verdict_.Fail("a request is not served after all faults");
      clients_[0].reset();
    }
  }
}

void ClusterWorld::ExpectServiceWithFullDisk() {
  if (verdict_.failed() || wanted_.size() + lazy_.size() == 1) return;
  const bool lazy = !lazy_.empty() && random_.Chance(300);
  const auto& candidates = lazy || wanted_.size() == 1 ? lazy_ : wanted_;
  DataletModel& datalet = datalets_[DataletOf(candidates[random_.Below(candidates.size())])];
  trace_.Add(now(), "full for long");
  datalet.full = true;
  // It leaves after its time-out, and after another one if it is being filled then.
  const Duration limit = 4 * options_.keeper.member_timeout + 500ms;
  const TimePoint end = now() + 3 * limit;
  while (now() < end && !verdict_.failed()) {
    RunUntil(now() + options_.mean_pause);
    const auto owner = AnyServer();
    if (owner && !clients_[0]) {
      Submit(0, *owner,
             {.op = Kind::kSet, .key = "k0", .value = fmt::format("v{}", ++last_value_)});
    }
    // Its reads succeed meanwhile.
    if (owner && !clients_[1] && options_.keys > 1) Submit(1, *owner, {.client = 1, .key = "k1"});
    for (std::uint32_t client = 0; client < options_.clients; ++client) {
      if (!clients_[client] || now() <= asked_at_[client] + limit) continue;
      return verdict_.Fail(
          fmt::format("request {} is not served while a disk is full", *clients_[client]));
    }
  }
  datalet.full = false;
  Settle();
  ExpectEqualMembers();
}

void ClusterWorld::ExpectEqualMembers() {
  if (verdict_.failed()) return;
  for (std::uint32_t k = 0; k < options_.keys; ++k) {
    const std::string key = fmt::format("k{}", k);
    const StoredState first = datalets_[DataletOf(wanted_[0])].state(key);
    std::vector<std::string> members = wanted_;
    members.insert(members.end(), lazy_.begin(), lazy_.end());
    for (const std::string& datalet : members) {
      const StoredState state = datalets_[DataletOf(datalet)].state(key);
      if (state.found != first.found || (state.found && state.value != first.value)) {
        return verdict_.Fail(fmt::format("{} differs at {} in the end", datalet, key));
      }
      if (OrdersAlike(state, first)) continue;
      return verdict_.Fail(fmt::format(
          "{} orders {} otherwise in the end: ({},{}), and another member has ({},{})", datalet,
          key, state.stamp.epoch, state.stamp.version, first.stamp.epoch, first.stamp.version));
    }
  }
}

// --- Clients -------------------------------------------------------------------------------------

std::optional<std::uint32_t> ClusterWorld::AnyOwner() {
  std::optional<std::uint32_t> any;
  std::uint64_t seen = 0;
  for (std::uint32_t id = 0; id < options_.nodes; ++id) {
    const Node& node = nodes_[id];
    if (!node.up || !node.owner || node.paused_until > now()) continue;
    if (random_.Below(++seen) == 0) any = id;
  }
  return any;
}

/// A node that takes requests.
std::optional<std::uint32_t> ClusterWorld::AnyServer() {
  if (registry_.record().shared == 0) return AnyOwner();
  const auto node = static_cast<std::uint32_t>(random_.Below(options_.nodes));
  const bool runs = nodes_[node].up && nodes_[node].paused_until <= now();
  return runs && nodes_[node].writer ? std::optional(node) : AnyOwner();
}

void ClusterWorld::Ask(std::uint32_t client) {
  const auto owner = AnyServer();
  if (!owner) return;
  if (clients_[client]) {
    if (healed_ || now() < asked_at_[client] + 1s) return;
    clients_[client].reset();  // the client gives up, and the outcome stays unknown
  }
  test::Operation operation{.client = client,
                            .key = fmt::format("k{}", random_.Below(options_.keys))};
  if (random_.Chance(options_.writes)) {
    operation.op = Kind::kSet;
    operation.value = fmt::format("v{}", ++last_value_);
  } else if (random_.Chance(options_.erases)) {
    operation.op = Kind::kDel;
  }
  Submit(client, *owner, operation);
}

void ClusterWorld::Submit(std::uint32_t client, std::uint32_t node,
                          const test::Operation& operation) {
  // Without a fence only writes come from clocks that lie: leases alone make reads safe.
  const bool lies = Lies() && (options_.mistake != Mistake::kNoFence || operation.op != Kind::kGet);
  const bool shares = nodes_[node].writer && nodes_[node].writer->keeper().serving();
  if (!shares && (!nodes_[node].owner || (!Owns(node) && !lies))) return;
  const std::size_t id = history_.size();
  history_.push_back(operation);
  if (operation.op == Kind::kSet) writer_[*operation.value] = id;
  history_[id].call_ns = Nanoseconds(now());
  history_[id].outcome = Outcome::kUnknown;
  clients_[client] = id;
  asked_at_[client] = now();
  Request request{.id = id, .key = operation.key};
  if (operation.op != Kind::kGet) {
    request.kind = operation.value ? Request::Kind::kSet : Request::Kind::kDelete;
    request.value = operation.value.value_or("");
    if (read_random_.Chance(200)) {
      request.level = static_cast<std::uint32_t>(read_random_.Below(3));
      levels_[id] = *request.level;
    }
  }
  trace_.Add(now(), "request", id, static_cast<std::uint64_t>(operation.op), node,
             operation.key + operation.value.value_or(""));
  if (shares && operation.op == Kind::kGet) relaxed_gets_.insert(id);
  const auto server = shares ? nodes_[node].writer : nodes_[node].owner;
  server->Serve(request);
}

void ClusterWorld::OnEnd(std::size_t id, Ending ending, std::optional<std::string> value) {
  test::Operation& operation = history_[id];
  trace_.Add(now(), "end", id, static_cast<std::uint64_t>(ending), 0, value.value_or("-"));
  for (std::optional<std::size_t>& request : clients_) {
    if (request == id) request.reset();
  }
  operation.return_ns = Nanoseconds(now());
  if (ending == Ending::kUnknown) return;
  operation.outcome = ending == Ending::kDone ? Outcome::kOk : Outcome::kFail;
  if (ending != Ending::kDone) return;
  ++counts_.answered;
  if (operation.op == Kind::kGet) {
    operation.value = std::move(value);
    if (relaxed_gets_.contains(id)) operation.outcome = Outcome::kFail;  // promises nothing
    return;
  }
  const auto level = levels_.find(id);
  if (level != levels_.end()) CheckLevel(id, level->second);
  const bool by_number = level != levels_.end() && level->second > 0;
  acknowledged_[operation.key].push_back(
      {now(), changed_.at(id), registry_.record().strong && !by_number});
  if (by_number) {  // in mode sc, and on the way to it, it may be lost with its owner
    operation.outcome = Outcome::kUnknown;
    return;
  }
  all_acked_.push_back(id);
  if (IsKept(id)) owed_.insert(id);
  if (!registry_.record().strong) return;
  const Stamp stamp = changed_.at(id);
  acked_[operation.key] = std::max(acked_[operation.key], stamp);
  CheckAcked(operation.key, stamp, "at its answer");
}

void ClusterWorld::OnChange(std::size_t request, const std::string& key, Stamp stamp) {
  trace_.Add(now(), "change", request, stamp.epoch, stamp.version, key);
  if (key == kMarkKey) return;  // a fill does not copy it
  if (!stamps_.emplace(key, stamp).second) {
    verdict_.Fail(fmt::format("two changes of {} have the same stamp", key));
  }
  changes_[key][stamp.epoch].push_back(stamp.version);
  if (request == kNobody) return;
  changed_[request] = stamp;
  if (history_[request].op == Kind::kDel) erased_[key] = std::max(erased_[key], stamp);
}

}  // namespace stout::sim
