#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/lease_table.h"
#include "stout/lease_service.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// Follows who owns what, without being a member: for routers, and for all who need not own.
///
///     LeaseWatcher watcher(*service, [&](const auto&) { waiting_requests.TryAgain(); });
///     if (auto owner = watcher.OwnerOf(document_id)) Forward(*owner);
///
/// What it knows is the newest that the service has told: it may be out of date, and the owner
/// itself knows better (LeaseManager::Owns).
/// Owner: refers to `service`, which must outlive it.
/// Threads: any. `on_change` runs on a thread of the service's, one call at a time; it must not
///   destroy the watcher, and may run before the constructor has returned: so it is given what is
///   new. May be empty. The destructor waits for a call that is under way, and none comes after it:
///   hold no lock there that `on_change` takes.
class LeaseWatcher {
 public:
  using Table = std::shared_ptr<const LeaseTable>;  ///< Never null.
  using OnChange = UniqueFunction<void(const Table&)>;

  explicit LeaseWatcher(LeaseService& service, OnChange on_change = {});
  LeaseWatcher(const LeaseWatcher&) = delete;
  LeaseWatcher& operator=(const LeaseWatcher&) = delete;
  ~LeaseWatcher();

  /// Empty until the service has answered.
  [[nodiscard]] Table table() const;
  /// The address of the owner of a range, or of the range of a name, as far as is known.
  [[nodiscard]] std::optional<std::string> OwnerOf(RangeId range) const;
  [[nodiscard]] std::optional<std::string> OwnerOf(std::string_view name) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  LeaseService::Watch watch_;
};

}  // namespace stout::inline v1
