# Defects of the replication, see mutant.cmake. A loss that the keeper forgets is not among them: a
# member that is lost is silent as well, and leaves for that.

# --- Take-over and transactions --------------------------------------------------------------------

stout_mutant(revision_not_taken src/core/range_keeper.cc
  OLD [[    revision_ = answer.revision;]]
  NEW [[]])

stout_mutant(identity_unchecked src/core/range_keeper.cc
  OLD [[  member.lost |= !filled || restarted;]]
  NEW [[  member.lost |= restarted;]])

stout_mutant(restart_unchecked src/core/range_keeper.cc
  OLD [[  member.lost |= !filled || restarted;]]
  NEW [[  member.lost |= !filled;]])

stout_mutant(members_that_count_leave_before_the_transaction src/core/range_keeper.cc
  OLD [[  proposed_ = std::move(record);]]
  NEW [[  proposed_ = std::move(record);
  set_.Adopt(*proposed_);]])

stout_mutant(marks_too_high src/core/range_keeper.cc
  OLD [[closed = std::max(closed, version);]]
  NEW [[closed = version + 4;]])

# --- Members that fail -----------------------------------------------------------------------------

stout_mutant(full_disk_unseen src/core/range_members.cc
  OLD [[owes(member.dirty, member.wrote);]]
  NEW [[owes(member.dirty, member.progress);]])

stout_mutant(silent_member_stays src/core/range_members.cc
  OLD [[      fails(silence);]]
  NEW [[]])

stout_mutant(lost_member_stays src/core/range_members.cc
  OLD [[MemberMask leaving = in & lost;]]
  NEW [[MemberMask leaving = 0;]])

stout_mutant(unwanted_member_stays src/core/range_members.cc
  OLD [[    fails(member.unwanted);]]
  NEW [[]])

stout_mutant(lazy_member_counts src/core/replica_set.cc
  OLD [[state == MemberState::kIn || state == MemberState::kEntering);]]
  NEW [[state != MemberState::kOut && state != MemberState::kFilling);]])

stout_mutant(lost_follower_stays src/core/range_members.cc
  OLD [[if (!member.lost && !member.lagging && (lazy_]]
  NEW [[if (!member.lagging && (lazy_]])

# --- Jobs ------------------------------------------------------------------------------------------

stout_mutant(mode_sc_without_a_barrier src/core/range_jobs.cc
  OLD [[    AwaitBarrier(Job::kStrong);]]
  NEW [[    job_ = Job::kStrong;
    barrier_done_ = true;
    EndJob(now);]])

stout_mutant(fill_before_the_sweep_in_ec src/core/range_jobs.cc
  OLD [[  } else if (SweepIsDue() && IsDue(sweep_due_, now)) {
    StartSweep(now);
  } else if (SweepIsDue() && !record_.strong) {
    return;
]]
  NEW [[  } else if (SweepIsDue() && !next) {
    StartSweep(now);
]])

stout_mutant(target_counts_too_late src/core/range_jobs.cc
  OLD [[      set_.SetState(target_, MemberState::kEntering);]]
  NEW [[]])

stout_mutant(failed_fill_is_not_tried_again src/core/range_jobs.cc
  OLD [[members_[target_] = {.due = SaturatingAdd(now, options_.member_timeout),]]
  NEW [[members_[target_] = {.due = kNever,]])

# --- Walks -----------------------------------------------------------------------------------------

stout_mutant(unsettled_key_is_skipped src/core/range_walk.cc
  OLD [[    TryAgain(index, errc);
  } else if]]
  NEW [[    // skipped
  } else if]])

stout_mutant(older_state_undoes_a_delete src/core/range_walk.cc
  OLD [[at_target() && known > stamp) {]]
  NEW [[at_target() && (known > stamp || !state.found)) {]])

stout_mutant(sweep_of_one_member src/core/range_walk.cc
  OLD [[passes.push_back({m, Role::kSwept}); });]]
  NEW [[if (passes.empty()) passes.push_back({m, Role::kSwept}); });]])

stout_mutant(failed_copy_counts src/core/range_walk.cc
  OLD [[  if (!Succeeded(errc, &RangeWalk::SendCopy, now)) return;]]
  NEW [[  (void)Succeeded(Errc::kOk, &RangeWalk::SendCopy, now);]])

stout_mutant(one_member_read_before_the_sweep src/core/strong_reads.cc
  OLD [[  if (!set_.differ()) entry.asked =]]
  NEW [[  if (!set_.shared()) entry.asked =]])

# --- Shared ranges ---------------------------------------------------------------------------------

stout_mutant(reopened_member_counts src/core/replica_set.cc
  OLD [[(answer.asked & bit) == 0 && !shared_) {]]
  NEW [[(answer.asked & bit) == 0) {]])

stout_mutant(merge_in_one_direction src/core/range_walk.cc
  OLD [[members & ~MaskOf(source),]]
  NEW [[members & ~(2 * MaskOf(source) - 1),]])

stout_mutant(no_member_awaited_after_sharing src/core/range_members.cc
  OLD [[const bool awaited = was_shared && !members_[m].lost;]]
  NEW [[const bool awaited = was_shared && members_[m].lost;]])

stout_mutant(one_member_read_if_shared src/core/strong_reads.cc
  OLD [[  if (!set_.differ()) entry.asked =]]
  NEW [[  if (set_.swept()) entry.asked =]])

# --- Relaxed reads ---------------------------------------------------------------------------------

stout_mutant(session_leaves_its_member src/core/relaxed_reads.cc
  OLD [[    if (!member.in || (keeps && member.datalet != chosen->second)) continue;]]
  NEW [[    if (!member.in) continue;]])

stout_mutant(restarted_member_is_read src/core/relaxed_reads.cc
  OLD [[member.IsShownBy(identity.value) && !member.IsRestarted(incarnation);]]
  NEW [[member.IsShownBy(identity.value);]])
