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
  RangeId ranges = 16;  ///< of the deployment, fixed by the first member to join; 1..65536
  Duration ttl = std::chrono::seconds(10);  ///< life of the session after its last renewal
  /// Name of the function that gives each key its range, fixed by the first member to join. A
  /// lowercase letter, then any characters except blanks.
  std::string partition{kHashPartition};
};

/// Returns true if a service may accept the member. Join requires it.
[[nodiscard]] inline bool IsValid(const LeaseMember& member) {
  return !member.address.empty() && member.ranges >= 1 && member.ranges <= kMaxRanges &&
         member.ttl > Duration::zero() && IsPartitionName(member.partition);
}

/// Returns why a member cannot join the deployment of this table, with both values and the remedy.
/// Returns nullopt if the table does not show a reason.
[[nodiscard]] std::optional<std::string> WhyRefused(const LeaseMember& member,
                                                    const LeaseTable& table);

/// The linearizable part of leases: it decides which members are alive and which member owns which
/// range. It may run in other processes. LeaseManager is a server's side of it.
///
/// A *session* is one incarnation of a member. It lives until Leave, or until `ttl` has passed
/// since the service got its last KeepAlive. A session that has ended never comes back: its ranges
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
/// Owner: must outlive its users. When it is destroyed, calls without an answer end with kUnknown.
/// Threads: all members may be called from any thread. Handlers may run on any thread, also before
///   the call that took them returns. A handler must not destroy the service.
/// Errors: each call is answered exactly once.
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
  /// If another session holds the range, there is neither an error nor an epoch.
  using AcquireHandler = UniqueFunction<void(ErrorCode, std::optional<Epoch>)>;
  using TableHandler = UniqueFunction<void(LeaseTable)>;
  /// Keeps a watch active. Drop it to end the watch; a handler that is running may still end.
  using Watch = std::shared_ptr<void>;

  LeaseService() = default;
  LeaseService(const LeaseService&) = delete;
  LeaseService& operator=(const LeaseService&) = delete;
  virtual ~LeaseService() = default;

  /// Begins a session.
  virtual void Join(const LeaseMember& member, JoinHandler handler) = 0;
  /// Renews a session, which then lives for another `ttl`.
  virtual void KeepAlive(SessionId session, Handler handler) = 0;
  /// Ends a session and frees its ranges. Succeeds even if the session has already ended.
  virtual void Leave(SessionId session, Handler handler) = 0;

  /// Takes a range if it is free. If the session already holds the range, answers its epoch.
  virtual void Acquire(SessionId session, RangeId range, AcquireHandler handler) = 0;
  /// Frees a range that the session holds under this epoch. Otherwise succeeds and frees nothing,
  /// so a late Release cannot free a range that was acquired again since.
  virtual void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) = 0;

  /// Calls `handler` with the table once it is known, and with the newest table after changes, one
  /// call at a time. Makes no call while the service cannot be reached.
  [[nodiscard]] virtual Watch WatchTable(TableHandler handler) = 0;

  /// Returns the registry that is stored with these leases; null if there is none. It lives as long
  /// as this service.
  [[nodiscard]] virtual Registry* registry() { return nullptr; }

  /// Join with an Asio completion token, whose handler runs on its own executor.
  template <typename Token>
  auto AsyncJoin(LeaseMember member, Token&& token) {
    return Initiate<void(ErrorCode, SessionId)>(
        [this, member = std::move(member)](JoinHandler handler) {
          Join(member, std::move(handler));
        },
        std::forward<Token>(token));
  }
};

}  // namespace stout::inline v1
