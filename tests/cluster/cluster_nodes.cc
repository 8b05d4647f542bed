// The network, the clocks and the leases of a ClusterWorld.
#include <algorithm>
#include <memory>
#include <utility>

#include "tests/cluster/cluster_world.h"

namespace stout::sim {

using namespace std::chrono_literals;

// --- The network ---------------------------------------------------------------------------------

Duration ClusterWorld::Latency() {
  const Duration usual = random_.Between(options_.min_latency, options_.max_latency);
  if (!random_.Chance(options_.faults.late)) return usual;
  return random_.Between(usual, 2 * options_.ttl + 2 * options_.keeper.member_timeout);
}

void ClusterWorld::Deliver(std::uint32_t id, std::uint64_t boot, std::function<void()> what) {
  const Node& node = nodes_[id];
  if (!node.up || node.boot != boot || verdict_.failed()) return;
  if (node.paused_until <= now()) return what();
  agenda_.Push(node.paused_until, [this, id, boot, what = std::move(what)]() mutable {
    Deliver(id, boot, std::move(what));
  });
}

void ClusterWorld::SendAnswer(std::uint32_t node, std::uint64_t boot, const Answer& answer) {
  if (random_.Chance(options_.faults.lose)) return;
  const int times = random_.Chance(options_.faults.twice) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    agenda_.Push(now() + Latency(), [this, node, boot, answer] { Deliver(node, boot, answer); });
  }
}

void ClusterWorld::Call(std::uint32_t node, std::size_t m, AtDatalet request, Answer refused) {
  if (nodes_[node].cut_until[m] > now() || random_.Chance(options_.faults.lose)) return;
  const std::uint64_t boot = nodes_[node].boot;
  const int times = random_.Chance(options_.faults.twice) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const TimePoint at = std::max(now() + Latency(), datalets_[m].slow_until);
    agenda_.Push(at, [this, node, boot, m, request, refused] {
      if (!datalets_[m].up) {
        if (random_.Chance(500)) SendAnswer(node, boot, refused);
        return;
      }
      datalets_[m].now = now();
      const Answer answer = request(datalets_[m]);
      if (nodes_[node].cut_until[m] <= now()) SendAnswer(node, boot, answer);
    });
  }
}

void ClusterWorld::CallRegistry(std::uint32_t node, AtRegistry request) {
  // A store that comes back empty while its owner waits for a transaction.
  const std::uint64_t empty = options_.faults.empty_datalet;
  if (empty > 0 && random_.Chance(5 * empty)) Empty(random_.Below(options_.datalets));
  if (random_.Chance(options_.faults.lose)) return;
  const int times = random_.Chance(options_.faults.twice) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    agenda_.Push(now() + Latency(), [this, node, boot = nodes_[node].boot, request] {
      const RangeRecord before = registry_.record();
      const Answer answer = request(registry_, now());
      if (!(registry_.record() == before)) {
        OnRecord(before);
        TellRecord();
      }
      SendAnswer(node, boot, answer);
    });
  }
}

void ClusterWorld::After(std::uint32_t node, Duration delay, std::function<void()> timer) {
  const auto real = Duration(
      static_cast<Duration::rep>(static_cast<double>(delay.count()) / (1 + nodes_[node].drift)));
  agenda_.Push(now() + real + Duration(1),
               [this, node, boot = nodes_[node].boot, timer = std::move(timer)] {
                 Deliver(node, boot, timer);
               });
}

// --- Nodes and leases ----------------------------------------------------------------------------

TimePoint ClusterWorld::Now(std::uint32_t node) const {
  const auto elapsed = static_cast<double>(now().time_since_epoch().count());
  const auto ahead = static_cast<Duration::rep>(elapsed * nodes_[node].drift);
  constexpr Duration kStart = std::chrono::hours(500'000);  // versions of shared ranges are times
  return now() + nodes_[node].offset + kStart + Duration(ahead);
}

// Until faults stop.
bool ClusterWorld::Lies() const {
  const Mistake mistake = options_.mistake;
  return !healed_ && (mistake == Mistake::kNoFence || mistake == Mistake::kOwnsNeverChecked);
}

bool ClusterWorld::Owns(std::uint32_t node) const { return Now(node) < nodes_[node].valid_until; }

void ClusterWorld::TickNode(std::uint32_t id) {
  Node& node = nodes_[id];
  ReserveVersions(id, false);
  FollowSharing(id);
  if (node.owner) {
    if (!Lies() && !Owns(id)) {
      EndOwner(id);
    } else if (Now(id) >= node.renew_at) {
      Renew(id);
    }
  } else if (random_.Chance(500)) {
    Acquire(id);
  }
  After(id, options_.ttl / 8, [this, id] { TickNode(id); });
}

void ClusterWorld::Acquire(std::uint32_t id) {
  const TimePoint valid = Now(id) + options_.ttl - options_.ttl / 20;
  CallRegistry(id, [this, id, valid](RegistryModel& registry, TimePoint at) -> Answer {
    const auto lease = registry.Acquire(at, options_.ttl);
    return [this, id, valid, lease] {
      if (!lease || nodes_[id].owner || Now(id) >= valid) return;
      trace_.Add(now(), "owner", id, lease->epoch);
      ++counts_.owners;
      newest_epoch_ = std::max(newest_epoch_, lease->epoch);
      nodes_[id].valid_until = valid;
      nodes_[id].renew_at = Now(id) + options_.ttl / 3;
      nodes_[id].owner = std::make_shared<Owner>(options_, static_cast<OwnerWorld&>(*this), id,
                                                 lease->epoch, lease->record);
      const Epoch shared = lease->record.value.shared;
      if (shared != 0) trace_.Add(now(), "merges", shared);
      nodes_[id].session = lease->session;
      nodes_[id].owner->Start(wanted_, lazy_, want_mode_);
    };
  });
}

void ClusterWorld::Renew(std::uint32_t id) {
  const Epoch epoch = nodes_[id].owner->lease();
  const TimePoint valid = Now(id) + options_.ttl - options_.ttl / 20;
  nodes_[id].renew_at = Now(id) + options_.ttl / 3;
  const SessionId session = nodes_[id].session;
  CallRegistry(id, [=, this](RegistryModel& registry, TimePoint at) -> Answer {
    const Errc errc = registry.Renew(session, at);
    return [this, id, epoch, valid, errc] {
      Node& node = nodes_[id];
      if (!node.owner || node.owner->lease() != epoch) return;
      if (errc == Errc::kOk && Owns(id)) {
        node.valid_until = std::max(node.valid_until, valid);
      } else if (!Lies()) {
        EndOwner(id);
      }
    };
  });
}

void ClusterWorld::EndOwner(std::uint32_t id) {
  if (const auto owner = std::exchange(nodes_[id].owner, nullptr)) {
    trace_.Add(now(), "owner ends", id, owner->lease());
    owner->Stop();
  }
}

/// Versions that a node reserves are in the coordinator, and last for longer than it is away. After
/// a restart they begin behind those of its former life.
void ClusterWorld::ReserveVersions(std::uint32_t id, bool restarts) {
  constexpr std::uint64_t kAhead = 5'000'000;
  const bool forgets = options_.mistake == Mistake::kClockGoesBack;
  if (restarts) {
    nodes_[id].clock = {};
    if (options_.shared) {
      if (nodes_[id].boot > 0) widest_ = std::max(widest_, nodes_[id].offset);
      nodes_[id].offset -= random_.Between(0ms, forgets ? 300ms : nodes_[id].offset);
    }
  }
  const std::uint64_t newest = std::max(HybridClock::MicrosOf(Now(id)), nodes_[id].clock.newest());
  if (!restarts && reserved_[id] >= newest + kAhead / 2) return;
  const std::uint64_t from = restarts && !forgets ? reserved_[id] : 0;
  const std::uint64_t until = std::max(newest, from) + kAhead;
  const std::uint32_t number = options_.mistake == Mistake::kNoNumber ? 0 : id;
  nodes_[id].clock.Reserve({number, from, until});
  reserved_[id] = std::max(reserved_[id], until);
}

/// A node writes as long as the record, as it was told, names a shared epoch.
void ClusterWorld::FollowSharing(std::uint32_t id) {
  Node& node = nodes_[id];
  if (node.writer && node.writer->epoch() != node.seen.shared) EndWriter(id);
  if (node.writer || node.seen.shared == 0 || !node.up || node.paused_until > now()) return;
  trace_.Add(now(), "writer", id, node.seen.shared);
  node.writer =
      std::make_shared<Owner>(options_, static_cast<OwnerWorld&>(*this), id, 0,
                              Recorded<RangeRecord>{node.seen, node.seen_revision}, &node.clock);
  node.writer->Start({}, {}, Mode::kAaEc);
}

void ClusterWorld::EndWriter(std::uint32_t id) {
  if (const auto writer = std::exchange(nodes_[id].writer, nullptr)) writer->Stop();
}

void ClusterWorld::OnGivenUp(std::uint32_t id, Epoch lease) {
  if (lease == 0) {  // fenced out
    trace_.Add(now(), "writer ends", id);
    nodes_[id].seen.shared = 0;
    return EndWriter(id);
  }
  if (!nodes_[id].owner || nodes_[id].owner->lease() != lease) return;
  EndOwner(id);
  CallRegistry(id, [session = nodes_[id].session](RegistryModel& registry, TimePoint at) -> Answer {
    registry.Release(session, at);
    return [] {};
  });
}

void ClusterWorld::Crash(std::uint32_t id) {
  Node& node = nodes_[id];
  if (!node.up) return;
  const TimePoint end = Disturb("node crash", random_.Between(1ms, 300ms), id);
  EndOwner(id);
  EndWriter(id);
  node.up = false;
  ++node.boot;
  agenda_.Push(end, [this, id] {
    nodes_[id].up = true;
    ReserveVersions(id, true);
    TickNode(id);
  });
}

}  // namespace stout::sim
