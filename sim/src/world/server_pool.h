#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "stout/core/types.h"
#include "world/event.h"
#include "world/flight.h"
#include "world/service.h"

namespace stout::sim::internal {

/// An entry of a queue of the store: a batch or a part of one.
struct Job {
  static constexpr FlightId kTenant = FlightPool::kNone;  ///< Another tenant's.
  FlightId flight = kTenant;
  double cost_ns = 0;
  bool handles_answer = false;  ///< The client's part, after the store's.
};

/// Servers on one queue, first come first served: G/G/c.
///
/// Its servers have the numbers `first`, `first + 1`, ...: a kServed event with one of them goes
/// back to Served.
class ServerPool {
 public:
  /// `queue_limit` jobs may wait; 0: any number.
  ServerPool(std::uint32_t first, std::uint32_t servers, std::uint64_t queue_limit,
             Service& service, Agenda& agenda);

  /// Serves the job now or later; false if the queue is full and the job dropped.
  [[nodiscard]] bool Offer(Job job, TimePoint now);
  /// The same, however full the queue.
  void Add(Job job, TimePoint now);

  /// The event of this server has come. The job that is done, unless a pause made it longer.
  std::optional<Job> Served(std::uint32_t server, TimePoint now);

  /// Lengthens the services under way by this time.
  void Stall(Duration length);

 private:
  struct Server {
    Job job;
    bool busy = false;
    Duration stalled{};  // since the service began
  };

  void Begin(std::uint32_t index, Job job, TimePoint now);

  std::uint32_t first_;
  std::uint64_t queue_limit_;
  Service& service_;
  Agenda& agenda_;
  std::vector<Server> servers_;
  std::vector<std::uint32_t> idle_;
  std::deque<Job> queue_;
};

}  // namespace stout::sim::internal
