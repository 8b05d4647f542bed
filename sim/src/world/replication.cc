#include "stout/sim/replication.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/effects.h"
#include "stout/core/engine.h"
#include "stout/core/pool.h"
#include "stout/core/state_source.h"
#include "stout/sim/digest.h"
#include "stout/sim/event_queue.h"
#include "stout/sim/random.h"
#include "world/event.h"
#include "world/flight.h"
#include "world/key_space.h"
#include "world/latency_histogram.h"
#include "world/links.h"
#include "world/service.h"
#include "world/setup.h"
#include "world/store.h"
#include "world/units.h"

namespace stout::sim {
namespace internal {
namespace {

using Number = std::uint32_t;  // of a request that is not complete
using Versions = std::vector<std::uint64_t>;

std::uint64_t NumberOf(std::string_view bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// The network gives the delays, so the store adds none.
StoreSpec WithoutNetwork(StoreSpec spec) {
  spec.rtt_us = spec.jitter_us = 0;
  return spec;
}

/// A store and the engine before it.
class Member final : private StateSource {
 public:
  Member(const ReplicationSpec& spec, const Policy& policy, Random random)
      : newest(spec.keys),
        applied(spec.keys),
        engine(OptionsOf(Limits(), policy, random.Bits()), 1, 1) {
    const Random noise = random.Fork();
    const Random slow = random.Fork();
    const Service service(spec.store, kStart, kStart + Seconds(spec.duration_s), noise, slow);
    store = MakeStore(WithoutNetwork(spec.store), service, flights, agenda, random.Fork());
  }

  TimePoint Poll(TimePoint now) { return engine.Poll(now, *this); }

  Versions newest;   // at the engine
  Versions applied;  // at the store
  Agenda agenda;     // the store's
  FlightPool flights;
  std::unique_ptr<Store> store;
  Engine engine;
  Effects effects;
  TimePoint due = kNever;         // of the next poll on the world's agenda
  TimePoint read_until = kStart;  // the end of all reads that it has
  std::uint32_t reads = 0;        // that the owner waits for

 private:
  static ClientSpec Limits() {
    ClientSpec limits;
    limits.max_dirty_keys = std::numeric_limits<std::int32_t>::max();
    return limits;
  }
  Serialized Serialize(KeyView key, std::string& out) noexcept override {
    const std::uint64_t version = newest[NumberOf(key)];
    out.assign(reinterpret_cast<const char*>(&version), sizeof version);
    return Serialized::kValue;
  }
};

struct Request {
  bool is_read = false;
  std::uint64_t key = 0;
  std::uint64_t version = 0;
  std::uint32_t waits_for = 0;  // members
  TimePoint sent{};
};

class ReplicatedWorld {
 public:
  ReplicatedWorld(const ReplicationSpec& spec, const Policy& policy, const ReplicationWatch& watch,
                  const std::atomic<bool>* stop)
      : spec_(spec),
        watch_(watch),
        stop_(stop),
        random_(spec.seed),
        links_(spec.store, random_.Fork()),
        half_rtt_(Microseconds(spec.store.rtt_us / 2)),
        warm_(kStart + Seconds(spec.warmup_s)),
        end_(kStart + Seconds(spec.duration_s)) {
    for (std::uint32_t i = 0; i < spec.members; ++i) {
      members_.push_back(std::make_unique<Member>(spec, policy, random_.Fork()));
    }
  }

  ReplicationResult Execute() {
    // More requests than arrive in this time never wait, unless the members cannot keep up.
    const double most_waiting = std::max(1000.0, spec_.rate_per_s * spec_.duration_s / 4);
    Plan();
    bool keeps_up = true;
    while (keeps_up && !stopped() && Step())
      keeps_up = static_cast<double>(waiting_) <= most_waiting;
    ReplicationResult result;
    result.write_latency_ms = writes_.Summary();
    result.read_latency_ms = reads_.Summary();
    result.completed_per_s = static_cast<double>(completed_) / ToSeconds(end_ - warm_);
    result.sent_per_write =
        written_ == 0 ? 0 : static_cast<double>(sent_) / static_cast<double>(written_);
    // The offered and completed requests differ by those on their way, whose number is a matter of
    // chance.
    const auto offered = static_cast<double>(offered_);
    const auto completed = static_cast<double>(completed_);
    result.stable = keeps_up && completed + 2 * std::sqrt(offered) >= 0.95 * offered;
    result.digest = digest_.value();
    return result;
  }

 private:
  struct Message {
    enum class Kind { kRequest, kForward, kBatch, kAnswer, kPoll, kRead, kReadDone, kReadBack };
    Kind kind;
    std::uint32_t member = 0;
    std::uint32_t what = 0;        // a request or a flight
    std::vector<Number> requests;  // kForward
  };
  using Kind = Message::Kind;

  [[nodiscard]] bool IsChain() const { return spec_.design == ReplicationSpec::Design::kChain; }
  [[nodiscard]] std::uint32_t last() const { return spec_.members - 1; }
  [[nodiscard]] bool stopped() const { return stop_ != nullptr && *stop_; }

  /// Arrival of what one node sends now to another.
  TimePoint Over(std::uint32_t from, std::uint32_t to, TimePoint now) {
    return from == to ? now : links_.Arrival(from * spec_.members + to, now);
  }

  /// The earliest event of all agendas. Stores go first, in order; returns false at the end.
  bool Step() {
    Member* first = nullptr;
    std::uint32_t index = 0;
    TimePoint at = agenda_.next();
    for (std::uint32_t i = 0; i < spec_.members; ++i) {
      Member& member = *members_[i];
      if (member.agenda.next() > at || (first != nullptr && member.agenda.next() == at)) continue;
      if (member.agenda.empty()) continue;
      at = member.agenda.next();
      first = &member;
      index = i;
    }
    if (at >= end_) return false;
    if (first == nullptr) {
      Handle(agenda_.Pop());
    } else {
      OfStore(*first, index, first->agenda.Pop(), at);
    }
    return true;
  }

  void OfStore(Member& member, std::uint32_t index, Event event, TimePoint now) {
    if (event.kind == Event::Kind::kServed) return member.store->Served(event.index, now);
    if (event.kind == Event::Kind::kTenant) return member.store->TenantArrives(event.index, now);
    for (const WriteItem& item : member.flights[event.index].batch.items) {
      const std::uint64_t key = NumberOf(item.key);
      member.applied[key] = std::max(member.applied[key], NumberOf(item.value));
      Tell(ReplicationEvent::Kind::kApplied, index, 0, key, member.applied[key]);
    }
    const TimePoint back = IsChain() ? now : Over(index, 0, now);
    agenda_.Push(back, {Kind::kAnswer, index, event.index, {}});
  }

  void Handle(Message message) {
    const TimePoint now = agenda_.now();
    digest_.Mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    digest_.Mix(static_cast<std::uint64_t>(message.kind) << 32 | message.member);
    switch (message.kind) {
      case Kind::kRequest:
        Take(message.what, now);
        return Plan();
      case Kind::kForward:
        return Mark(message.member, message.requests, now);
      case Kind::kBatch:
        return members_[message.member]->store->Arrive(static_cast<FlightId>(message.what), now);
      case Kind::kAnswer:
        return Answer(message.member, static_cast<FlightId>(message.what), now);
      case Kind::kPoll:
        if (members_[message.member]->due == now) Poll(message.member, now);
        return;
      case Kind::kRead:
        return Read(message.member, message.what, now);
      case Kind::kReadDone:
        return ReadDone(message.member, message.what, now);
      case Kind::kReadBack:
        --members_[message.member]->reads;
        return Reveal(message.what, now);
    }
  }

  // --- Requests ---

  void Plan() {
    arrival_ += Nanoseconds(kNsPerS / spec_.rate_per_s * random_.Exponential());
    const bool is_read = random_.Unit() < spec_.read_fraction;
    const Number number = requests_.Take();
    requests_[number] = {.is_read = is_read, .key = random_.Below(spec_.keys), .sent = arrival_};
    agenda_.Push(arrival_ + half_rtt_, {Kind::kRequest, 0, number, {}});
  }

  void Take(Number number, TimePoint now) {
    Request& request = requests_[number];
    ++waiting_;
    if (now >= warm_) ++offered_;
    if (request.is_read) return TakeRead(number, now);
    request.version = ++version_;
    request.waits_for = spec_.members;
    const std::vector<Number> one{number};
    for (std::uint32_t i = 0; i < (IsChain() ? 1 : spec_.members); ++i) Mark(i, one, now);
  }

  void TakeRead(Number number, TimePoint now) {
    const Request& request = requests_[number];
    Tell(ReplicationEvent::Kind::kReadBegins, 0, number, request.key, 0);
    if (IsChain()) return Read(last(), number, now);
    if (AwaitMembers(number, now)) return;
    const auto fewer = [](const auto& a, const auto& b) { return a->reads < b->reads; };
    const auto shortest = std::min_element(members_.begin(), members_.end(), fewer);
    const auto member = static_cast<std::uint32_t>(shortest - members_.begin());
    ++members_[member]->reads;
    agenda_.Push(Over(0, member, now), {Kind::kRead, member, number, {}});
  }

  /// Lets a read of the owner's memory wait until all members have the key's newest state. Returns
  /// false if they have.
  bool AwaitMembers(Number number, TimePoint now) {
    Request& request = requests_[number];
    const Key key(request.key);
    const KeyRef ref{.lane = 0, .key = key.view()};
    request.waits_for = 0;
    for (const auto& member : members_) {
      if (!member->engine.IsDirty(ref)) continue;
      ++request.waits_for;
      member->engine.SafeReply({&ref, 1}, number, now);
    }
    request.version = members_[0]->newest[request.key];
    return request.waits_for > 0;
  }

  void Read(std::uint32_t member, Number number, TimePoint now) {
    TimePoint& until = members_[member]->read_until;
    until = std::max(until, now) + Microseconds(spec_.read_us);
    agenda_.Push(until, {Kind::kReadDone, member, number, {}});
  }

  void ReadDone(std::uint32_t member, Number number, TimePoint now) {
    Request& request = requests_[number];
    request.version = members_[member]->applied[request.key];
    if (IsChain()) return Complete(number, now);
    agenda_.Push(Over(member, 0, now), {Kind::kReadBack, member, number, {}});
  }

  /// The owner has a member's state, which may be newer than that of other members.
  void Reveal(Number number, TimePoint now) {
    const Request& request = requests_[number];
    const bool all_have = std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
      return member->applied[request.key] >= request.version;
    });
    if (all_have || !AwaitMembers(number, now)) Complete(number, now);
  }

  void Complete(Number number, TimePoint now) {
    const Request request = requests_[number];
    requests_.Give(number);
    --waiting_;
    Tell(request.is_read ? ReplicationEvent::Kind::kRead : ReplicationEvent::Kind::kWritten, 0,
         number, request.key, request.version);
    if (now >= warm_) {
      ++completed_;
      written_ += request.is_read ? 0 : 1;
    }
    if (request.sent < warm_) return;
    (request.is_read ? reads_ : writes_).Record(now + half_rtt_ - request.sent);
  }

  // --- Writes at a member ---

  void Mark(std::uint32_t index, const std::vector<Number>& requests, TimePoint now) {
    Member& member = *members_[index];
    for (const Number number : requests) {
      const Request& request = requests_[number];
      const Key key(request.key);
      const KeyRef ref{.lane = 0, .key = key.view()};
      member.newest[request.key] = std::max(member.newest[request.key], request.version);
      member.engine.MarkDirty(ref, 0, now);
      member.engine.SafeReply({&ref, 1}, number, now);
    }
    Poll(index, now);
  }

  void Answer(std::uint32_t index, FlightId id, TimePoint now) {
    Member& member = *members_[index];
    WriteBatch batch = std::move(member.flights[id].batch);
    member.flights.Give(id);
    member.engine.WriteDone(batch.lane, batch.id, {}, now);
    member.engine.Recycle(std::move(batch));
    Poll(index, now);
  }

  void Poll(std::uint32_t index, TimePoint now) {
    Member& member = *members_[index];
    const TimePoint due = member.Poll(now);
    member.due = due;
    if (due < end_) agenda_.Push(due, {Kind::kPoll, index, 0, {}});
    member.engine.TakeEffects(member.effects);
    for (WriteBatch& batch : member.effects.writes) Send(index, std::move(batch), now);
    std::vector<Number> done;
    for (const RunReply& reply : member.effects.replies) {
      done.push_back(static_cast<Number>(reply.id));
    }
    if (IsChain() && index < last()) {
      if (done.empty()) return;
      agenda_.Push(Over(index, index + 1, now), {Kind::kForward, index + 1, 0, std::move(done)});
      return;
    }
    for (const Number number : done) {
      if (IsChain() || --requests_[number].waits_for == 0) Complete(number, now);
    }
  }

  void Send(std::uint32_t index, WriteBatch batch, TimePoint now) {
    Member& member = *members_[index];
    // The head forwards what it has written itself.
    const bool leaves_owner = IsChain() ? index == 0 && last() > 0 : index > 0;
    if (leaves_owner && now >= warm_) sent_ += batch.items.size();
    const FlightId id = member.flights.Take();
    Flight& flight = member.flights[id];
    flight.batch = std::move(batch);
    flight.parts = flight.parts_left = 1;
    flight.dropped.clear();
    agenda_.Push(IsChain() ? now : Over(0, index, now), {Kind::kBatch, index, id, {}});
  }

  void Tell(ReplicationEvent::Kind kind, std::uint32_t member, Number request, std::uint64_t key,
            std::uint64_t version) const {
    if (watch_) watch_({kind, member, request, key, version});
  }

  const ReplicationSpec& spec_;
  const ReplicationWatch& watch_;
  const std::atomic<bool>* const stop_;
  Random random_;
  Links links_;
  const Duration half_rtt_;
  const TimePoint warm_, end_;
  EventQueue<Message> agenda_;
  std::vector<std::unique_ptr<Member>> members_;
  Pool<Request> requests_;
  TimePoint arrival_ = kStart;
  std::uint64_t version_ = 0;
  std::uint64_t waiting_ = 0;
  std::uint64_t offered_ = 0, completed_ = 0, written_ = 0, sent_ = 0;  // after the warm-up
  LatencyHistogram writes_, reads_;
  Digest digest_;
};

}  // namespace
}  // namespace internal

ReplicationResult SimulateReplication(const ReplicationSpec& spec, const Policy& policy,
                                      const ReplicationWatch& watch,
                                      const std::atomic<bool>* stop) {
  return internal::ReplicatedWorld(spec, policy, watch, stop).Execute();
}

}  // namespace stout::sim
