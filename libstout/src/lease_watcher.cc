#include "stout/lease_watcher.h"

#include <mutex>
#include <utility>

namespace stout::inline v1 {

struct LeaseWatcher::State {
  std::mutex mutex;
  Table table = std::make_shared<LeaseTable>();

  std::mutex calling;  // held while on_change runs
  OnChange on_change;
};

LeaseWatcher::LeaseWatcher(LeaseService& service, OnChange on_change)
    : state_(std::make_shared<State>()) {
  state_->on_change = std::move(on_change);
  watch_ = service.WatchTable([weak = std::weak_ptr(state_)](LeaseTable table) {
    const std::shared_ptr<State> state = weak.lock();
    if (state == nullptr) return;
    const Table newest = std::make_shared<const LeaseTable>(std::move(table));
    {
      const std::lock_guard lock(state->mutex);
      state->table = newest;
    }
    const std::lock_guard calling(state->calling);
    if (state->on_change) state->on_change(newest);
  });
}

LeaseWatcher::~LeaseWatcher() {
  OnChange on_change;  // its captures are destroyed without the lock
  const std::lock_guard calling(state_->calling);
  on_change = std::exchange(state_->on_change, {});
}

LeaseWatcher::Table LeaseWatcher::table() const {
  const std::lock_guard lock(state_->mutex);
  return state_->table;
}

std::optional<std::string> LeaseWatcher::OwnerOf(RangeId range) const {
  const Table known = table();
  if (range >= known->ranges.size() || !known->ranges[range]) return std::nullopt;
  return known->ranges[range]->address;
}

std::optional<std::string> LeaseWatcher::OwnerOf(std::string_view name) const {
  const Table known = table();
  if (known->ranges.empty() || !IsHashPartition(known->partition)) return std::nullopt;
  const std::optional<Lease>& lease =
      known->ranges[RangeOf(name, static_cast<RangeId>(known->ranges.size()))];
  return lease ? std::optional(lease->address) : std::nullopt;
}

}  // namespace stout::inline v1
