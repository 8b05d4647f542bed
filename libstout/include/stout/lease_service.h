#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stout/completion.h"
#include "stout/core/lease_table.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

class Registry;

/// A server's description when it joins a lease service.
struct LeaseMember {
  std::string address;  ///< for clients and other servers: "10.0.0.7:8080"; not empty, unique
  RangeId ranges = 16;  ///< ranges of the deployment, fixed by the first to join; 1..65536
  Duration ttl = std::chrono::seconds(10);  ///< session time after its last renewal
  /// Name of the function that gives each key its range, fixed by the first to join. A lowercase
  /// letter, then any characters except blanks.
  std::string partition{kHashPartition};
};

/// Every service requires this of a member that joins.
[[nodiscard]] inline bool IsValid(const LeaseMember& member) {
  return !member.address.empty() && member.ranges >= 1 && member.ranges <= kMaxRanges &&
         member.ttl > Duration::zero() && IsPartitionName(member.partition);
}

/// Returns the text of an error: why a member cannot join the deployment of this table, with both
/// values and the remedy. Returns nullopt if the table does not show a reason.
[[nodiscard]] std::optional<std::string> WhyRefused(const LeaseMember& member,
                                                    const LeaseTable& table);

/// Reports which members are alive and which member owns which range. It is the linearizable part
/// of leases and may lie in other processes. LeaseManager implements a server's side on top of it.
///
/// A *session* is one incarnation of a member. It lives until `ttl` has passed since the service
/// got its last KeepAlive, or until Leave. A session that has ended never comes back: its ranges
/// are free, and every call in its name ends with kFenced. Use a session through the object that
/// began it.
///
/// An *epoch* is the fencing token of a range. Each new owner of a range gets a larger epoch than
/// all before. Epochs are durable, so this also holds across restarts of the service. They begin
/// near the Unix time in microseconds at which the deployment first used the service. A new service
/// therefore gives larger epochs than the service that it replaces.
///
/// Every call is idempotent: it may be repeated when its outcome is unknown, and may arrive late.
///
/// Owner: outlives its users. When it is destroyed, calls without an answer end with kUnknown.
/// Threads: all members may be called from any thread. Handlers may run on any thread, also before
///   the call that took them returns. A handler must not destroy the service.
/// Errors: a call is answered exactly once.
///
/// | error       | meaning                                                                  |
/// |-------------|--------------------------------------------------------------------------|
/// | kTransient  | the service could not be reached, and did nothing                        |
/// | kUnknown    | the service may have done it, or may do it later                         |
/// | kFenced     | the session has ended                                                    |
/// | kBadOptions | the range does not exist; Join: the deployment has another partition, or |
/// |             | another number of ranges (WhyRefused has the text)                       |
class LeaseService {
 public:
  using Handler = UniqueFunction<void(ErrorCode)>;
  using JoinHandler = UniqueFunction<void(ErrorCode, SessionId)>;
  /// No error and no epoch means that another session holds the range.
  using AcquireHandler = UniqueFunction<void(ErrorCode, std::optional<Epoch>)>;
  using TableHandler = UniqueFunction<void(LeaseTable)>;
  /// Keeps a watch active: drop it to end the watch. A call of the handler that is under way may
  /// still end after that.
  using Watch = std::shared_ptr<void>;

  LeaseService() = default;
  LeaseService(const LeaseService&) = delete;
  LeaseService& operator=(const LeaseService&) = delete;
  virtual ~LeaseService() = default;

  /// Begins a session.
  virtual void Join(const LeaseMember& member, JoinHandler handler) = 0;
  /// Renews a session: it lives for another `ttl` from now on.
  virtual void KeepAlive(SessionId session, Handler handler) = 0;
  /// Ends a session and frees its ranges. Succeeds also if the session has already ended.
  virtual void Leave(SessionId session, Handler handler) = 0;

  /// Takes a range if it is free. If the session already holds it, answers its epoch.
  virtual void Acquire(SessionId session, RangeId range, AcquireHandler handler) = 0;
  /// Frees a range that the session holds under this epoch. Otherwise it succeeds and frees
  /// nothing: a Release that arrives late cannot free a range that was acquired again since.
  virtual void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) = 0;

  /// Calls `handler` with the table once it is known, and after changes with the newest table. One
  /// call at a time. It makes no call while the service cannot be reached.
  [[nodiscard]] virtual Watch WatchTable(TableHandler handler) = 0;

  /// Returns the registry that is stored with these leases, which lives as long as this service;
  /// null if it has none.
  [[nodiscard]] virtual Registry* registry() { return nullptr; }

  /// The calls above with an Asio completion token, whose handler runs on its own executor.
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
