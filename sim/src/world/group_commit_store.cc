#include "world/group_commit_store.h"

#include "world/units.h"

namespace stout::sim::internal {

GroupCommitStore::GroupCommitStore(const StoreSpec& spec, Service service, FlightPool& flights,
                                   Agenda& agenda, Random tenants)
    : Store(spec, 1, 1, service, flights, agenda, tenants),
      log_(0, spec.sync_us * kNsPerUs, spec.queue_limit, true, service_, agenda_) {}

void GroupCommitStore::Serve(FlightId id, TimePoint now) {
  const double cost = service_.Cost(flights_[id].batch.items.size());
  if (!log_.Offer({id, cost}, now)) PartDropped(id, 0, now);
}

void GroupCommitStore::Served(std::uint32_t, TimePoint now) {
  log_.Served(now, [&](const Job& job) {
    if (job.flight != Job::kTenant) PartDone(job.flight, now);
  });
}

void GroupCommitStore::ServeTenant(std::uint32_t, std::uint32_t items, TimePoint now) {
  (void)log_.Offer({Job::kTenant, service_.Cost(items)}, now);
}

}  // namespace stout::sim::internal
