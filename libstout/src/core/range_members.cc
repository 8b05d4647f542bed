// A part of RangeKeeper: it notices that members fail, and chooses those that leave.
#include <algorithm>
#include <optional>
#include <utility>

#include "stout/core/range_keeper.h"

namespace stout::internal {

std::optional<MemberIndex> RangeKeeper::CalledMember(range::Attempt attempt) const {
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    if (members_[m].attempt == attempt && attempt != 0) return m;
  }
  return std::nullopt;
}

void RangeKeeper::SetSince(std::optional<TimePoint>& since, bool on, TimePoint now) {
  if (on != since.has_value()) since = on ? std::optional(now) : std::nullopt;
}

std::optional<TimePoint> RangeKeeper::SilentSince(MemberIndex m) const {
  const Member& member = members_[m];
  std::optional<TimePoint> since;
  const auto owes = [&](std::optional<TimePoint> from, TimePoint progress) {
    if (!from) return;
    const TimePoint silent = std::max(*from, progress);
    since = since ? std::min(*since, silent) : silent;
  };
  owes(member.busy, member.progress);
  owes(member.dirty, member.wrote);
  owes(member.probed, member.progress);
  if (walk_ && walk_->awaited() == m) {
    owes(walk_->awaited_since(), walk_->copies() ? member.wrote : member.progress);
  }
  return since;
}

bool RangeKeeper::IsStalled(MemberIndex m, TimePoint now) {
  const auto silence = SilentSince(m);
  if (!silence) return false;
  TickSoon(now);
  return IsDue(SaturatingAdd(*silence, options_.member_timeout), now);
}

void RangeKeeper::PauseMember(MemberIndex m, Duration pause, TimePoint now) {
  members_[m] = {.due = SaturatingAdd(now, pause)};
  (void)IsDue(members_[m].due, now);
}

void RangeKeeper::OnLost(MemberIndex member, TimePoint now) {
  set_.SetLost(member);
  const bool targeted = HasTarget() && member == target_;
  const bool follows = set_.state(member) == MemberState::kLazy;
  const bool counts = record_.members[member].in || targeted || follows;
  if (counts && !std::exchange(members_[member].lost, true)) {
    merged_ = 0;  // what was written since the last merge may be at one other member alone
    merge_due_ = now;
  } else if (!counts && ((set_.awaited() | set_.sources()) & MaskOf(member)) != 0) {
    // It may have come back whole, under another address. It proves that, or is lost then.
    PauseMember(member, options_.walk.retry, now);
    if (set_.state(member) == MemberState::kSource) Shut(member);
  }
  Advance(now);
}

// The members may have answered while this process did not run. Their answers are still on the way.
void RangeKeeper::ForgiveDelay(TimePoint now) {
  if (next_tick_ >= now) return;
  const Duration late = now - next_tick_;
  const auto later = [&](TimePoint since, TimePoint progress) {
    return std::min(now, std::max(since, progress) + late);
  };
  for (Member& member : members_) {
    if (member.busy) member.busy = later(*member.busy, member.progress);
    if (member.dirty) member.dirty = later(*member.dirty, member.wrote);
    if (member.probed) member.probed = later(*member.probed, member.progress);
  }
  if (walk_ && walk_->awaited()) {
    const Member& member = members_[*walk_->awaited()];
    walk_->AwaitSince(
        later(walk_->awaited_since(), walk_->copies() ? member.wrote : member.progress));
  }
  started_ += late;
}

MemberMask RangeKeeper::Unwanted() const {
  const bool rests =
      (job_ == Job::kNone || FillsLazy()) && !SweepIsDue() && record_.strong == want_strong_;
  return rests && IsComplete() ? set_.in() & ~wanted_ : 0;
}

RangeKeeper::Failures RangeKeeper::FindFailures(TimePoint now) {
  Failures found;
  const MemberMask unwanted = Unwanted();
  ForEachMember(set_.writers() & ~set_.lazy(), [&](MemberIndex m) {
    Member& member = members_[m];
    SetSince(member.unwanted, (unwanted & MaskOf(m)) != 0, now);
    if (member.lost) found.lost |= MaskOf(m);
    const auto fails = [&](std::optional<TimePoint> since) {
      if (!since) return;
      found.failing |= MaskOf(m);
      found.since[m] = std::max(found.since[m], *since);
    };
    if (IsStalled(m, now)) {
      const auto silence = SilentSince(m);
      found.silent |= MaskOf(m);
      if (IsDue(SaturatingAdd(*silence, 2 * options_.member_timeout), now)) {
        found.hopeless |= MaskOf(m);
      }
      fails(silence);
    }
    fails(member.lagging);
    fails(member.refused);
    fails(member.unwanted);
  });
  return found;
}

void RangeKeeper::DropMembers(TimePoint now) {
  const Failures found = FindFailures(now);
  const MemberMask in = set_.in();
  const MemberMask lost = found.lost;
  MemberMask failing = found.failing;
  const MemberMask useless = lost | failing | ~(fills_lazy_ ? lazy_ : wanted_ | lazy_);
  if (Fills() && !job_proposed_ && (useless & MaskOf(target_)) != 0) StopJob(now);
  // A member that is lost has not all data. Other members have, even if they do not answer now.
  if ((in & ~lost & ~found.hopeless) == 0) {
    return Lose((in & ~lost) == 0 ? GivenUp::kLost : GivenUp::kSilent);
  }
  MemberMask leaving = in & lost;
  failing &= in & ~lost;
  if ((in & ~lost & ~failing) == 0) failing = LeaveOne(failing, failing & ~found.silent);
  if (failing != 0) {
    TimePoint newest{};
    ForEachMember(failing, [&](MemberIndex m) { newest = std::max(newest, found.since[m]); });
    const MemberMask staying = in & ~lost & ~failing;
    bool proven = false;
    ForEachMember(staying, [&](MemberIndex m) { proven |= members_[m].progress > newest; });
    if (proven) {
      leaving |= failing;
    } else {
      Probe(staying, now);
    }
  } else {
    for (Member& member : members_) member.probed.reset();
  }
  if (leaving != 0 && !proposed_) Propose(Without(leaving, now));
}

// A member that leaves between the end of sharing and the sweep is awaited, unless it lost states.
// It may lack any delete since the last merge, so its time away begins there in both cases.
RangeRecord RangeKeeper::Without(MemberMask members, TimePoint now) const {
  RangeRecord record = record_;
  const bool was_shared = record_.merged != TimePoint{};
  const TimePoint since = was_shared ? record_.merged : now;
  constexpr Duration kTellsApart = std::chrono::microseconds(1);  // the registry's precision
  ForEachMember(members, [&](MemberIndex m) {
    const bool awaited = was_shared && !members_[m].lost;
    record.members[m].in = false;
    record.members[m].since = awaited || !was_shared ? since : since - kTellsApart;
  });
  return record;
}

// A lazy member may be silent for as long as its engine has room for the changes.
void RangeKeeper::DropFollowers(TimePoint now) {
  ForEachMember(set_.lazy(), [&](MemberIndex m) {
    const Member& member = members_[m];
    if (!member.lost && !member.lagging && (lazy_ & MaskOf(m)) != 0) return;
    members_[m] = {.due = SaturatingAdd(now, options_.member_timeout)};
    Shut(m);
  });
}

// All members fail. Of those that answer, the one that answered last stays, preferably one that has
// refused nothing. Returns the others.
MemberMask RangeKeeper::LeaveOne(MemberMask failing, MemberMask answering) {
  std::optional<MemberIndex> best;
  const auto is_better = [](const Member& a, const Member& b) {
    return std::pair(!a.refused, a.progress) > std::pair(!b.refused, b.progress);
  };
  ForEachMember(answering, [&](MemberIndex m) {
    if (!best || is_better(members_[m], members_[*best])) best = m;
  });
  if (!best) return failing;
  members_[*best].lagging.reset();
  members_[*best].refused.reset();
  set_.SetLacking(*best, false);
  return failing & ~MaskOf(*best);
}

// Asks idle members for any answer, repeatedly, because one lost message is not a failure.
void RangeKeeper::Probe(MemberMask members, TimePoint now) {
  ForEachMember(members, [&](MemberIndex m) {
    Member& member = members_[m];
    if (!member.probed) member.due = member.probed.emplace(now);
    if (!IsDue(member.due, now)) return;
    if (member.attempt == 0) member.attempt = ++last_attempt_;
    member.due = SaturatingAdd(now, options_.member_timeout / 4);
    actions_.push_back(range::Read{member.attempt, m, {options_.identity_key, options_.mark_key}});
  });
}

}  // namespace stout::internal
