#include "stout/core/lease_keeper.h"

#include <algorithm>

namespace stout::internal {
namespace {

// Renewals per session time: two may be lost before the third is too late. As in Chubby.
constexpr int kPeriods = 3;
// A failed call is repeated this number of times in a renewal period.
constexpr int kPauses = 4 * kPeriods;
// The share of the ttl by which clocks may run apart: a hundred times the limit of NTP (500 ppm).
constexpr int kMargin = 20;

}  // namespace

LeaseKeeper::LeaseKeeper(std::string address, RangeId ranges, Duration ttl)
    : address_(std::move(address)),
      lease_(ttl - ttl / kMargin),
      period_(ttl / kPeriods),
      pause_(ttl / kPauses),
      rightful_(ranges, Rightful::kNotKnown),
      ranges_(ranges) {}

void LeaseKeeper::Start(TimePoint now) {
  if (stage_ != Stage::kNew) return;
  stage_ = Stage::kJoining;
  due_ = now;
  Advance(now);
}

void LeaseKeeper::Leave(TimePoint now) {
  wants_to_leave_ = true;
  if (stage_ == Stage::kEnded) actions_.push_back(lease::Left{});
  Advance(now);
}

void LeaseKeeper::Suspend(TimePoint now) {
  suspended_ = true;
  if (stage_ == Stage::kMember) EndSession(true, now);
  join_attempt_ = 0;  // if an attempt under way begins a session, it is left again
  Advance(now);
}

void LeaseKeeper::Resume(TimePoint now) {
  suspended_ = false;
  due_ = std::max(due_, now);
  Advance(now);
}

void LeaseKeeper::OnTable(LeaseTable table, TimePoint now) {
  const bool same_members = table.members == table_.members;
  table_ = std::move(table);
  if (!same_members) JudgeAll();
  Advance(now);
}

void LeaseKeeper::OnWantedOwners(std::map<RangeId, std::string> wanted, TimePoint now) {
  if (wanted == wanted_) return;
  wanted_ = std::move(wanted);
  JudgeAll();
  Advance(now);
}

void LeaseKeeper::OnJoined(lease::Attempt attempt, Errc errc, SessionId session, TimePoint now) {
  const bool awaited = stage_ == Stage::kJoining && attempt == join_attempt_;
  if (awaited && errc == Errc::kBadOptions) {
    stage_ = Stage::kEnded;
    actions_.push_back(lease::Refused{errc});
  } else if (awaited && errc == Errc::kOk) {
    stage_ = Stage::kMember;
    session_ = session;
    valid_until_ = join_sent_ + lease_;
    due_ = join_sent_ + period_;
  } else if (awaited) {
    join_attempt_ = 0;
    due_ = now + pause_;
  } else if (errc == Errc::kOk) {
    SendLeave(session, now);  // it began too late: nothing uses it
  }
  Advance(now);
}

void LeaseKeeper::OnKeptAlive(SessionId session, TimePoint sent, Errc errc, TimePoint now) {
  if (session == session_ && stage_ == Stage::kMember) {
    if (errc == Errc::kOk) {
      // If the answer arrives after valid_until_, all ranges are lost already.
      if (now < valid_until_) valid_until_ = std::max(valid_until_, sent + lease_);
    } else if (errc == Errc::kFenced) {
      EndSession(false, now);
    } else {
      due_ = std::min(due_, now + pause_);
    }
  }
  Advance(now);
}

void LeaseKeeper::OnLeft(SessionId session, Errc errc, TimePoint now) {
  const auto ending = std::find_if(endings_.begin(), endings_.end(), [session](const Ending& each) {
    return each.session == session;
  });
  if (ending != endings_.end()) {
    ending->due = now + pause_;
    if (errc == Errc::kOk || errc == Errc::kFenced) endings_.erase(ending);
  }
  Advance(now);
}

void LeaseKeeper::OnAcquired(lease::Attempt attempt, RangeId id, Errc errc,
                             std::optional<Epoch> epoch, TimePoint now) {
  Expire(now);
  Range& range = ranges_[id];
  if (range.holding == Holding::kAcquiring && range.attempt == attempt) {
    if (errc == Errc::kFenced) {
      EndSession(false, now);
    } else if (errc != Errc::kOk || !epoch) {
      Rest(&range, now + pause_);
    } else if (wants_to_leave_ || rightful_[id] == Rightful::kAnothers) {
      SendRelease(id, *epoch, now);  // the application never saw the range
    } else {
      range = {Holding::kHeld, *epoch};
      actions_.push_back(lease::Acquired{id, *epoch});
    }
  }
  Advance(now);
}

void LeaseKeeper::OnReleased(lease::Attempt attempt, RangeId id, Errc errc, TimePoint now) {
  Expire(now);
  Range& range = ranges_[id];
  if (range.holding == Holding::kReleasing && range.attempt == attempt) {
    if (errc == Errc::kFenced) {
      EndSession(false, now);
    } else if (errc == Errc::kOk) {
      // The table will show the release later. Until then the range must not count as held.
      if (Known(id) && Known(id)->epoch == range.epoch) table_.ranges[id].reset();
      // No other member takes a range that should be ours. We may have to give it up again at once,
      // so we pause first.
      Rest(&range, rightful_[id] == Rightful::kAnothers ? TimePoint() : now + pause_);
    } else {
      range.due = now + pause_;
    }
  }
  Advance(now);
}

void LeaseKeeper::OnHandedOver(RangeId id, Epoch epoch, TimePoint now) {
  Expire(now);
  const Holding holding = ranges_[id].holding;
  const bool ours = holding == Holding::kHeld || holding == Holding::kHandingOver;
  if (ours && ranges_[id].epoch == epoch) SendRelease(id, epoch, now);
  Advance(now);
}

void LeaseKeeper::Tick(TimePoint now) { Advance(now); }

void LeaseKeeper::Advance(TimePoint now) {
  Expire(now);
  RepeatLeaves(now);
  if (stage_ == Stage::kMember) {
    if (now >= due_) Renew(now);
    for (RangeId id = 0; id < ranges_.size(); ++id) Reconcile(id, now);
  }
  if (wants_to_leave_) FinishLeaving(now);
  if (stage_ == Stage::kJoining && !suspended_ && now >= due_) SendJoin(now);
}

void LeaseKeeper::JudgeAll() {
  const std::vector<std::string>& members = table_.members;
  const auto is_member = [&members](const std::string& address) {
    return std::binary_search(members.begin(), members.end(), address);
  };
  // A table from before this member joined does not list it.
  if (!is_member(address_)) {
    std::fill(rightful_.begin(), rightful_.end(), Rightful::kNotKnown);
    return;
  }
  const std::vector<std::size_t> owners =
      RightfulOwners(members, static_cast<RangeId>(rightful_.size()));
  for (RangeId id = 0; id < rightful_.size(); ++id) {
    const auto wanted = wanted_.find(id);
    const std::string& owner =
        wanted != wanted_.end() && is_member(wanted->second) ? wanted->second : members[owners[id]];
    rightful_[id] = owner == address_ ? Rightful::kOurs : Rightful::kAnothers;
  }
}

void LeaseKeeper::Expire(TimePoint now) {
  if (stage_ == Stage::kMember && now >= valid_until_) EndSession(true, now);
}

void LeaseKeeper::SendJoin(TimePoint now) {
  stage_ = Stage::kJoining;
  join_attempt_ = next_attempt_++;
  join_sent_ = now;
  due_ = now + period_;
  actions_.push_back(lease::Join{join_attempt_});
}

void LeaseKeeper::Renew(TimePoint now) {
  due_ = now + period_;
  actions_.push_back(lease::KeepAlive{session_, now});
}

void LeaseKeeper::Reconcile(RangeId id, TimePoint now) {
  Range& range = ranges_[id];
  switch (range.holding) {
    case Holding::kNone:
    case Holding::kAcquiring:
      ReconcileFree(id, now);
      break;
    case Holding::kHeld:
    case Holding::kHandingOver:
      if (Known(id) && Known(id)->epoch > range.epoch && Known(id)->session != session_) {
        // Epochs only grow, so another member has the range.
        Rest(&range, TimePoint());
        actions_.push_back(lease::Lost{id});
      } else if (range.holding == Holding::kHeld &&
                 (wants_to_leave_ || rightful_[id] == Rightful::kAnothers)) {
        range.holding = Holding::kHandingOver;
        actions_.push_back(lease::HandOver{id, range.epoch});
      }
      break;
    case Holding::kReleasing:
      if (now >= range.due) SendRelease(id, range.epoch, now);
      break;
  }
}

void LeaseKeeper::ReconcileFree(RangeId id, TimePoint now) {
  // The answer to an earlier Acquire was lost. If it is repeated, it answers the epoch.
  const bool left_over = Known(id) && Known(id)->session == session_;
  const bool anothers = Known(id) && !left_over;
  const bool pauses = ranges_[id].holding == Holding::kNone;
  // The table will show when the other owner is gone. A request under way still needs its answer.
  if (now < ranges_[id].due && !(pauses && anothers)) return;
  if (!wants_to_leave_ && rightful_[id] == Rightful::kOurs && !anothers) {
    SendAcquire(id, now);
  } else if (left_over) {
    SendRelease(id, Known(id)->epoch, now);
  } else {
    Rest(&ranges_[id], TimePoint());
  }
}

void LeaseKeeper::SendAcquire(RangeId id, TimePoint now) {
  const bool again = ranges_[id].holding == Holding::kAcquiring;
  const lease::Attempt attempt = again ? ranges_[id].attempt : next_attempt_++;
  ranges_[id] = {Holding::kAcquiring, 0, attempt, now + period_};
  actions_.push_back(lease::Acquire{attempt, session_, id});
}

void LeaseKeeper::SendRelease(RangeId id, Epoch epoch, TimePoint now) {
  const bool again = ranges_[id].holding == Holding::kReleasing;  // so under the same epoch
  const lease::Attempt attempt = again ? ranges_[id].attempt : next_attempt_++;
  ranges_[id] = {Holding::kReleasing, epoch, attempt, now + period_};
  actions_.push_back(lease::Release{attempt, session_, id, epoch});
}

void LeaseKeeper::FinishLeaving(TimePoint now) {
  if (stage_ == Stage::kEnded) return;
  if (stage_ == Stage::kMember) {
    const bool nothing_held = std::all_of(ranges_.begin(), ranges_.end(), [](const Range& range) {
      return range.holding == Holding::kNone;
    });
    if (!nothing_held) return;
    SendLeave(session_, now);
  }
  if (stage_ != Stage::kLeaving) {
    stage_ = Stage::kLeaving;
    valid_until_ = TimePoint();
    due_ = now + period_;
  }
  if (!endings_.empty() && now < due_) return;
  stage_ = Stage::kEnded;
  actions_.push_back(lease::Left{});
}

void LeaseKeeper::EndSession(bool tell, TimePoint now) {
  for (RangeId id = 0; id < ranges_.size(); ++id) {
    if (HeldEpoch(id) != 0) actions_.push_back(lease::Lost{id});
    Rest(&ranges_[id], TimePoint());
  }
  // Otherwise all members would have to wait until the service ends the session.
  if (tell) SendLeave(session_, now);
  session_ = 0;
  valid_until_ = TimePoint();
  stage_ = Stage::kJoining;
  due_ = now;
}

void LeaseKeeper::SendLeave(SessionId session, TimePoint now) {
  endings_.push_back({.session = session, .over = now + lease_});
  actions_.push_back(lease::Leave{session});
}

void LeaseKeeper::RepeatLeaves(TimePoint now) {
  std::erase_if(endings_, [now](const Ending& ending) { return now >= ending.over; });
  for (Ending& ending : endings_) {
    if (now < ending.due) continue;
    ending.due = kNever;
    actions_.push_back(lease::Leave{ending.session});
  }
}

void LeaseKeeper::Rest(Range* range, TimePoint until) { *range = {Holding::kNone, 0, 0, until}; }

const std::optional<Lease>& LeaseKeeper::Known(RangeId id) const {
  static constexpr std::optional<Lease> kFree;
  return id < table_.ranges.size() ? table_.ranges[id] : kFree;
}

Epoch LeaseKeeper::HeldEpoch(RangeId id) const {
  const Range& range = ranges_[id];
  const bool held = range.holding == Holding::kHeld || range.holding == Holding::kHandingOver;
  return held ? range.epoch : 0;
}

TimePoint LeaseKeeper::NextTick() const {
  if (stage_ == Stage::kNew || stage_ == Stage::kEnded) return kNever;
  TimePoint next = stage_ == Stage::kJoining && suspended_ ? kNever : due_;
  for (const Ending& ending : endings_) next = std::min(next, ending.due);
  if (stage_ != Stage::kMember) return next;
  next = std::min(next, valid_until_);
  for (const Range& range : ranges_) {
    if (range.due != TimePoint()) next = std::min(next, range.due);
  }
  return next;
}

}  // namespace stout::internal
