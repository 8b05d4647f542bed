#pragma once

#include <cstdint>

#include "world/commit_log.h"
#include "world/store.h"

namespace stout::sim::internal {

/// One log, and nothing else.
class GroupCommitStore final : public Store {
 public:
  GroupCommitStore(const StoreSpec& spec, Service service, FlightPool& flights, Agenda& agenda,
                   Random tenants);

  void Served(std::uint32_t server, TimePoint now) override;

 private:
  void Serve(FlightId id, TimePoint now) override;
  void ServeTenant(std::uint32_t queue, std::uint32_t items, TimePoint now) override;
  void Stall(Duration length) override { log_.Stall(length); }

  CommitLog log_;
};

}  // namespace stout::sim::internal
