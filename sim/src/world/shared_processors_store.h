#pragma once

#include <cstdint>

#include "world/commit_log.h"
#include "world/server_pool.h"
#include "world/store.h"

namespace stout::sim::internal {

/// A store on the same processors as its clients, as when 16 server processes and their PostgreSQL
/// share two. A batch needs, in this order:
///
///  1. a processor for per_batch + n * per_item: the store's service. (A client's own work before
///  it
///     sends the batch comes in the same queue just before, so it belongs in these two.)
///  2. a sync, which needs no processor. Batches that wait when a sync begins share it.
///  3. a processor for client_per_batch + n * client_per_item: its client handles the answer.
///
/// Services and answers wait in one queue, first come first served. So every client's work delays
/// the store, and the clients that one sync answers get a processor one after another.
class SharedProcessorsStore final : public Store {
 public:
  SharedProcessorsStore(const StoreSpec& spec, Service service, FlightPool& flights, Agenda& agenda,
                        Random tenants);

  void Served(std::uint32_t server, TimePoint now) override;

 private:
  void Serve(FlightId id, TimePoint now) override;
  void ServeTenant(std::uint32_t queue, std::uint32_t items, TimePoint now) override;
  void Stall(Duration length) override;

  void HandleAnswer(FlightId id, TimePoint now);

  double client_per_batch_ns_;
  double client_per_item_ns_;
  bool syncs_;
  ServerPool processors_;
  CommitLog log_;  // its number is that after the processors
};

}  // namespace stout::sim::internal
