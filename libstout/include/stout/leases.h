#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <memory>
#include <optional>
#include <string>

#include "stout/core/lease_table.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// The application's handlers for a LeaseManager. All run on the manager's strand and may call it.
struct LeaseHandlers {
  using Done = UniqueFunction<void()>;

  /// Runs when this server owns the range, under this epoch. Open the range's interposer with
  /// Interposer::AsyncOpenOwned. It fences first, so late writes of the former owner change
  /// nothing.
  UniqueFunction<void(RangeId, Epoch)> on_acquired{};
  /// Runs when the range should move to another server. Finish the requests under way, write the
  /// dirty keys, then call `done`, from any thread. This server keeps the range until then.
  UniqueFunction<void(RangeId, Done done)> on_release{};
  /// Runs when this server no longer owns the range, and another server may already own it. Drop
  /// the range's state and fail its replies. It may run during a hand-over, whose `done` then does
  /// nothing, or just after one.
  UniqueFunction<void(RangeId)> on_lost{};
  /// Runs when the service refuses this server for good: kBadOptions if the deployment has another
  /// partition or number of ranges (see WhyRefused). May be empty.
  UniqueFunction<void(ErrorCode)> on_refused{};
};

/// Makes a server a member of a deployment whose servers share the ranges. It joins, renews, takes
/// the ranges that this server should own, and hands over the others. At any moment it knows which
/// ranges this server certainly owns.
///
///     LeaseManager leases(executor, *service, {.address = "10.0.0.7:8080"}, {
///         .on_acquired = [&](RangeId range, Epoch epoch) { Serve(range, epoch); },
///         .on_release = [&](RangeId range, auto done) { Drain(range, std::move(done)); },
///         .on_lost = [&](RangeId range) { Drop(range); }});
///     leases.Start();
///     ...
///     if (!leases.Owns(RangeOf(id, 16))) return Misdirected(leases.OwnerOf(RangeOf(id, 16)));
///
/// Ranges: if the service's registry names a live member as the wanted owner of a range
/// (WantOwner), that member should own it. Otherwise RightfulOwners decides: the shares of two live
/// members differ by at most one range, and few ranges move when a member comes or goes.
///
/// Time: a range is owned until 0.95 * `ttl` after the last renewal was *sent*. The service counts
/// from a later moment, and the 5 % allow for clocks that run at different rates. The clock also
/// runs while the machine is suspended. When the time is over, all ranges are lost at once, even if
/// the service disagrees, and the manager joins anew. Owns() is therefore false in a process that
/// wakes after its lease has expired.
///
/// Guarantee: a read from memory that is answered while Owns() is true returns the newest state.
/// Epochs in the store protect writes. Clocks cannot, because a write may be under way for any
/// time.
///
/// Units: stout::Duration. `ttl` should be several times the service's latency, some seconds.
/// Owner: the service and the executor's context must outlive it. Destroy it on get_executor(), or
///   while the context does not run. The lease then expires, unless Leave() came first.
/// Threads: Start, Leave, Suspend, Resume, GiveUp and all const members may be called from any
///   thread.
/// Errors: retries without end while the service cannot be reached; see also on_refused.
/// Paper: Gray and Cheriton, "Leases" (SOSP'89); sessions and fencing tokens: Chubby (OSDI'06).
class LeaseManager {
 public:
  using Executor = boost::asio::strand<boost::asio::any_io_executor>;

  LeaseManager(const boost::asio::any_io_executor& executor, LeaseService& service,
               LeaseMember member, LeaseHandlers handlers);
  LeaseManager(const LeaseManager&) = delete;
  LeaseManager& operator=(const LeaseManager&) = delete;
  ~LeaseManager();

  [[nodiscard]] Executor get_executor() const;

  /// Joins. Handlers may run from now on.
  void Start();

  /// Hands over every range, then leaves; this is final. `done` runs on the strand when this server
  /// is no longer a member. It also runs if the service cannot be reached: the lease then expires.
  void Leave(UniqueFunction<void()> done);

  /// Leaves at once, so that other servers take the ranges, and joins again only after Resume.
  /// on_lost runs for each range that was held. Call it when this server cannot serve, for example
  /// because its store does not answer.
  void Suspend();
  void Resume();

  /// Frees a range without a hand-over, for example because the store has fenced it. Requires that
  /// nothing is under way in it. The range may be acquired again later, under a newer epoch. Does
  /// nothing if the range is not held under this epoch.
  void GiveUp(RangeId range, Epoch epoch);

  /// Returns true while this server certainly owns the range, even while the range is handed over.
  [[nodiscard]] bool Owns(RangeId range) const;
  /// Returns the epoch under which this server owns the range; zero if Owns() is false.
  [[nodiscard]] Epoch EpochOf(RangeId range) const;
  /// Returns the owner's address as the service last reported it; nullopt if free or unknown.
  [[nodiscard]] std::optional<std::string> OwnerOf(RangeId range) const;
  /// Never null.
  [[nodiscard]] std::shared_ptr<const LeaseTable> table() const;
  /// Returns true while this server is a member.
  [[nodiscard]] bool joined() const;
  /// Returns this member's session, to which records of a Registry can be bound; zero if this
  /// server is not a member. It changes when this server joins again.
  [[nodiscard]] SessionId session() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with pending handlers
};

}  // namespace stout::inline v1
