#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/errc.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The book of a lease service that is all in one place: sessions, when they end, what they hold.
/// What its calls mean is said at LeaseService.
///
/// Owner: value type.   Threads: none of its own; callers serialise, and never go back in time.
class LeaseLedger {
 public:
  /// Epochs and sessions are numbered from `first` on; it must be larger than all given out before.
  explicit LeaseLedger(Epoch first) : next_(first) {}

  struct Joined {
    Errc errc = Errc::kOk;
    SessionId session = 0;
  };
  /// Requires what IsValid(LeaseMember) does.
  Joined Join(const std::string& address, RangeId ranges, Duration ttl, TimePoint now);
  Errc KeepAlive(SessionId session, TimePoint now);
  void Leave(SessionId session, TimePoint now);

  struct Acquired {
    Errc errc = Errc::kOk;
    std::optional<Epoch> epoch{};
  };
  Acquired Acquire(SessionId session, RangeId range, TimePoint now);
  Errc Release(SessionId session, RangeId range, Epoch epoch, TimePoint now);

  /// Ends the sessions whose time is over; every call does so first.
  void Expire(TimePoint now);
  /// When the next session ends unless it is renewed; kNever if there is none.
  [[nodiscard]] TimePoint NextExpiry() const;

  [[nodiscard]] LeaseTable Table() const;

 private:
  struct Session {
    std::string address;
    Duration ttl;
    TimePoint expires;
  };
  // Null if it is over.
  Session* Find(SessionId session, TimePoint now);
  void Free(SessionId session);

  Epoch next_;
  std::map<SessionId, Session> sessions_;
  std::vector<std::optional<Lease>> ranges_;
};

}  // namespace stout::internal
