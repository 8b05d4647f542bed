#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "stout/completion.h"
#include "stout/core/lease_table.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// What a server tells a lease service when it joins.
struct LeaseMember {
  std::string address;  ///< Where others reach it: "10.0.0.7:8080". Not empty, not shared.
  RangeId ranges = 16;  ///< Of the deployment: the first to join decides, for good. 1..65536
  Duration ttl = std::chrono::seconds(10);  ///< The session ends so long after its last renewal.
};

/// Nothing less can join, with any service.
[[nodiscard]] inline bool IsValid(const LeaseMember& member) {
  return !member.address.empty() && member.ranges >= 1 && member.ranges <= kMaxRanges &&
         member.ttl > Duration::zero();
}

/// Says who is alive and who owns which range: the linearizable part of leases, and all of it that
/// lies in other processes. LeaseManager makes a server's behaviour of it.
///
/// A *session* is one incarnation of a member. It lives until `ttl` has passed since the service
/// got its last KeepAlive, or until Leave. Once over it never comes back: every call in its name
/// ends with kFenced. What it held is free from then on. It is used through the object that began
/// it.
///
/// An *epoch* is the fencing token of a range: each time that a range gets an owner, its epoch is
/// larger than all before, also across restarts of the service, for it is durable. Epochs begin
/// near the Unix time in microseconds at which the deployment first used the service, so that a
/// service set up anew gives larger ones than the one that it replaces.
///
/// Every call may be repeated when its fate is not known, and may arrive late, without harm.
///
/// Owner: outlives what uses it. When it is destroyed, calls without an answer end with kUnknown.
/// Threads: all members may be called from any thread; handlers may run on any thread, also before
///   the call that took them returns. A handler must not destroy the service.
/// Errors: kTransient (the service could not be reached: nothing was done), kUnknown (it may have
///   been done, or may yet be), kFenced (the session is over for good), kBadOptions (a range that
///   does not exist, or from Join: another number of ranges than the deployment has). A call is
///   answered exactly once.
class LeaseService {
 public:
  using Handler = UniqueFunction<void(ErrorCode)>;
  using JoinHandler = UniqueFunction<void(ErrorCode, SessionId)>;
  /// No error and no epoch: another session holds the range.
  using AcquireHandler = UniqueFunction<void(ErrorCode, std::optional<Epoch>)>;
  using TableHandler = UniqueFunction<void(LeaseTable)>;
  /// Keeps a watch going: drop it to end the watch. A call of the handler that is under way may
  /// still end after that.
  using Watch = std::shared_ptr<void>;

  LeaseService() = default;
  LeaseService(const LeaseService&) = delete;
  LeaseService& operator=(const LeaseService&) = delete;
  virtual ~LeaseService() = default;

  /// Begins a session.
  virtual void Join(const LeaseMember& member, JoinHandler handler) = 0;
  /// The session lives for its ttl from now on.
  virtual void KeepAlive(SessionId session, Handler handler) = 0;
  /// Ends a session; what it holds is free. Done, too, if it is over already.
  virtual void Leave(SessionId session, Handler handler) = 0;

  /// Takes a range if it is free. One that the session holds already is answered with its epoch.
  virtual void Acquire(SessionId session, RangeId range, AcquireHandler handler) = 0;
  /// Frees a range that the session holds under this epoch. Done, too, if it does not, or not
  /// under this epoch: so a Release that arrives late frees nothing that was acquired since.
  virtual void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) = 0;

  /// Hands out the table: as it is, as soon as that is known, and after changes, the newest each
  /// time. One call at a time. While the service cannot be reached there is no news.
  [[nodiscard]] virtual Watch WatchTable(TableHandler handler) = 0;

  /// Join and the others with an Asio completion token, whose handler runs on its own executor.
  template <typename Token>
  auto AsyncJoin(LeaseMember member, Token&& token) {
    return Initiate<void(ErrorCode, SessionId)>(
        [this, member = std::move(member)](JoinHandler handler) {
          Join(member, std::move(handler));
        },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncKeepAlive(SessionId session, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, session](Handler handler) { KeepAlive(session, std::move(handler)); },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncLeave(SessionId session, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, session](Handler handler) { Leave(session, std::move(handler)); },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncAcquire(SessionId session, RangeId range, Token&& token) {
    return Initiate<void(ErrorCode, std::optional<Epoch>)>(
        [this, session, range](AcquireHandler handler) {
          Acquire(session, range, std::move(handler));
        },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncRelease(SessionId session, RangeId range, Epoch epoch, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, session, range, epoch](Handler handler) {
          Release(session, range, epoch, std::move(handler));
        },
        std::forward<Token>(token));
  }
};

}  // namespace stout::inline v1
