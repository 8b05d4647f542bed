#include "stout/core/range_keeper.h"

#include <algorithm>
#include <utility>

namespace stout::internal {
namespace {

MemberMask InOf(const RangeRecord& record) {
  MemberMask in = 0;
  for (MemberIndex m = 0; m < record.members.size(); ++m) {
    if (record.members[m].in) in |= MaskOf(m);
  }
  return in;
}

bool Contains(const std::vector<std::string>& datalets, const std::string& datalet) {
  return std::find(datalets.begin(), datalets.end(), datalet) != datalets.end();
}

}  // namespace

RangeKeeper::RangeKeeper(RangeId range, Recorded<RangeRecord> record, ReplicaSet& set,
                         RangeKeeperOptions options)
    : range_(range),
      set_(set),
      options_(std::move(options)),
      record_(std::move(record.value)),
      revision_(record.revision),
      want_strong_(record_.strong),
      want_shared_(record_.shared != 0),
      members_(record_.members.size()) {
  for (const RangeRecord::Member& member : record_.members) {
    if (member.in) wanted_datalets_.push_back(member.datalet);
  }
}

// --- Inputs --------------------------------------------------------------------------------------

void RangeKeeper::Start(TimePoint now) {
  if (stage_ != Stage::kNew) return;
  stage_ = record_.shared != 0 ? Stage::kShared : Stage::kTakingOver;
  started_ = now;
  std::vector<std::string> kept = wanted_datalets_;
  kept.insert(kept.end(), followers_.begin(), followers_.end());
  RemoveFormerMembers(record_, kept);
  set_.SetStrong(want_strong_ || record_.strong);
  FindWanted();
  if (stage_ == Stage::kShared) {
    set_.Adopt(record_);
    if (!options_.only_writes) actions_.push_back(range::Serve{});
  }
  Advance(now);
}

void RangeKeeper::Want(std::vector<std::string> datalets, TimePoint now) {
  if (datalets.empty()) return;  // all members but one would leave
  wanted_datalets_ = std::move(datalets);
  if (stage_ == Stage::kNew) return;
  FindWanted();
  ForEachMember(wanted_ & set_.in(), [this](MemberIndex m) { members_[m].lagging.reset(); });
  Advance(now);
}

void RangeKeeper::Follow(std::vector<std::string> datalets, TimePoint now) {
  followers_ = std::move(datalets);
  if (stage_ == Stage::kNew) return;
  FindWanted();
  Advance(now);
}

void RangeKeeper::FindWanted() {
  lacks_ = false;
  wanted_ = Find(wanted_datalets_);
  lazy_ = Find(followers_) & ~wanted_;
  members_.resize(record_.members.size());
}

// Adds those that the record lacks, unless a transaction is under way: it names the members that
// the record will have.
MemberMask RangeKeeper::Find(const std::vector<std::string>& datalets) {
  MemberMask mask = 0;
  std::vector<RangeRecord::Member>& members = record_.members;
  for (const std::string& datalet : datalets) {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const auto& member) { return member.datalet == datalet; });
    const auto m = static_cast<MemberIndex>(found - members.begin());
    const bool added = m == members.size() && m < kMaxMembers && !proposed_;
    if (added) members.push_back({.datalet = datalet});
    m < members.size() ? mask |= MaskOf(m) : lacks_ = true;
  }
  return mask;
}

void RangeKeeper::OnReachable(MemberIndex member, TimePoint now) {
  members_[member].due = {};
  members_[member].tried = false;
  merge_due_ = full_merge_due_ = now;
  Advance(now);
}

void RangeKeeper::SetSilent(MemberMask silent, TimePoint now) {
  silent_ = silent;
  Advance(now);
}

void RangeKeeper::LimitWalks(std::size_t page_keys, std::size_t copy_bytes) {
  options_.walk.page_keys = std::min(options_.walk.page_keys, page_keys);
  options_.walk.copy_bytes = std::min(options_.walk.copy_bytes, copy_bytes);
}

void RangeKeeper::OnFenced(range::Attempt attempt, const range::Fenced& answer, TimePoint now) {
  const auto called = CalledMember(attempt);
  if (!called) return;
  const Errc errc = answer.errc;
  Member& member = members_[*called];
  member.attempt = 0;
  member.incarnation = answer.incarnation;
  if (errc == Errc::kFenced && stage_ != Stage::kServing) return Lose(GivenUp::kFenced);
  if (job_ == Job::kFence && *called == target_) {
    errc == Errc::kOk ? OnTargetFenced(now) : StopJob(now);
  } else if (errc == Errc::kOk) {
    member.step = Step::kRead;
  } else {
    member.due = SaturatingAdd(now, options_.walk.retry);
  }
  Advance(now);
}

void RangeKeeper::OnRead(range::Attempt attempt, const ReadResult& result, TimePoint now) {
  const auto called = CalledMember(attempt);
  if (called) {
    Member& member = members_[*called];
    member.attempt = 0;
    if (result.errc != Errc::kOk || result.states.size() != 2) {
      member.due = SaturatingAdd(now, options_.walk.retry);
    } else {
      member.probed.reset();
      CheckProof(*called, result);
      member.step = Step::kReady;
    }
  } else if (walk_) {
    walk_->OnRead(attempt, result, now);
  }
  Advance(now);
}

void RangeKeeper::OnScanned(range::Attempt attempt, const ScanResult& result, TimePoint now) {
  if (walk_) walk_->OnScanned(attempt, result, now);
  Advance(now);
}

void RangeKeeper::OnCopied(range::Attempt attempt, const WriteResult& result, TimePoint now) {
  if (walk_) walk_->OnCopied(attempt, OutcomeOf(result), now);
  Advance(now);
}

void RangeKeeper::OnSettled(FetchId id, Errc errc, bool again, const StoredState& state,
                            TimePoint now) {
  if (walk_) walk_->OnSettled(id, errc, again, state, now);
  Advance(now);
}

void RangeKeeper::OnChanged(range::Attempt attempt, Errc errc, TimePoint now) {
  if (attempt == mark_change_ && attempt != 0) {
    OnMarkChanged(errc, now);
  } else if (walk_) {
    walk_->OnChanged(attempt, errc, now);
  }
  Advance(now);
}

void RangeKeeper::OnCommitted(range::Attempt attempt, Errc errc, const ChangeAnswer& answer,
                              TimePoint now) {
  if (attempt != commit_ || !proposed_) return;
  commit_ = 0;
  if (errc == Errc::kOk && answer.outcome == ChangeOutcome::kDone) {
    revision_ = answer.revision;
    OnAgreed(now);
  } else if (errc == Errc::kOk || errc == Errc::kFenced) {
    return Lose(GivenUp::kFenced);
  } else {
    commit_due_ = SaturatingAdd(now, options_.walk.retry);
  }
  Advance(now);
}

bool RangeKeeper::OnReply(const RunReply& reply, TimePoint now) {
  if ((reply.id & kKeepersOwn) == 0) return false;
  if (reply.id == mark_barrier_) {
    OnMark(reply.errc, now);
  } else if (reply.id == job_barrier_) {
    job_barrier_ = 0;
    if (reply.errc == Errc::kOk) {
      job_ == Job::kOpen ? StartCopy(now) : void(barrier_done_ = true);
    } else if (job_ == Job::kEnter || job_ == Job::kSwept) {
      barrier_failed_ = true;
      job_due_ = SaturatingAdd(now, options_.walk.retry);
    } else {
      StopJob(now);
    }
  }
  Advance(now);
  return true;
}

void RangeKeeper::OnProgress(MemberIndex member, bool wrote, TimePoint now) {
  Member& answered = members_[member];
  answered.progress = now;
  if (wrote) answered.wrote = now;
  answered.probed.reset();
}

void RangeKeeper::SetBusy(MemberIndex member, bool busy, TimePoint now) {
  SetSince(members_[member].busy, busy, now);
}

void RangeKeeper::SetDirty(MemberIndex member, bool dirty, TimePoint now) {
  SetSince(members_[member].dirty, dirty, now);
}

void RangeKeeper::OnLagging(MemberIndex member, TimePoint now) {
  if ((set_.writers() & MaskOf(member)) != 0) SetSince(members_[member].lagging, true, now);
  Advance(now);
}

void RangeKeeper::OnRefused(MemberIndex member, TimePoint now) {
  if ((FillsLazy() && member == target_) || (set_.writers() & MaskOf(member)) == 0) return;
  SetSince(members_[member].refused, true, now);
  set_.SetLacking(member, true);
  Advance(now);
}

void RangeKeeper::OnFencedOut(MemberIndex member, TimePoint now) {
  const bool counts = (set_.required() & MaskOf(member)) != 0;
  if (counts || stage_ != Stage::kServing) return Lose(GivenUp::kFenced);
  if (Fills() && member == target_) StopJob(now);
  if (set_.state(member) == MemberState::kLazy) members_[member].lost = true;
  Advance(now);
}

void RangeKeeper::Tick(TimePoint now) { Advance(now); }

// --- The next step -------------------------------------------------------------------------------

void RangeKeeper::Advance(TimePoint now) {
  ForgiveDelay(now);
  next_tick_ = kNever;
  if (stage_ == Stage::kTakingOver && !proposed_) TakeOver(now);
  if (stage_ == Stage::kShared) options_.only_writes ? WriteShared(now) : OwnShared(now);
  if (proposed_ && commit_ == 0 && IsDue(commit_due_, now)) SendCommit();
  if (stage_ == Stage::kServing) DropFollowers(now);
  if (stage_ == Stage::kServing) DropMembers(now);
  if (stage_ == Stage::kServing) ReadAwaited(now);
  if (stage_ == Stage::kServing) StartMark(now);
  if (stage_ == Stage::kServing) Work(now);
}

bool RangeKeeper::IsDue(TimePoint due, TimePoint now) {
  if (due <= now) return true;
  next_tick_ = std::min(next_tick_, due);
  return false;
}

void RangeKeeper::Lose(GivenUp cause) {
  if (stage_ == Stage::kOver) return;
  stage_ = Stage::kOver;
  walk_.reset();
  proposed_.reset();
  job_ = Job::kNone;
  next_tick_ = kNever;
  set_.FailAll(Errc::kFenced);
  actions_.push_back(range::GiveUp{cause});
}

// Checks whether the member's store has what it had when it was filled, and what it was sent since.
void RangeKeeper::CheckProof(MemberIndex m, const ReadResult& result) {
  Member& member = members_[m];
  const RangeRecord::Member& known = record_.members[m];
  const StoredState& identity = result.states[0];
  const bool filled = identity.found && known.IsShownBy(identity.value);
  const bool restarted = known.IsRestarted(member.incarnation);
  member.restarted = filled && restarted && !member.lost;
  member.lost |= !filled || restarted;
  member.mark = ParseMark(result.states[1].value).value_or(Mark());
}

// --- Take-over -----------------------------------------------------------------------------------

void RangeKeeper::TakeOver(TimePoint now) {
  MemberMask ready = 0;
  MemberMask hoped = 0;
  ForEachMember(InOf(record_), [&](MemberIndex m) {
    Member& member = members_[m];
    if (member.lost) return;
    (member.step == Step::kReady ? ready : hoped) |= MaskOf(m);
    Prove(m, now);
  });
  TickSoon(now);
  const TimePoint limit = SaturatingAdd(started_, options_.member_timeout);
  if (ready == 0 && hoped == 0) ready = Revert();
  if (ready != 0 && ((hoped & ~silent_) == 0 || IsDue(limit, now))) {
    EndTakeOver(ready, now);
  } else if (ready == 0 && IsDue(SaturatingAdd(limit, options_.member_timeout), now)) {
    Lose(hoped == 0 ? GivenUp::kLost : GivenUp::kSilent);
  }
}

// No member has all data any more. Returns the one with the newest copy; 0 if none has a copy.
MemberMask RangeKeeper::Revert() {
  std::optional<MemberIndex> best;
  const auto mark = [this](MemberIndex m) {
    return std::pair(members_[m].mark.epoch, members_[m].mark.version);
  };
  ForEachMember(InOf(record_), [&](MemberIndex m) {
    if (members_[m].restarted && (!best || mark(m) > mark(*best))) best = m;
  });
  if (!best) return 0;
  members_[*best].lost = false;
  actions_.push_back(range::Revert{*best});
  return MaskOf(*best);
}

void RangeKeeper::EndTakeOver(MemberMask ready, TimePoint now) {
  RangeRecord record = Without(InOf(record_) & ~ready, now);
  ForEachMember(ready, [&](MemberIndex m) {
    RangeRecord::Member& member = record.members[m];
    const std::string& seen = members_[m].incarnation;
    if (member.incarnation.empty() || member.IsRestarted(seen)) member.incarnation = seen;
    const auto& [epoch, version, time] = members_[m].mark;
    if (epoch <= record.swept || epoch >= set_.epoch()) return;
    Version& closed = record.closed[epoch];
    closed = std::max(closed, version);
  });
  Propose(std::move(record));
}

// --- Transactions --------------------------------------------------------------------------------

// The coordinator is not told of members that are lazy or never were in: another owner would take
// one that has gone for a member that may come back.
void RangeKeeper::Propose(RangeRecord record) {
  proposed_ = std::move(record);
  sent_ = *proposed_;
  std::erase_if(sent_.members, [this](const RangeRecord::Member& member) {
    const bool has_nothing = Contains(followers_, member.datalet) || member.since == TimePoint{};
    return !member.in && has_nothing && !Contains(wanted_datalets_, member.datalet) &&
           !IsAwaited(sent_, member);
  });
  SendCommit();
}

void RangeKeeper::SendCommit() {
  commit_ = ++last_attempt_;
  const Epoch lease = options_.lease != 0 ? options_.lease : set_.epoch();
  actions_.push_back(range::Commit{commit_, ChangeSet(range_, lease, sent_, revision_)});
}

void RangeKeeper::OnAgreed(TimePoint now) {
  const MemberMask before = InOf(record_);
  record_ = *std::exchange(proposed_, std::nullopt);
  if (stage_ == Stage::kShared && record_.shared == 0) return Lose(GivenUp::kUnshared);
  const MemberMask in = InOf(record_);
  set_.SetStrong(record_.strong || want_strong_);
  set_.Adopt(record_);
  if (std::exchange(job_proposed_, false)) job_ = Job::kNone;
  if (stage_ == Stage::kServing && record_.shared != 0) {
    stage_ = Stage::kShared;
    shared_since_ = now;
  } else if (stage_ == Stage::kTakingOver) {
    stage_ = Stage::kServing;
    // Late answers do not count. A loss that was reported meanwhile counts.
    for (Member& member : members_) {
      member = {.progress = now,
                .wrote = now,
                .lost = member.lost,
                .incarnation = std::move(member.incarnation)};
    }
    ForEachMember(in, [&](MemberIndex m) { actions_.push_back(range::Open{m}); });
    actions_.push_back(range::Serve{});
  } else {
    ForEachMember(before & ~in, [&](MemberIndex m) {
      members_[m] = {.due = SaturatingAdd(now, options_.member_timeout)};
      actions_.push_back(range::Shut{m});
    });
  }
  ForEachMember(set_.sources() & ~set_.awaited(), [this](MemberIndex m) {
    members_[m] = {};
    Shut(m);
  });
  if (lacks_) FindWanted();
  if (walk_) walk_->OnMembersChanged(now);
}

}  // namespace stout::internal
