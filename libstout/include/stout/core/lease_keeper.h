#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stout/core/errc.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The actions that a LeaseKeeper gives to its driver, which carries them out in order and at once.
namespace lease {

/// Names one attempt, which may be sent several times. Answers carry it.
using Attempt = std::uint64_t;

// Calls of the lease service.
struct Join {
  Attempt attempt;
  bool operator==(const Join&) const = default;
};
struct KeepAlive {
  SessionId session;
  TimePoint sent;
  bool operator==(const KeepAlive&) const = default;
};
struct Leave {
  SessionId session;
  bool operator==(const Leave&) const = default;
};
struct Acquire {
  Attempt attempt;
  SessionId session;
  RangeId range;
  bool operator==(const Acquire&) const = default;
};
struct Release {
  Attempt attempt;
  SessionId session;
  RangeId range;
  Epoch epoch;
  bool operator==(const Release&) const = default;
};

// News for the application.
struct Acquired {
  RangeId range;
  Epoch epoch;
  bool operator==(const Acquired&) const = default;
};
struct HandOver {
  RangeId range;
  Epoch epoch;
  bool operator==(const HandOver&) const = default;
};
struct Lost {
  RangeId range;
  bool operator==(const Lost&) const = default;
};
struct Refused {
  Errc errc;
  bool operator==(const Refused&) const = default;
};
struct Left {
  bool operator==(const Left&) const = default;
};

using Action =
    std::variant<Join, KeepAlive, Leave, Acquire, Release, Acquired, HandOver, Lost, Refused, Left>;

}  // namespace lease

/// Decides when a member of a lease service joins and renews, and which ranges it takes and hands
/// over. It also computes the time until which the member certainly owns its ranges.
///
/// Invariants:
/// 1. A range is held only under an epoch that answered an Acquire of this session, and for which
///    no Release was sent.
/// 2. valid_until() is at most ttl less the margin after the send of a call that began or renewed
///    the session. The service cannot end the session earlier, even if messages are lost or late.
/// 3. When the session ends, each range held is reported Lost before any range is Acquired again.
/// 4. If a request had several attempts, only the answer to the last one counts. An older answer
///    could concern a range that was released since.
///
/// A request for a range that is not answered within a renewal period is sent again as the same
/// attempt. No other request for the range was sent in between, so any answer is valid. The answers
/// of a service that is slow for a long time therefore still count.
///
/// A range that another member has is requested once the table shows it free. A twelfth of the ttl
/// passes before the next request for a range in these cases, unless the table shows another owner:
/// - The service answered an error, because it may be overloaded.
/// - Another member took the range first, and the table does not show that. The table is older than
///   the answer, and each further old table would cause a useless request. Or the other member has
///   left the range already, and no table has shown it.
/// - The application gave the range up and should own it. Otherwise it could get it at once, and
///   give it up again, for ever.
///
/// While the service lists a member, no other member takes its ranges. So a Leave that fails is
/// repeated at that pause, for as long as the session may live. A member that leaves for good waits
/// for the answer, but no longer than a renewal period.
///
/// Units: stout::Duration, and TimePoint of any clock that also counts suspended time.
/// Owner: value type.   Threads: none of its own.   Errors: cannot fail.
/// Paper: Gray and Cheriton, "Leases" (SOSP'89); the fencing tokens are Chubby's sequencers
///   (OSDI'06).
class LeaseKeeper {
 public:
  /// Requires a non-empty address, ranges >= 1 and ttl > 0.
  LeaseKeeper(std::string address, RangeId ranges, Duration ttl);

  // --- Inputs. `now` never goes back. ---------------------------------------------------------

  void Start(TimePoint now);
  /// Leaves, at the application's wish; this is final.
  void Leave(TimePoint now);
  /// Ends the session, because the application cannot serve. Other members take the ranges; the
  /// ranges held are Lost. It joins again after Resume.
  void Suspend(TimePoint now);
  void Resume(TimePoint now);
  /// Takes the service's newest table.
  void OnTable(LeaseTable table, TimePoint now);
  /// Takes the addresses of all wanted owners. If the wanted owner of a range is a member, it
  /// should own the range; otherwise RightfulOwners decides. Members may learn of a wanted owner at
  /// different times: a range that its owner has handed over stays free until the wanted owner
  /// learns of it.
  void OnWantedOwners(std::map<RangeId, std::string> wanted, TimePoint now);
  void OnJoined(lease::Attempt attempt, Errc errc, SessionId session, TimePoint now);
  /// `sent`: as in the KeepAlive that this answers.
  void OnKeptAlive(SessionId session, TimePoint sent, Errc errc, TimePoint now);
  /// The Leave of this session was answered.
  void OnLeft(SessionId session, Errc errc, TimePoint now);
  void OnAcquired(lease::Attempt attempt, RangeId range, Errc errc, std::optional<Epoch> epoch,
                  TimePoint now);
  void OnReleased(lease::Attempt attempt, RangeId range, Errc errc, TimePoint now);
  /// The application has handed the range over, or gives it up.
  void OnHandedOver(RangeId range, Epoch epoch, TimePoint now);
  /// Call it at NextTick(). A call at any other time is harmless.
  void Tick(TimePoint now);

  // --- Outputs. -------------------------------------------------------------------------------

  /// The actions since the last call.
  [[nodiscard]] std::vector<lease::Action> TakeActions() { return std::exchange(actions_, {}); }
  [[nodiscard]] TimePoint NextTick() const;

  /// This member owns the range while the epoch is not zero and the time is before valid_until().
  [[nodiscard]] Epoch HeldEpoch(RangeId range) const;
  [[nodiscard]] TimePoint valid_until() const { return valid_until_; }
  /// Returns the session, which lives at least until valid_until(), unless that has passed. Zero:
  /// there is none.
  [[nodiscard]] SessionId session() const { return session_; }

 private:
  enum class Stage { kNew, kJoining, kMember, kLeaving, kEnded };
  enum class Holding { kNone, kAcquiring, kHeld, kHandingOver, kReleasing };
  struct Range {
    Holding holding = Holding::kNone;
    Epoch epoch = 0;             // while held, handed over or released
    lease::Attempt attempt = 0;  // of the request that is under way
    TimePoint due{};             // when a request is sent again; kNone: the end of a pause
  };
  enum class Rightful { kNotKnown, kOurs, kAnothers };
  /// A session that was told to end.
  struct Ending {
    SessionId session = 0;
    TimePoint over{};        // when no Leave is needed any more
    TimePoint due = kNever;  // of the next Leave; kNever: the last one is not answered
  };

  // Handles the end of the lease or of an attempt, then sends the requests that are due.
  void Advance(TimePoint now);
  // After a change of the members or of the wanted owners.
  void JudgeAll();
  void Expire(TimePoint now);
  void SendJoin(TimePoint now);
  void Renew(TimePoint now);
  void Reconcile(RangeId id, TimePoint now);
  void ReconcileFree(RangeId id, TimePoint now);
  void SendAcquire(RangeId id, TimePoint now);
  void SendRelease(RangeId id, Epoch epoch, TimePoint now);
  void FinishLeaving(TimePoint now);
  // Loses all ranges. `tell`: also sends Leave, because the service may not have ended the session.
  void EndSession(bool tell, TimePoint now);
  void SendLeave(SessionId session, TimePoint now);
  void RepeatLeaves(TimePoint now);
  void Rest(Range* range, TimePoint until);
  [[nodiscard]] const std::optional<Lease>& Known(RangeId id) const;

  std::string address_;
  Duration lease_;   // length of a session: ttl less the margin
  Duration period_;  // between renewals
  Duration pause_;   // before a retry after a failure

  Stage stage_ = Stage::kNew;
  bool wants_to_leave_ = false;
  bool suspended_ = false;
  lease::Attempt next_attempt_ = 1;
  lease::Attempt join_attempt_ = 0;
  TimePoint join_sent_{};
  TimePoint due_{};  // kJoining: the next attempt; kMember: the next renewal; kLeaving: its end
  SessionId session_ = 0;
  TimePoint valid_until_{};
  LeaseTable table_;
  std::map<RangeId, std::string> wanted_;
  std::vector<Rightful> rightful_;  // by the members in table_, and wanted_
  std::vector<Range> ranges_;
  std::vector<Ending> endings_;
  std::vector<lease::Action> actions_;
};

}  // namespace stout::internal
