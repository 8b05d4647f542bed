// A RangeKeeper of a shared range: all nodes write, and the owner merges.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "stout/core/hybrid_clock.h"
#include "stout/core/range_keeper.h"

namespace stout::internal {
namespace {

// Returns the stamp up to which all members have all states after a full merge, except for writes
// that took longer than `delay`. `newest` was found by that merge. A node whose clock is ahead may
// have given it, so it counts as no newer than the merge.
//
// A version that is no time is a count of the owner that began the sharing. All members had its
// changes then, except those that it made in the last moment.
Stamp MergedUpTo(const Stamp& newest, TimePoint merge_began, Duration delay) {
  const Version taken = HybridClock::VersionsIn(delay);
  if (newest.version < taken) return newest;
  const Version began = HybridClock::MicrosOf(merge_began) << HybridClock::kNumberBits;
  return {newest.epoch, std::max(std::min(newest.version, began), taken) - taken};
}

// Returns a time after about one interval: 0.5 to 1.5 times. All ranges of a node get the same
// times, so that they scan together: see SharedScans.
TimePoint NextMerge(TimePoint now, Duration interval) {
  const TimePoint earliest = SaturatingAdd(now, interval / 2);
  return SaturatingAdd(earliest, interval - earliest.time_since_epoch() % interval);
}

}  // namespace

// Makes the next call that a member needs to become ready.
void RangeKeeper::Prove(MemberIndex m, TimePoint now) {
  Member& member = members_[m];
  if (member.step == Step::kReady || member.attempt != 0 || !IsDue(member.due, now)) return;
  member.attempt = ++last_attempt_;
  if (member.step == Step::kFence) {
    actions_.push_back(range::Fence{member.attempt, m});
  } else {
    actions_.push_back(range::Read{member.attempt, m, {options_.identity_key, options_.mark_key}});
  }
}

// A member that fails is closed, without the changes that it lacks: the merge brings them. It is
// opened again once it proves that it has what it had.
void RangeKeeper::WriteShared(TimePoint now) {
  MemberMask hoped = 0;
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    Member& member = members_[m];
    if (!record_.members[m].in) continue;
    if ((set_.writers() & MaskOf(m)) == 0) {
      Prove(m, now);
      if (member.step != Step::kReady) {
        if (!member.lost) hoped |= MaskOf(m);
        continue;
      }
      if (member.lost) {  // until it is filled, under another epoch
        PauseMember(m, options_.member_timeout, now);
        continue;
      }
      member = {.progress = now, .wrote = now};
      set_.SetState(m, MemberState::kIn);
      actions_.push_back(range::Open{m});
      continue;
    }
    if (!IsStalled(m, now) && !member.lost && !member.lagging && !member.refused) continue;
    PauseMember(m, options_.walk.retry, now);
    Shut(m);
  }
  if (writes_shared_ || set_.writers() == 0) return;
  // The first members do not refuse writes while others need a moment longer.
  const TimePoint limit = SaturatingAdd(started_, options_.member_timeout);
  if (!set_.takes_writes() && (hoped & ~silent_) != 0 && !IsDue(limit, now)) return;
  writes_shared_ = true;
  actions_.push_back(range::Serve{});
}

// A member that left after the sharing, before the sweep, may be the only one that has an
// acknowledged change. The sweep compares states by the stamps of the shared epoch, and writes the
// newest again, under our epoch. So it waits until all these members can be read. It does not wait
// for ever, because stores forget deletes.
void RangeKeeper::ReadAwaited(TimePoint now) {
  if (set_.awaited() == 0 || proposed_) return;
  MemberMask lost = 0;
  ForEachMember(set_.awaited(), [&](MemberIndex m) {
    Member& member = members_[m];
    const bool reads = set_.state(m) == MemberState::kSource;
    if (!reads && !member.lost) Prove(m, now);
    if (member.lost) {
      lost |= MaskOf(m);
    } else if (!reads && member.step == Step::kReady) {
      member = {.progress = now};
      set_.SetState(m, MemberState::kSource);
      actions_.push_back(range::Open{m});
    } else if (reads && IsStalled(m, now)) {
      PauseMember(m, options_.walk.retry, now);
      Shut(m);
    }
  });
  if (set_.missing() != 0 && job_ != Job::kNone) StopJob(now);
  const TimePoint limit = SaturatingAdd(record_.merged, options_.tombstone_ttl / 2);
  const bool late = job_ == Job::kNone && IsDue(limit, now);
  if (lost == 0 && !late) return;
  RangeRecord record = Without(lost, now);
  if (late) record.merged = {};
  Propose(std::move(record));
}

void RangeKeeper::OwnShared(TimePoint now) {
  CloseEngines(now);
  // A merge proves members anew, and closing an engine forgets the store that was proved.
  if (proposed_ || set_.writers() != 0) return;
  if (MustEndSharing(now)) {
    if (job_ != Job::kNone) EndMerge(false, now);
    RangeRecord record = record_;
    record.shared = 0;
    record.merged = std::max(record_.merged, merged_at_);
    return Propose(std::move(record));
  }
  Merge(now);
}

// The owner's own changes are answered first. Requests go to the maps that only write.
void RangeKeeper::CloseEngines(TimePoint now) {
  const TimePoint limit = SaturatingAdd(shared_since_, 2 * options_.member_timeout);
  const bool late = set_.writers() != 0 && IsDue(limit, now);
  if (late) set_.FailAll(Errc::kUnknown);  // a member that lacks a change is closed, but stays in
  ForEachMember(set_.writers(), [&](MemberIndex m) {
    if (members_[m].busy && !late) return;
    members_[m] = {};
    Shut(m);
  });
}

// The next owner fills no member while an awaited member is away: see ReadAwaited. So the owner
// first merges all members that have what they had. It does not wait for ever, because stores
// forget deletes: a member that is away for long must be filled.
bool RangeKeeper::MustEndSharing(TimePoint now) {
  if (!want_shared_) return true;
  const TimePoint merged = std::max(record_.merged, merged_at_);
  if (IsDue(SaturatingAdd(merged, options_.tombstone_ttl / 4), now)) return true;
  MemberMask lost = 0;
  MemberMask in = 0;
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    if (!record_.members[m].in) continue;
    in |= MaskOf(m);
    if (members_[m].lost) lost |= MaskOf(m);
  }
  const bool changes = lost != 0 || lacks_ || in != wanted_;
  return changes && (in & ~lost & ~merged_) == 0;
}

// Most merges look only at states that are newer than the last full merge, less the time that most
// writes take. What takes longer waits for the next full merge.
void RangeKeeper::Merge(TimePoint now) {
  MemberMask ready = 0;
  MemberMask hoped = 0;
  if (job_ == Job::kNone && IsDue(merge_due_, now)) {
    job_ = Job::kProve;
    merges_new_ = false;
    merge_began_ = now;
    for (Member& member : members_) member = {.lost = member.lost};
  }
  if (job_ == Job::kProve) {
    for (MemberIndex m = 0; m < members_.size(); ++m) {
      if (!record_.members[m].in || members_[m].lost) continue;
      Prove(m, now);
      (members_[m].step == Step::kReady ? ready : hoped) |= MaskOf(m);
    }
    if (hoped != 0 && !IsDue(SaturatingAdd(merge_began_, options_.member_timeout), now)) return;
    job_ = Job::kMerge;
    merging_ = ready;
    merges_new_ = IsMerged() && merging_ == merged_ && now < full_merge_due_;
    if (std::popcount(ready) < 2) return EndMerge(true, now);
    walk_.emplace(options_.walk, set_, actions_, last_attempt_);
    walk_->Merge(ready, merges_new_ ? merged_stamp_ : Stamp(), now);
  }
  if (!walk_) return;
  walk_->Tick(now);
  next_tick_ = std::min(next_tick_, std::max(now, walk_->NextTick()));
  const std::optional<MemberIndex> awaited = walk_->awaited();
  const bool stalls = awaited && IsStalled(*awaited, now);
  const bool lost = awaited && members_[*awaited].lost;
  if (walk_->result() == RangeWalk::Result::kDone) return EndMerge(true, now);
  if (const auto failure = walk_->failure()) {  // it would fail again in the same way
    const auto& [member, key, errc] = *failure;
    actions_.push_back(range::Unfillable{member, key, errc});
    if (errc == Errc::kCorrupt) members_[member].lost = true;  // it must be filled
    EndMerge(false, now);
    merge_due_ = SaturatingAdd(now, options_.merge_interval);
    return;
  }
  if (stalls || lost || walk_->result() == RangeWalk::Result::kFailed) EndMerge(false, now);
}

void RangeKeeper::EndMerge(bool done, TimePoint now) {
  const Stamp newest = walk_ ? walk_->newest() : Stamp();
  walk_.reset();
  job_ = Job::kNone;
  if (!done) merged_ = 0;
  if (done && !merges_new_) merged_ = merging_;
  merge_due_ =
      done ? NextMerge(now, options_.merge_interval) : SaturatingAdd(now, options_.walk.retry);
  next_tick_ = now;  // the sharing may end now
  if (!done || merges_new_ || !IsMerged()) return;
  merged_at_ = merge_began_;
  merged_stamp_ = MergedUpTo(newest, merge_began_, options_.tombstone_ttl / 64);
  const bool asked_again = full_merge_due_ > merge_began_;  // a store came back meanwhile
  if (!asked_again) full_merge_due_ = SaturatingAdd(merged_at_, options_.tombstone_ttl / 32);
  if (merged_at_ < SaturatingAdd(record_.merged, options_.tombstone_ttl / 32)) return;
  RangeRecord record = record_;
  record.merged = merged_at_;
  Propose(std::move(record));
}

// Every member took part in the last merge.
bool RangeKeeper::IsMerged() const {
  for (MemberIndex m = 0; m < record_.members.size(); ++m) {
    if (record_.members[m].in && (merged_ & MaskOf(m)) == 0) return false;
  }
  return true;
}

}  // namespace stout::internal
