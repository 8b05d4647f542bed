#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/errc.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The state of a lease service in one process: sessions, their ends, and the ranges that they
/// hold. The calls are documented at LeaseService.
///
/// Owner: value type.   Threads: none of its own; callers serialise, and `now` never goes back.
class LeaseLedger {
 public:
  /// Epochs and sessions are numbered from `first`, which must exceed all numbers given out before.
  explicit LeaseLedger(Epoch first) : next_(first) {}

  struct Joined {
    Errc errc = Errc::kOk;
    SessionId session = 0;
  };
  /// Requires the conditions of IsValid(LeaseMember).
  Joined Join(const std::string& address, RangeId ranges, Duration ttl, TimePoint now,
              std::string_view partition = kHashPartition);
  Errc KeepAlive(SessionId session, TimePoint now);
  void Leave(SessionId session, TimePoint now);

  struct Acquired {
    Errc errc = Errc::kOk;
    std::optional<Epoch> epoch{};
  };
  Acquired Acquire(SessionId session, RangeId range, TimePoint now);
  Errc Release(SessionId session, RangeId range, Epoch epoch, TimePoint now);

  /// Forgets the ranges and the partition; the next member fixes them. Returns false, and does
  /// nothing, if a session is alive. No number is given out again.
  bool Clear(TimePoint now);

  /// Ends the sessions whose time is over. Every other call does this first.
  void Expire(TimePoint now);
  /// Returns the time at which the next session ends unless it is renewed; kNever without sessions.
  [[nodiscard]] TimePoint NextExpiry() const;

  /// Returns true if the session was alive at the time of the last call.
  [[nodiscard]] bool Alive(SessionId session) const { return sessions_.count(session) != 0; }
  /// Returns true if the range has an owner, under this epoch.
  [[nodiscard]] bool Holds(RangeId range, Epoch epoch) const {
    return range < ranges_.size() && ranges_[range] && ranges_[range]->epoch == epoch;
  }
  [[nodiscard]] LeaseTable Table() const;

 private:
  struct Session {
    std::string address;
    Duration ttl;
    TimePoint expires;
  };
  // Returns null if the session has ended.
  Session* Find(SessionId session, TimePoint now);
  void Free(SessionId session);

  Epoch next_;
  std::map<SessionId, Session> sessions_;
  std::vector<std::optional<Lease>> ranges_;
  std::string partition_{kHashPartition};
};

}  // namespace stout::internal
