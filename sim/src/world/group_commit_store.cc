#include "world/group_commit_store.h"

#include <utility>

#include "world/units.h"

namespace stout::sim::internal {

GroupCommitStore::GroupCommitStore(const StoreSpec& spec, Service service, FlightPool& flights,
                                   Agenda& agenda, Random tenants)
    : Store(spec, 1, 1, service, flights, agenda, tenants),
      sync_ns_(spec.sync_us * kNsPerUs),
      queue_limit_(spec.queue_limit) {}

void GroupCommitStore::Arrive(FlightId id, TimePoint now) {
  const auto items = static_cast<std::uint32_t>(flights_[id].batch.items.size());
  if (!Offer({id, items}, now)) PartDropped(id, 0, now);
}

bool GroupCommitStore::Offer(Job job, TimePoint now) {
  if (queue_limit_ > 0 && waiting_.size() >= queue_limit_) return false;
  waiting_.push_back(job);
  if (committing_.empty()) Commit(now);
  return true;
}

void GroupCommitStore::Commit(TimePoint now) {
  committing_.swap(waiting_);
  double cost = sync_ns_;
  for (const Job& job : committing_) cost += service_.Cost(job.items);
  agenda_.Push(service_.Begin(cost, now), {Event::Kind::kServed, 0});
}

void GroupCommitStore::Served(std::uint32_t server, TimePoint now) {
  if (const Duration stalled = std::exchange(stalled_, {}); stalled > Duration::zero()) {
    agenda_.Push(now + stalled, {Event::Kind::kServed, server});
    return;
  }
  for (const Job& job : committing_) {
    if (job.flight != Job::kTenant) PartDone(job.flight, now);
  }
  committing_.clear();
  if (!waiting_.empty()) Commit(now);
}

void GroupCommitStore::ServeTenant(std::uint32_t, std::uint32_t items, TimePoint now) {
  (void)Offer({Job::kTenant, items}, now);
}

void GroupCommitStore::Stall(Duration length) {
  if (!committing_.empty()) stalled_ += length;
}

}  // namespace stout::sim::internal
