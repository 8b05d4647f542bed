#include "world/shared_processors_store.h"

#include "world/units.h"

namespace stout::sim::internal {

SharedProcessorsStore::SharedProcessorsStore(const StoreSpec& spec, Service service,
                                             FlightPool& flights, Agenda& agenda, Random tenants)
    : Store(spec, 1, spec.workers, service, flights, agenda, tenants),
      client_per_batch_ns_(spec.client_per_batch_us * kNsPerUs),
      client_per_item_ns_(spec.client_per_item_us * kNsPerUs),
      syncs_(spec.sync_us > 0),
      processors_(0, spec.workers, spec.queue_limit, service_, agenda_),
      log_(spec.workers, spec.sync_us * kNsPerUs, 0, false, service_, agenda_) {}

void SharedProcessorsStore::Serve(FlightId id, TimePoint now) {
  const double cost = service_.Cost(flights_[id].batch.items.size());
  if (!processors_.Offer({id, cost}, now)) PartDropped(id, 0, now);
}

void SharedProcessorsStore::Served(std::uint32_t server, TimePoint now) {
  if (server == servers()) {
    return log_.Served(now, [&](const Job& job) { HandleAnswer(job.flight, now); });
  }
  const auto job = processors_.Served(server, now);
  if (!job || job->flight == Job::kTenant) return;
  if (job->handles_answer) {
    PartDone(job->flight, now);
  } else if (syncs_) {
    (void)log_.Offer({job->flight, 0}, now);  // it has no limit
  } else {
    HandleAnswer(job->flight, now);
  }
}

void SharedProcessorsStore::HandleAnswer(FlightId id, TimePoint now) {
  const auto items = static_cast<double>(flights_[id].batch.items.size());
  processors_.Add({id, client_per_batch_ns_ + items * client_per_item_ns_, true}, now);
}

void SharedProcessorsStore::ServeTenant(std::uint32_t, std::uint32_t items, TimePoint now) {
  (void)processors_.Offer({Job::kTenant, service_.Cost(items)}, now);
}

void SharedProcessorsStore::Stall(Duration length) {
  processors_.Stall(length);
  log_.Stall(length);
}

}  // namespace stout::sim::internal
