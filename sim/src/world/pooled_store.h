#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "world/server_pool.h"
#include "world/store.h"

namespace stout::sim::internal {

/// One queue for each partition, with one or more servers. It models the FIFO server, the workers
/// on one queue, and the partitioned store. The partitioned store splits a batch by key, and has
/// answered it when its slowest part is done.
class PooledStore final : public Store {
 public:
  PooledStore(const StoreSpec& spec, Service service, FlightPool& flights, Agenda& agenda,
              Random tenants);

  void Served(std::uint32_t server, TimePoint now) override;

 private:
  void Serve(FlightId id, TimePoint now) override;
  void ServeTenant(std::uint32_t queue, std::uint32_t items, TimePoint now) override;
  void Stall(Duration length) override;

  void OfferPart(FlightId id, LaneId partition, std::uint32_t items, TimePoint now);

  std::uint32_t servers_per_pool_;
  std::deque<ServerPool> pools_;           // one for each partition; a deque: pools do not move
  std::vector<std::uint32_t> part_items_;  // of the batch at hand, by partition
};

}  // namespace stout::sim::internal
