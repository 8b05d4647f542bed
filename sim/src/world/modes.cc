#include "stout/sim/modes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/effects.h"
#include "stout/core/engine.h"
#include "stout/core/placement.h"
#include "stout/core/policy/basic.h"
#include "stout/core/pool.h"
#include "stout/core/replica_set.h"
#include "stout/core/state_source.h"
#include "stout/sim/digest.h"
#include "stout/sim/event_queue.h"
#include "stout/sim/random.h"
#include "world/key_space.h"
#include "world/latency_histogram.h"
#include "world/setup.h"
#include "world/units.h"

namespace stout::sim {
namespace internal {
namespace {

using namespace stout::internal;
using Mode = ModesSpec::Mode;

// Carries out one piece of work after another.
class OneAtATime {
 public:
  TimePoint Serve(double us, TimePoint now) {
    const Duration work = Microseconds(us);
    free_ = std::max(free_, now) + work;
    busy_ += work;
    return free_;
  }
  void Forget() { busy_ = {}; }
  [[nodiscard]] Duration busy() const { return busy_; }

 private:
  TimePoint free_ = kStart;
  Duration busy_{};
};

// A range at a node that takes its requests.
class RangeShare final : public StateSource {
 public:
  struct Member {
    Member(std::uint32_t at, std::uint64_t seed)
        : datalet(at), engine(OptionsOf(Limits(), Natural{}, seed), 1, 1) {}

    std::uint32_t datalet;  // the node that has it
    Engine engine;
    Effects effects{};
    TimePoint due = kNever;
  };

  RangeShare(std::uint32_t at, const std::vector<std::uint32_t>& datalets, bool strong,
             Random& random)
      : node(at) {
    set.SetStrong(strong);
    set.SetLocal(kMaxMembers);
    for (MemberIndex m = 0; m < datalets.size(); ++m) {
      members.push_back(std::make_unique<Member>(datalets[m], random.Bits()));
      set.SetState(m, MemberState::kIn);
      if (datalets[m] == at) set.SetLocal(m);
    }
  }

  std::uint32_t node;
  ReplicaSet set{1, {}};
  std::vector<std::unique_ptr<Member>> members;

 private:
  static ClientSpec Limits() {
    ClientSpec limits;
    limits.max_dirty_keys = std::numeric_limits<std::int32_t>::max();
    return limits;
  }
  Serialized Serialize(KeyView, std::string& out) noexcept override {
    out.clear();
    return Serialized::kValue;
  }
};

struct ClosedClient {
  std::uint64_t key = 0;
  std::uint32_t share = 0;
  bool get = false;
  TimePoint sent{};
};

// A batch between its sending and its answer.
struct DataletCall {
  bool read = false;
  WriteBatch writes;
  ReadBatch reads;
};

class ModesWorld {
 public:
  ModesWorld(const ModesSpec& spec, const std::atomic<bool>* stop)
      : spec_(spec),
        stop_(stop),
        random_(spec.seed),
        half_rtt_(Microseconds(spec.rtt_us / 2)),
        warm_(kStart + Seconds(spec.warmup_s)),
        end_(kStart + Seconds(spec.duration_s)),
        nodes_(spec.nodes),
        datalets_(spec.nodes),
        clients_(spec.nodes * spec.clients) {
    Place();
  }

  ModesResult Execute() {
    for (std::uint32_t c = 0; c < clients_.size(); ++c) Begin(c, kStart);
    bool measures = false;
    while (agenda_.next() < end_ && (stop_ == nullptr || !*stop_)) {
      const Event event = agenda_.Pop();
      if (!measures && agenda_.now() >= warm_) Measure();
      measures = agenda_.now() >= warm_;
      Handle(event);
    }
    return Result();
  }

 private:
  struct Event {
    enum class Kind : std::uint8_t { kArrives, kTaken, kPoll, kCall, kAnswer, kReply };
    Kind kind;
    std::uint32_t who = 0;  // a client or a share
    MemberIndex member = 0;
    std::uint32_t call = 0;
  };
  using Kind = Event::Kind;

  // Decides where the ranges are. In aa+ec each node has a share of each range.
  void Place() {
    std::vector<std::string> names;
    std::map<std::string, Recorded<Datalet>> live;
    std::map<std::string, std::uint32_t> number;
    for (std::uint32_t n = 0; n < spec_.nodes; ++n) {
      names.push_back("node-" + std::to_string(n) + ":7001");
      live.try_emplace(names.back());
      number[names.back()] = n;
    }
    const std::vector<std::size_t> owners = RightfulOwners(names, spec_.ranges);
    const bool strong = spec_.mode == Mode::kMsSc;
    for (RangeId range = 0; range < spec_.ranges; ++range) {
      std::vector<std::uint32_t> members;
      for (const std::string& name : PlaceRange(range, live, spec_.replicas))
        members.push_back(number.at(name));
      if (!shared()) {
        shares_.push_back(std::make_unique<RangeShare>(static_cast<std::uint32_t>(owners[range]),
                                                       members, strong, random_));
        continue;
      }
      for (std::uint32_t n = 0; n < spec_.nodes; ++n)
        shares_.push_back(std::make_unique<RangeShare>(n, members, strong, random_));
    }
  }

  [[nodiscard]] bool shared() const { return spec_.mode == Mode::kAaEc; }

  /// Arrival of what one machine sends now to another.
  [[nodiscard]] TimePoint Over(std::uint32_t from, std::uint32_t to, TimePoint now) const {
    return from == to ? now : now + half_rtt_;
  }

  void Measure() {
    for (OneAtATime& node : nodes_) node.Forget();
    for (OneAtATime& datalet : datalets_) datalet.Forget();
    batches_ = items_ = 0;
  }

  void Handle(const Event& event) {
    const TimePoint now = agenda_.now();
    digest_.Mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    digest_.Mix(static_cast<std::uint64_t>(event.kind) << 32 | event.who);
    switch (event.kind) {
      case Kind::kArrives: {
        OneAtATime& node = nodes_[shares_[clients_[event.who].share]->node];
        return agenda_.Push(node.Serve(spec_.request_us, now),
                            {.kind = Kind::kTaken, .who = event.who});
      }
      case Kind::kTaken:
        return Take(event.who, now);
      case Kind::kPoll:
        if (shares_[event.who]->members[event.member]->due == now) Poll(event, now);
        return;
      case Kind::kCall:
        return Serve(event, now);
      case Kind::kAnswer:
        return Answer(event, now);
      case Kind::kReply:
        return Reply(event.who, now);
    }
  }

  // --- Clients ----------------------------------------------------------------------------------

  void Begin(std::uint32_t number, TimePoint now) {
    ClosedClient& client = clients_[number];
    client.key = spec_.popularity ? spec_.popularity->Draw(random_) : random_.Below(spec_.keys);
    client.get = random_.Unit() < spec_.gets;
    client.sent = now;
    const RangeId range = PartitionOf(Key(client.key).view(), spec_.ranges);
    client.share = shared() ? range * spec_.nodes + number % spec_.nodes : range;
    agenda_.Push(now + half_rtt_, {.kind = Kind::kArrives, .who = number});
  }

  void Reply(std::uint32_t number, TimePoint now) {
    if (now >= warm_) latencies_.Record(now - clients_[number].sent);
    Begin(number, now);
  }

  void Complete(ReplyId id, TimePoint now) {
    const auto client = static_cast<std::uint32_t>(id % clients_.size());
    agenda_.Push(now + half_rtt_, {.kind = Kind::kReply, .who = client});
  }

  // --- Requests at a node -----------------------------------------------------------------------

  void Take(std::uint32_t number, TimePoint now) {
    const ClosedClient& client = clients_[number];
    RangeShare& share = *shares_[client.share];
    const Key key(client.key);
    const KeyRef ref{.lane = 0, .key = key.view()};
    if (client.get) return shared() ? Fetch(number, ref, now) : Show(number, ref, now);
    const Version version = share.set.NextVersion();
    ForEachMember(share.set.writers(),
                  [&](MemberIndex m) { share.members[m]->engine.MarkDirty(ref, 0, version, now); });
    Ask(number, share.set.NeedOfWrite(), ref, now);
  }

  // A get of the owner's memory waits for what it reveals.
  void Show(std::uint32_t number, KeyRef ref, TimePoint now) {
    const RangeShare& share = *shares_[clients_[number].share];
    const bool dirty = std::any_of(share.members.begin(), share.members.end(),
                                   [&](const auto& each) { return each->engine.IsDirty(ref); });
    if (dirty) return Ask(number, share.set.NeedOfRead(), ref, now);
    Complete(number, now);
  }

  void Fetch(std::uint32_t number, KeyRef ref, TimePoint now) {
    const std::uint32_t index = clients_[number].share;
    RangeShare& share = *shares_[index];
    const MemberIndex m = share.set.ChooseReader(share.set.in(), random_.Bits());
    share.set.OnReadSent(m);
    share.members[m]->engine.Fetch(ref, number, now);
    Poll({.kind = Kind::kPoll, .who = index, .member = m}, now);
  }

  void Ask(std::uint32_t number, const Need& need, KeyRef ref, TimePoint now) {
    const std::uint32_t index = clients_[number].share;
    RangeShare& share = *shares_[index];
    // A client has one request at a time.
    const ReplyId id = ++asked_ * clients_.size() + number;
    const MemberMask members = share.set.Ask(id, need);
    ForEachMember(members, [&](MemberIndex m) {
      share.members[m]->engine.SafeReply({&ref, 1}, id, now);
    });
    ForEachMember(members, [&](MemberIndex m) {
      Poll({.kind = Kind::kPoll, .who = index, .member = m}, now);
    });
  }

  // --- Batches ----------------------------------------------------------------------------------

  void Poll(const Event& at, TimePoint now) {
    RangeShare& share = *shares_[at.who];
    RangeShare::Member& member = *share.members[at.member];
    member.due = member.engine.Poll(now, share);
    if (member.due < end_)
      agenda_.Push(member.due, {.kind = Kind::kPoll, .who = at.who, .member = at.member});
    Effects& effects = member.effects;
    member.engine.TakeEffects(effects);
    for (WriteBatch& batch : effects.writes) {
      const std::size_t items = batch.items.size();
      Send(at, {.read = false, .writes = std::move(batch), .reads = {}}, items, now);
    }
    for (ReadBatch& batch : effects.reads) {
      const std::size_t items = batch.keys.size();
      Send(at, {.read = true, .writes = {}, .reads = std::move(batch)}, items, now);
    }
    for (const FetchDone& done : effects.fetched) {
      share.set.OnReadAnswered(at.member);
      Complete(done.id, now);
    }
    for (const RunReply& reply : effects.replies)
      share.set.OnReply(reply.id, at.member, reply.errc);
    for (const RunReply& reply : share.set.TakeReplies()) Complete(reply.id, now);
  }

  void Send(const Event& at, DataletCall call, std::size_t items, TimePoint now) {
    const RangeShare& share = *shares_[at.who];
    ++batches_;
    items_ += items;
    const auto work = spec_.batch_us + static_cast<double>(items) * spec_.item_us;
    const TimePoint leaves = nodes_[share.node].Serve(work, now);
    const auto id = calls_.Take();
    calls_[id] = std::move(call);
    agenda_.Push(Over(share.node, share.members[at.member]->datalet, leaves),
                 {.kind = Kind::kCall, .who = at.who, .member = at.member, .call = id});
  }

  void Serve(const Event& event, TimePoint now) {
    const RangeShare& share = *shares_[event.who];
    const std::uint32_t datalet = share.members[event.member]->datalet;
    const DataletCall& call = calls_[event.call];
    const std::size_t items = call.read ? call.reads.keys.size() : call.writes.items.size();
    const auto work = spec_.datalet_batch_us + static_cast<double>(items) * spec_.datalet_item_us;
    const TimePoint done = datalets_[datalet].Serve(work, now);
    agenda_.Push(
        Over(datalet, share.node, done),
        {.kind = Kind::kAnswer, .who = event.who, .member = event.member, .call = event.call});
  }

  void Answer(const Event& event, TimePoint now) {
    DataletCall call = std::move(calls_[event.call]);
    calls_.Give(event.call);
    Engine& engine = shares_[event.who]->members[event.member]->engine;
    if (call.read) {
      ReadResult result;
      result.states.resize(call.reads.keys.size(), {.found = true, .value = {}, .stamp = {1, 1}});
      engine.ReadDone(call.reads.lane, call.reads.id, std::move(result), now);
    } else {
      engine.WriteDone(call.writes.lane, call.writes.id, {}, now);
      engine.Recycle(std::move(call.writes));
    }
    Poll(event, now);
  }

  [[nodiscard]] ModesResult Result() const {
    const double seconds = ToSeconds(end_ - warm_);
    const auto answered = std::max(1.0, static_cast<double>(latencies_.count()));
    const auto sum_us = [](const std::vector<OneAtATime>& all) {
      double sum = 0;
      for (const OneAtATime& each : all) sum += ToSeconds(each.busy()) * 1e6;
      return sum;
    };
    const auto busiest = [&](const std::vector<OneAtATime>& all) {
      Duration most{};
      for (const OneAtATime& each : all) most = std::max(most, each.busy());
      return std::min(1.0, ToSeconds(most) / seconds);
    };
    return {.requests_per_s = static_cast<double>(latencies_.count()) / seconds,
            .latency_ms = latencies_.Summary(),
            .batches_per_request = static_cast<double>(batches_) / answered,
            .items_per_batch =
                batches_ == 0 ? 0 : static_cast<double>(items_) / static_cast<double>(batches_),
            .node_us = sum_us(nodes_) / answered,
            .datalet_us = sum_us(datalets_) / answered,
            .busiest_node = busiest(nodes_),
            .busiest_datalet = busiest(datalets_),
            .digest = digest_.value()};
  }

  const ModesSpec& spec_;
  const std::atomic<bool>* const stop_;
  Random random_;
  const Duration half_rtt_;
  const TimePoint warm_, end_;
  EventQueue<Event> agenda_;
  std::vector<OneAtATime> nodes_, datalets_;
  std::vector<ClosedClient> clients_;
  std::vector<std::unique_ptr<RangeShare>> shares_;
  Pool<DataletCall> calls_;
  std::uint64_t asked_ = 0;
  std::uint64_t batches_ = 0, items_ = 0;  // after the warm-up
  LatencyHistogram latencies_;
  Digest digest_;
};

}  // namespace
}  // namespace internal

std::shared_ptr<const internal::AliasTable> ZipfKeys(std::uint64_t keys, double exponent) {
  if (exponent == 0) return nullptr;
  std::vector<double> weights(keys);
  for (std::size_t rank = 0; rank < weights.size(); ++rank)
    weights[rank] = std::pow(static_cast<double>(rank + 1), -exponent);
  return std::make_shared<internal::AliasTable>(weights);
}

ModesResult SimulateModes(const ModesSpec& spec, const std::atomic<bool>* stop) {
  return internal::ModesWorld(spec, stop).Execute();
}

}  // namespace stout::sim
