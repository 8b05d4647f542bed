#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stout/lease_service.h"
#include "stout/lease_watcher.h"
#include "stout/unique_function.h"

namespace stout::docstore {

/// Knows which server serves which document, from the lease service, and reports changes to waiting
/// requests.
///
/// Owner: refers to `service`, which must outlive it.
/// Threads: any. The destructor waits for an `on_change` that is under way, so `on_change` must not
///   call it.
class Owners {
 public:
  /// Drop it to hear no more; a call that is under way may still end after that.
  using Subscription = std::shared_ptr<void>;

  explicit Owners(LeaseService& service);
  ~Owners();

  /// The lease of a document's range; nothing while nobody has it, or that is not known.
  [[nodiscard]] std::optional<Lease> Of(std::string_view document) const;

  /// Calls `on_change` after each change of any lease, on a thread of the lease service's. It must
  /// be brief.
  [[nodiscard]] Subscription Subscribe(UniqueFunction<void()> on_change);

  /// As LeaseWatcher::table.
  [[nodiscard]] std::shared_ptr<const LeaseTable> table() const { return watcher_.table(); }

  /// Returns why the members of the lease service cannot be docstore-servers, or "".
  [[nodiscard]] std::string WhyForeign() const;

  /// Ranges that have an owner.
  [[nodiscard]] std::size_t owned() const;

 private:
  struct Subscribers;
  std::unique_ptr<Subscribers> subscribers_;
  LeaseWatcher watcher_;  // Notifies them.
};

}  // namespace stout::docstore
