#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "stout/completion.h"
#include "stout/core/lease_table.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// What a LeaseManager tells its application. All run on the manager's strand and may call it.
struct LeaseHandlers {
  using Done = UniqueFunction<void()>;

  /// The range is ours, under this epoch. Open what serves it with Interposer::AsyncOpenOwned,
  /// which tells the store first, so that the former owner's late writes change nothing.
  UniqueFunction<void(RangeId, Epoch)> on_acquired{};
  /// The range is to be another's: finish what is under way, write what is dirty, then call `done`,
  /// from any thread. Until then the range is still ours. Not calling it keeps the range.
  UniqueFunction<void(RangeId, Done done)> on_release{};
  /// The range is ours no longer, and perhaps another's already: drop its state, fail its replies.
  /// May come while a hand-over is under way, whose `done` then does nothing, or just after that.
  UniqueFunction<void(RangeId)> on_lost{};
  /// The service will not have this server, for good: kBadOptions, the deployment has another
  /// number of ranges. May be empty.
  UniqueFunction<void(ErrorCode)> on_refused{};
};

/// Makes a server one of those that share the ranges of a deployment: joins, renews, takes the
/// ranges that should be its own, hands over those that should be another's, and knows at any
/// moment which are certainly its own.
///
///     LeaseManager leases(executor, *service, {.address = "10.0.0.7:8080"}, {
///         .on_acquired = [&](RangeId range, Epoch epoch) { Serve(range, epoch); },
///         .on_release = [&](RangeId range, auto done) { Drain(range, std::move(done)); },
///         .on_lost = [&](RangeId range) { Drop(range); }});
///     leases.Start();
///     ...
///     if (!leases.Owns(RangeOf(id, 16))) return Misdirected(leases.OwnerOf(RangeOf(id, 16)));
///
/// Which ranges: those whose rendezvous hash over the live members is highest for this one, so that
/// few move when a member comes or goes.
///
/// How long: until `ttl` after the last renewal was *sent*, which is before the service's own count
/// began, less a twentieth for clocks that run apart, on a clock that goes on while the machine is
/// suspended. When that time is over all is lost at once, whatever the service may think, and the
/// manager joins anew. A process that was paused finds Owns() false when it wakes.
///
/// What this protects: reads from memory, answered while Owns() is true, are the newest. Writes are
/// protected by epochs in the store, not by clocks: a write may be on its way for any time.
///
/// Units: stout::Duration; `ttl` should be several times the service's latency, some seconds.
/// Owner: refers to `service`, which must outlive it, as must the executor's context.
///   Destroy it on get_executor(), or while the context does not run; the lease then ends by itself
///   unless Leave() came first.
/// Threads: Start, Leave, Suspend, Resume, GiveUp and everything const from any thread.
/// Errors: a service that cannot be reached is tried again, for ever; see on_refused.
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

  /// Hands over every range, then leaves: `done` runs on the strand when this server is no member
  /// any more, or cannot say so to the service, whose lease then ends by itself. For good.
  void Leave(UniqueFunction<void()> done);
  template <typename Token>
  auto AsyncLeave(Token&& token) {
    return Initiate<void()>([this](UniqueFunction<void()> done) { Leave(std::move(done)); },
                            get_executor(), std::forward<Token>(token));
  }

  /// Says that this server cannot serve, for example because its store does not answer: leaves at
  /// once, so that others take its ranges, and joins again only after Resume. on_lost runs for each
  /// range that was held.
  void Suspend();
  void Resume();

  /// Frees a range without further ado, for example because the store has fenced it: nothing is to
  /// be under way in it. It may be acquired again, a while later, under a newer epoch. Nothing if
  /// the range is not held under this epoch.
  void GiveUp(RangeId range, Epoch epoch);

  /// Whether the range is certainly ours at this moment, also while it is being handed over.
  [[nodiscard]] bool Owns(RangeId range) const;
  /// The epoch under which we own the range; zero if Owns() is false.
  [[nodiscard]] Epoch EpochOf(RangeId range) const;
  /// The address of the owner as the service last told; nothing: free, or not known.
  [[nodiscard]] std::optional<std::string> OwnerOf(RangeId range) const;
  /// Never null.
  [[nodiscard]] std::shared_ptr<const LeaseTable> table() const;
  /// Whether this server is a member at this moment.
  [[nodiscard]] bool joined() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with what waits on the executor
};

}  // namespace stout::inline v1
