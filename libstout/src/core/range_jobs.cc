// A RangeKeeper at work: marks, fills, sweeps, and changes of the mode.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "stout/core/range_keeper.h"

namespace stout::internal {
namespace {

// Guess: a member that refuses a key is seldom mended sooner, and a fill reads all keys.
constexpr Duration kLongestPause = std::chrono::minutes(5);

}  // namespace

// --- Marks ---------------------------------------------------------------------------------------

void RangeKeeper::StartMark(TimePoint now) {
  // The write of a mark takes a version, too.
  const bool changed = set_.version() > (marking_ == 0 ? 0 : marking_ + 1);
  if (mark_barrier_ != 0 || mark_change_ != 0 || !(changed || refresh_mark_)) return;
  if (!IsDue(mark_due_, now)) return;
  const auto refuses = [](const Member& member) { return member.refused.has_value(); };
  if (std::any_of(members_.begin(), members_.end(), refuses)) return;  // it lacks a change
  marking_ = set_.version();
  // Tokens of causal reads are whole milliseconds, rounded up. A session that has seen this mark
  // would otherwise wait for the next.
  marking_at_ = std::chrono::floor<std::chrono::milliseconds>(now);
  refresh_mark_ = false;
  mark_barrier_ = AskBarrier({});
}

void RangeKeeper::OnMark(Errc errc, TimePoint now) {
  mark_barrier_ = 0;
  mark_due_ = SaturatingAdd(now, options_.mark_interval);
  if (errc != Errc::kOk) {
    marking_ = mark_.version;
    return;
  }
  mark_change_ = ++last_attempt_;
  StoredState state{
      .found = true, .value = EncodeMark({set_.epoch(), marking_, marking_at_}), .stamp = {}};
  actions_.push_back(range::Change{mark_change_, options_.mark_key, std::move(state), set_.in()});
}

void RangeKeeper::OnMarkChanged(Errc errc, TimePoint now) {
  mark_change_ = 0;
  if (errc == Errc::kOk) {
    mark_ = {set_.epoch(), marking_, marking_at_};
  } else {  // begin again with a barrier, although nothing may have changed
    marking_ = mark_.version;
    mark_due_ = SaturatingAdd(now, options_.walk.retry);
  }
}

void RangeKeeper::RefreshMark(TimePoint now) {
  refresh_mark_ = true;
  Advance(now);
}

ReplyId RangeKeeper::AskBarrier(const Need& need) {
  const ReplyId id = ++last_attempt_ | kKeepersOwn;
  actions_.push_back(range::Barrier{id, set_.Ask(id, need)});
  return id;
}

// --- Jobs ----------------------------------------------------------------------------------------

bool RangeKeeper::settled() const {
  if (stage_ == Stage::kShared && !options_.only_writes) {
    return want_shared_ && IsMerged();
  }
  return serving() && want_shared_ == (record_.shared != 0) && !proposed_ && job_ == Job::kNone &&
         IsComplete() && set_.in() == wanted_ && !SweepIsDue() && record_.strong == want_strong_;
}

void RangeKeeper::WantStrong(bool strong, TimePoint now) {
  want_strong_ = strong;
  if (!strong && job_ == Job::kStrong && !job_proposed_) StopJob(now);
  // A transaction under way may be in force.
  set_.SetStrong(strong || record_.strong || (proposed_ && proposed_->strong));
  Advance(now);
}

void RangeKeeper::WantShared(bool shared, TimePoint now) {
  want_shared_ = shared;
  if (!shared && job_ == Job::kShare && !job_proposed_) StopJob(now);
  Advance(now);
}

void RangeKeeper::Work(TimePoint now) {
  if (walk_) {
    walk_->Tick(now);
    next_tick_ = std::min(next_tick_, std::max(now, walk_->NextTick()));
    const RangeWalk::Result result = walk_->result();
    const std::optional<RangeWalk::Failure> failure = walk_->failure();
    if (result != RangeWalk::Result::kRuns) walk_.reset();
    if (result == RangeWalk::Result::kFailed) {
      const bool sweeps = job_ == Job::kSweep;
      StopJob(now);
      if (failure) OnWalkFailed(*failure, sweeps, now);
    } else if (result == RangeWalk::Result::kDone && job_ == Job::kSweep) {
      AwaitBarrier(Job::kSwept);
    } else if (result == RangeWalk::Result::kDone && (lazy_ & MaskOf(target_)) != 0) {
      set_.SetState(target_, MemberState::kLazy);
      job_ = Job::kNone;
      next_tick_ = now;  // members that are not wanted may leave now
    } else if (result == RangeWalk::Result::kDone) {
      // From now on answers wait for the target, so it has what is answered after its barrier.
      set_.SetState(target_, MemberState::kEntering);
      AwaitBarrier(Job::kEnter);
    }
  }
  // A store may just have refused a change. The walk need not be repeated for that.
  if (barrier_failed_ && record_.strong && !want_strong_) StopJob(now);
  if (barrier_failed_ && IsDue(job_due_, now)) AwaitBarrier(job_);
  if (FillsLazy() && HasMoreUrgentJob(now)) StopJob(now);
  if (barrier_done_ && !proposed_) EndJob(now);
  if (job_ == Job::kNone && !proposed_ && IsDue(job_due_, now)) ChooseJob(now);
}

// A member that failed to be filled is no reason: it may fail for ever.
bool RangeKeeper::HasMoreUrgentJob(TimePoint now) {
  bool any = record_.strong != want_strong_;
  ForEachMember(wanted_ & ~set_.writers(), [&](MemberIndex m) {
    if (!members_[m].tried && IsDue(members_[m].due, now)) any = true;
  });
  return any;
}

// The sweep comes first: a member may lack a delete that the others do not remember for ever. In
// mode sc a sweep that fails holds up no fill.
void RangeKeeper::ChooseJob(TimePoint now) {
  if (set_.missing() != 0) return;
  if (HasNoRoom()) return Lose(GivenUp::kFull);  // the next owner forgets the former members
  const auto next = NextToFill(now);
  if (record_.strong && !want_strong_) {
    RangeRecord record = record_;
    record.strong = false;
    Propose(std::move(record));
  } else if (SweepIsDue() && IsDue(sweep_due_, now)) {
    StartSweep(now);
  } else if (SweepIsDue() && !record_.strong) {
    return;
  } else if (!record_.strong && want_strong_) {
    AwaitBarrier(Job::kStrong);
  } else if (next) {
    StartFill(*next);
  } else if (want_shared_ && !record_.strong && IsComplete() && set_.in() == wanted_) {
    merge_began_ = now;
    AwaitBarrier(Job::kShare);
  }
}

bool RangeKeeper::HasNoRoom() const {
  const MemberMask needed = set_.in() | wanted_ | lazy_ | set_.awaited();
  return lacks_ && record_.members.size() == kMaxMembers && needed != ~MemberMask{0};
}

std::optional<MemberIndex> RangeKeeper::NextToFill(TimePoint now) {
  std::optional<MemberIndex> next;
  const auto look = [&](MemberIndex m) {
    if (!next && IsDue(members_[m].due, now)) next = m;
  };
  ForEachMember(wanted_ & ~set_.writers(), look);
  ForEachMember(lazy_ & ~set_.writers(), look);
  return next;
}

void RangeKeeper::StartSweep(TimePoint now) {
  job_ = Job::kSweep;
  walk_.emplace(options_.walk, set_, actions_, last_attempt_);
  // The wait for members of a shared epoch counts from the last merge: see ReadAwaited.
  const TimePoint from = record_.merged != TimePoint{} ? record_.merged : now;
  walk_->Sweep(failed_sweeps_, SaturatingAdd(from, options_.tombstone_ttl / 8), now);
}

void RangeKeeper::StartFill(MemberIndex target) {
  job_ = Job::kFence;
  target_ = target;
  fills_lazy_ = (lazy_ & MaskOf(target)) != 0;
  members_[target] = {.attempt = ++last_attempt_, .pause = members_[target].pause};
  actions_.push_back(range::Fence{last_attempt_, target});
}

void RangeKeeper::OnTargetFenced(TimePoint now) {
  members_[target_].progress = now;
  fill_since_ = set_.version();
  fill_ = ++last_attempt_;
  set_.SetState(target_, MemberState::kFilling);
  actions_.push_back(range::Open{target_});
  AwaitBarrier(Job::kOpen);
}

// The walk begins again after a pause that grows. A member that is in and cannot be read leaves if
// it is corrupt. Otherwise all may lack the same right, so only one that is not wanted leaves.
void RangeKeeper::OnWalkFailed(const RangeWalk::Failure& failure, bool sweeps, TimePoint now) {
  const MemberIndex m = failure.member;
  Member& member = members_[m];
  member.pause = std::min(std::max(2 * member.pause, options_.member_timeout), kLongestPause);
  actions_.push_back(range::Unfillable{m, failure.key, failure.errc});
  const bool in = (set_.in() & MaskOf(m)) != 0;
  TimePoint& again = sweeps ? sweep_due_ : in ? job_due_ : member.due;
  again = SaturatingAdd(now, member.pause);
  failed_sweeps_ += sweeps ? 1 : 0;
  const bool wanted = (wanted_ & MaskOf(m)) != 0;
  const bool leaves = failure.errc == Errc::kCorrupt || !wanted;
  if (in && failure.key.empty() && leaves) member.refused = now;
  const bool is_source = (set_.sources() & MaskOf(m)) != 0;
  if (is_source && failure.key.empty() && failure.errc == Errc::kCorrupt) member.lost = true;
}

void RangeKeeper::StartCopy(TimePoint now) {
  job_ = Job::kCopy;
  RangeRecord::Member filled = record_.members[target_];
  filled.entered = {set_.epoch(), fill_};
  const Duration ttl = options_.tombstone_ttl;
  const bool recent = SaturatingAdd(filled.since, ttl / 2) > now;
  const bool newer_wins = recent && !record_.strong;
  walk_.emplace(options_.walk, set_, actions_, last_attempt_);
  walk_->Fill({.target = target_,
               .source = set_.ChooseReader(set_.in(), last_attempt_),
               .since = fill_since_,
               .newer_wins_until =
                   newer_wins ? SaturatingAdd(filled.since, ttl - ttl / 8) : TimePoint::min(),
               .last = {.key = options_.identity_key, .value = filled.Identity(), .version = fill_},
               .skips_refused = fills_lazy_},
              now);
}

void RangeKeeper::AwaitBarrier(Job job) {
  job_ = job;
  barrier_failed_ = false;
  job_barrier_ = AskBarrier(job == Job::kEnter ? Need{.only = MaskOf(target_)} : Need{});
}

// All members have what the job needs: one transaction ends it.
void RangeKeeper::EndJob(TimePoint now) {
  barrier_done_ = false;
  job_proposed_ = true;
  RangeRecord record = record_;
  if (job_ == Job::kEnter) {
    RangeRecord::Member& filled = record.members[target_];
    const Stamp fill{set_.epoch(), fill_};
    filled = {filled.datalet, true, now, fill, members_[target_].incarnation};
  } else if (job_ == Job::kSwept) {
    record.swept = set_.epoch() - 1;
    record.closed.clear();
    record.merged = {};
  } else if (job_ == Job::kShare) {
    record.shared = set_.epoch();
    record.merged = merge_began_;
  } else {
    record.strong = true;
  }
  Propose(std::move(record));
}

void RangeKeeper::StopJob(TimePoint now) {
  const bool fills = HasTarget();
  walk_.reset();
  if (job_barrier_ != 0) (void)set_.Withdraw(job_barrier_);
  job_barrier_ = 0;
  barrier_done_ = barrier_failed_ = false;
  job_ = Job::kNone;
  job_due_ = SaturatingAdd(now, options_.walk.retry);
  if (!fills) return;
  members_[target_] = {.due = SaturatingAdd(now, options_.member_timeout),
                       .pause = members_[target_].pause,
                       .tried = true};
  if (set_.state(target_) != MemberState::kOut) Shut(target_);
}

void RangeKeeper::Shut(MemberIndex member) {
  set_.SetState(member, MemberState::kOut);
  actions_.push_back(range::Shut{member});
}

}  // namespace stout::internal
