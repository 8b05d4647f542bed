// The faults of a ClusterWorld, and the changes that its operators make.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/cluster/cluster_world.h"

namespace stout::sim {

using namespace std::chrono_literals;

void ClusterWorld::Trouble() {
  const ClusterFaults& faults = options_.faults;
  const auto node = static_cast<std::uint32_t>(random_.Below(options_.nodes));
  if (Forgets()) {  // the owner may fail, but no other member
    if (random_.Chance(faults.crash_node)) Crash(node);
    return;
  }
  const std::size_t m = random_.Below(options_.datalets);
  if (random_.Chance(faults.pause_node)) {
    nodes_[node].paused_until =
        Disturb("pause", random_.Between(options_.ttl / 8, options_.ttl * 3), node);
  }
  if (random_.Chance(faults.crash_node)) Crash(node);
  if (random_.Chance(faults.crash_datalet) && datalets_[m].up) {
    datalets_[m].up = false;
    const bool long_away = IsLazy(m) || (options_.shared && random_.Chance(300));
    const Duration longest = long_away ? 3s : 300ms;
    agenda_.Push(Disturb("datalet crash", random_.Between(1ms, longest), m),
                 [this, m] { datalets_[m].up = true; });
  }
  if (random_.Chance(faults.cut_link)) {
    nodes_[node].cut_until[m] = Disturb("cut", random_.Between(1ms, 200ms), node, m);
  }
  if (faults.split > 0 && random_.Chance(faults.split)) Split();
  if (random_.Chance(faults.slow_datalet)) {
    datalets_[m].slow_until = Disturb("slow", random_.Between(1ms, 150ms), m);
  }
  if (random_.Chance(faults.full_datalet) && !datalets_[m].full) {
    datalets_[m].full = true;
    agenda_.Push(Disturb("datalet full", random_.Between(1ms, 300ms), m),
                 [this, m] { datalets_[m].full = false; });
  }
  const std::uint64_t save = options_.mistake == Mistake::kMergeUnproved ? 3 : 100;
  if (!options_.durable && random_.Chance(save)) datalets_[m].Save();
  if (random_.Chance(faults.expire)) {
    options_.strong ? datalets_[m].Expire(registry_.record().swept)
                    : datalets_[m].Expire(now() - options_.keeper.tombstone_ttl);
  }
  if (random_.Chance(faults.change_mode)) ChangeMode();
  if (random_.Chance(faults.change_wanted)) ChangeWanted();
  if (random_.Chance(faults.empty_datalet)) Empty(m);
}

/// Nodes are cut apart: each reaches one datalet.
void ClusterWorld::Split() {
  const TimePoint end = Disturb("split", random_.Between(1ms, 1s), options_.nodes);
  for (std::uint32_t node = 0; node < options_.nodes; ++node) {
    for (std::size_t m = 0; m < options_.datalets; ++m) {
      TimePoint& cut = nodes_[node].cut_until[m];
      if (m != node % options_.datalets) cut = std::max(cut, end);
    }
  }
}

/// Returns the end of the fault.
TimePoint ClusterWorld::Disturb(const char* what, Duration time, std::uint64_t a, std::uint64_t b) {
  trace_.Add(now(), what, a, b, static_cast<std::uint64_t>(time.count()));
  // By then each member has left or has answered.
  const Duration after =
      6 * options_.keeper.member_timeout + 4 * options_.engine.lane.attempt_timeout;
  disturbed_until_ = std::max(disturbed_until_, now() + time + after);
  return now() + time;
}

/// A member that is in came back without all data, and its owner has not dropped it yet. Another
/// failure now could be one too many.
bool ClusterWorld::Forgets() const {
  for (const RangeRecord::Member& member : registry_.record().members) {
    if (member.in && !datalets_[DataletOf(member.datalet)].Has(member)) return true;
  }
  return false;
}

void ClusterWorld::Empty(std::size_t m) {
  const std::vector<std::size_t> in = In();
  if (now() <= disturbed_until_ || Forgets() || (in.size() == 1 && in[0] == m)) return;
  for (const std::size_t other : in) {  // none may leave meanwhile
    if (std::find(wanted_.begin(), wanted_.end(), DataletName(other)) == wanted_.end()) return;
  }
  if (options_.durable || random_.Chance(300)) {
    trace_.Add(now(), "datalet empty", m);
    datalets_[m].Empty();
  } else {
    trace_.Add(now(), "datalet older", m);
    datalets_[m].Rewind();
  }
  apart_.erase(m);
  if (options_.shared) {
    std::erase_if(owed_, [this](std::size_t write) { return !IsKept(write); });
  }
  // Often nobody sees the loss.
  if (random_.Chance(300)) {
    for (std::uint32_t node = 0; node < options_.nodes; ++node) Crash(node);
  }
}

void ClusterWorld::ChangeMode() {
  if (!options_.shared) {
    want_mode_ = want_mode_ == Mode::kMsSc ? Mode::kMsEc : Mode::kMsSc;
  } else if (want_mode_ != Mode::kAaEc) {
    want_mode_ = Mode::kAaEc;
  } else {
    want_mode_ = random_.Chance(500) ? Mode::kMsSc : Mode::kMsEc;
  }
  trace_.Add(now(), "mode", static_cast<std::uint64_t>(want_mode_));
  for (Node& node : nodes_) {
    if (node.owner) node.owner->WantMode(want_mode_);
  }
}

/// One datalet joins, or leaves, or takes the place of another.
void ClusterWorld::ChangeWanted() {
  const std::size_t datalet_id = random_.Below(options_.datalets - lazy_.size());
  if (options_.place) {
    Place(datalet_id);
  } else {
    Replace(datalet_id);
  }
  (void)Disturb("wanted", Duration(), datalet_id, wanted_.size());
  for (Node& node : nodes_) {
    if (node.owner) node.owner->Want(wanted_);
  }
}

void ClusterWorld::Replace(std::size_t datalet_id) {
  const std::string datalet = DataletName(datalet_id);
  const bool may_shrink = wanted_.size() > options_.set.min_in;
  const auto found = std::find(wanted_.begin(), wanted_.end(), datalet);
  if (found == wanted_.end()) {
    if (random_.Chance(700)) {
      wanted_.erase(wanted_.begin() + static_cast<std::ptrdiff_t>(random_.Below(wanted_.size())));
    }
    wanted_.push_back(datalet);
  } else if (may_shrink) {
    wanted_.erase(found);
  }
}

void ClusterWorld::Place(std::size_t datalet_id) {
  const std::string datalet = DataletName(datalet_id);
  if (!live_.contains(datalet)) {
    live_.try_emplace(datalet);
  } else if (live_.size() > options_.replicas) {
    live_.erase(datalet);
  }
  wanted_ = options_.place(0, live_, options_.replicas);
}

}  // namespace stout::sim
