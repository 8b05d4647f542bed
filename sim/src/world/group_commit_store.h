#pragma once

#include <cstdint>
#include <vector>

#include "world/server_pool.h"
#include "world/store.h"

namespace stout::sim::internal {

/// One log. A commit takes all batches that wait when it begins, and costs one sync and the sum of
/// their costs. An idle log begins with the first batch that comes.
class GroupCommitStore final : public Store {
 public:
  GroupCommitStore(const StoreSpec& spec, Service service, FlightPool& flights, Agenda& agenda,
                   Random tenants);

  void Arrive(FlightId id, TimePoint now) override;
  void Served(std::uint32_t server, TimePoint now) override;

 private:
  void ServeTenant(std::uint32_t queue, std::uint32_t items, TimePoint now) override;
  void Stall(Duration length) override;

  [[nodiscard]] bool Offer(Job job, TimePoint now);
  void Commit(TimePoint now);

  double sync_ns_;
  std::uint64_t queue_limit_;
  std::vector<Job> waiting_;
  std::vector<Job> committing_;
  Duration stalled_{};  // since the commit began
};

}  // namespace stout::sim::internal
