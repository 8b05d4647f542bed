#include "world/pooled_store.h"

#include <algorithm>

#include "world/key_space.h"

namespace stout::sim::internal {
namespace {

std::uint32_t ServersPerPool(const StoreSpec& spec) {
  return spec.kind == StoreSpec::Kind::kWorkers ? spec.workers : 1;
}

}  // namespace

PooledStore::PooledStore(const StoreSpec& spec, Service service, FlightPool& flights,
                         Agenda& agenda, Random tenants)
    : Store(spec, PartitionsOf(spec), PartitionsOf(spec) * ServersPerPool(spec), service, flights,
            agenda, tenants),
      servers_per_pool_(ServersPerPool(spec)),
      part_items_(PartitionsOf(spec)) {
  for (LaneId i = 0; i < PartitionsOf(spec); ++i) {
    pools_.emplace_back(i * servers_per_pool_, servers_per_pool_, spec.queue_limit, service_,
                        agenda_);
  }
}

void PooledStore::Serve(FlightId id, TimePoint now) {
  Flight& flight = flights_[id];
  const auto partitions = static_cast<LaneId>(pools_.size());
  if (partitions == 1) {
    OfferPart(id, 0, static_cast<std::uint32_t>(flight.batch.items.size()), now);
    return;
  }
  std::fill(part_items_.begin(), part_items_.end(), 0);
  for (const WriteItem& item : flight.batch.items) ++part_items_[PartitionOf(item.key, partitions)];
  const auto parts = std::count_if(part_items_.begin(), part_items_.end(),
                                   [](std::uint32_t items) { return items > 0; });
  flight.parts = flight.parts_left = static_cast<std::uint32_t>(parts);
  for (LaneId i = 0; i < partitions; ++i) {
    if (part_items_[i] > 0) OfferPart(id, i, part_items_[i], now);
  }
}

void PooledStore::OfferPart(FlightId id, LaneId partition, std::uint32_t items, TimePoint now) {
  if (!pools_[partition].Offer({id, service_.Cost(items)}, now)) PartDropped(id, partition, now);
}

void PooledStore::Served(std::uint32_t server, TimePoint now) {
  const auto job = pools_[server / servers_per_pool_].Served(server, now);
  if (job && job->flight != Job::kTenant) PartDone(job->flight, now);
}

void PooledStore::ServeTenant(std::uint32_t queue, std::uint32_t items, TimePoint now) {
  (void)pools_[queue].Offer({Job::kTenant, service_.Cost(items)}, now);
}

void PooledStore::Stall(Duration length) {
  for (ServerPool& pool : pools_) pool.Stall(length);
}

}  // namespace stout::sim::internal
