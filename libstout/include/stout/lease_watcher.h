#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/lease_table.h"
#include "stout/lease_service.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// Follows the owners of all ranges, for routers and other clients that are not members.
///
///     LeaseWatcher watcher(*service, [&](const auto&) { waiting_requests.TryAgain(); });
///     if (auto owner = watcher.OwnerOf(document_id)) Forward(*owner);
///
/// It holds the newest table that the service reported, which may be out of date. The owner itself
/// decides: see LeaseManager::Owns.
/// Owner: `service` must outlive it.
/// Threads: any. `on_change` runs on a thread of the service, one call at a time. It may be empty,
///   and must not destroy the watcher. It may run before the constructor has returned, so it gets
///   the new table as an argument. The destructor waits for a call that is under way, and no call
///   follows. Do not destroy the watcher while you hold a lock that `on_change` takes.
class LeaseWatcher {
 public:
  using Table = std::shared_ptr<const LeaseTable>;  ///< never null
  using OnChange = UniqueFunction<void(const Table&)>;

  explicit LeaseWatcher(LeaseService& service, OnChange on_change = {});
  LeaseWatcher(const LeaseWatcher&) = delete;
  LeaseWatcher& operator=(const LeaseWatcher&) = delete;
  ~LeaseWatcher();

  /// Returns the newest table, which is empty until the service has answered.
  [[nodiscard]] Table table() const;
  /// Returns the address of the owner of a range, or of the range of a name; nullopt if unknown. A
  /// name has a range only if IsHashPartition(the deployment's partition).
  [[nodiscard]] std::optional<std::string> OwnerOf(RangeId range) const;
  [[nodiscard]] std::optional<std::string> OwnerOf(std::string_view name) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  LeaseService::Watch watch_;
};

}  // namespace stout::inline v1
