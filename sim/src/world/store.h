#pragma once

#include <cstdint>
#include <memory>

#include "stout/core/types.h"
#include "stout/sim/random.h"
#include "stout/sim/scenario.h"
#include "world/event.h"
#include "world/flight.h"
#include "world/service.h"
#include "world/token_bucket.h"

namespace stout::sim::internal {

/// The store that all clients share. It has queues and servers but no data, because only the
/// duration of a batch among other batches matters.
///
/// The world hands it the events that are its own. The store puts a flight's kAnswer on the agenda,
/// half a round trip after the flight's last part was served or dropped.
class Store {
 public:
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// A batch has come in. It is dropped whole if there is no token for it.
  void Arrive(FlightId id, TimePoint now);
  /// The kServed event of a server.
  virtual void Served(std::uint32_t server, TimePoint now) = 0;

  /// The kTenant event of a queue: another tenant's batch comes in, and the next is planned.
  void TenantArrives(std::uint32_t queue, TimePoint now);
  /// The store pauses for this time.
  void Pause(Duration length, TimePoint now);
  /// 2: services that begin from now on take half as long.
  void SetSpeed(double speed) { service_.SetSpeed(speed); }

  [[nodiscard]] std::uint32_t servers() const { return servers_; }
  /// Sum over the servers of the measured time in which they were at work.
  [[nodiscard]] Duration busy() const { return service_.busy(); }

 protected:
  Store(const StoreSpec& spec, std::uint32_t queues, std::uint32_t servers, Service service,
        FlightPool& flights, Agenda& agenda, Random tenants);

  /// A batch that has its tokens.
  virtual void Serve(FlightId id, TimePoint now) = 0;
  /// A job of another tenant: a full queue drops it, too.
  virtual void ServeTenant(std::uint32_t queue, std::uint32_t items, TimePoint now) = 0;
  virtual void Stall(Duration length) = 0;

  /// A part of the flight is done.
  void PartDone(FlightId id, TimePoint now);
  /// The queue of this partition was full.
  void PartDropped(FlightId id, LaneId partition, TimePoint now);

  Service service_;
  FlightPool& flights_;
  Agenda& agenda_;

 private:
  void PlanTenant(std::uint32_t queue, TimePoint now);

  std::uint32_t servers_;
  Duration half_rtt_;
  TokenBucket tokens_;
  double tokens_per_batch_;
  double tenant_gap_ns_;  // mean time between two of their batches in a queue; 0: no tenants
  Random tenants_;
};

/// The store that a scenario describes.
std::unique_ptr<Store> MakeStore(const StoreSpec& spec, Service service, FlightPool& flights,
                                 Agenda& agenda, Random tenants);

/// The partitions over which it spreads keys.
LaneId PartitionsOf(const StoreSpec& spec);

}  // namespace stout::sim::internal
