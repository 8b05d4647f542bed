# Defects that other batchers have, or that this one had during its development: see mutant.cmake.

# --- Changes and versions --------------------------------------------------------------------------

stout_mutant(finished_write_erases_newer_change src/core/lane.cc
  OLD [[replies_.Settle(entry.waits, entry.sending, errc, now);]]
  NEW [[dirty_[slot].dirty = false;
  replies_.Settle(entry.waits, entry.newest, errc, now);]])

stout_mutant(two_writes_of_a_key_in_flight src/core/lane.cc
  OLD [[  if (const Errc errc = dirty_.Mark(]]
  NEW [[  const Slot slot = dirty_.Find(key);
  if (slot != DirtyTable::kNone && dirty_[slot].sending != 0 && !dirty_[slot].dirty &&
      decision_.max_items == 1) {  // under other policies it would loop for ever
    dirty_.PushFront(slot);
  }
  if (const Errc errc = dirty_.Mark(]])

stout_mutant(no_epoch src/core/lane_batches.cc
  OLD [[.epoch = epoch_, .items]]
  NEW [[.epoch = 0, .items]])

stout_mutant(version_of_the_key_not_of_the_lane src/core/lane.cc
  OLD [[version = version_ + 1;]]
  NEW [[version = NewestOf(key) + 1;]])

stout_mutant(dirty_keys_unbounded src/core/dirty_table.cc
  OLD [[return too_many_keys || too_many_bytes ?]]
  NEW [[return too_many_bytes ?]])

stout_mutant(dirty_bytes_unbounded src/core/dirty_table.cc
  OLD [[return too_many_keys || too_many_bytes ?]]
  NEW [[return too_many_keys ?]])

stout_mutant(dirty_bytes_leak src/core/dirty_table.cc
  OLD [[SetBytes(entry, 0);]]
  NEW [[entry.bytes = 0;]])

stout_mutant(newer_change_sent_twice src/core/dirty_table.cc
  OLD [[  key.dirty = false;]]
  NEW [[  key.dirty = key.urgent;]])

# --- Replies and flushes ---------------------------------------------------------------------------

stout_mutant(reply_at_once_while_in_flight src/core/lane.cc
  OLD [[if (slot != DirtyTable::kNone) replies_.DependOn(]]
  NEW [[if (slot != DirtyTable::kNone && dirty_[slot].sending == 0) replies_.DependOn(]])

stout_mutant(reply_after_the_first_of_its_keys src/core/reply_table.cc
  OLD [[if (reply.pending == 0 || hopeless)]]
  NEW [[if (true)]])

stout_mutant(reply_never_runs_at_its_own_version src/core/reply_table.cc
  OLD [[.version <= version;]]
  NEW [[.version < version;]])

stout_mutant(reply_for_any_version src/core/reply_table.cc
  OLD [[wait != ring && waits_[wait].version <= version;]]
  NEW [[wait != ring;]])

stout_mutant(reply_runs_twice src/core/reply_table.cc
  OLD [[  effects_.replies.push_back({reply.id, errc});]]
  NEW [[  effects_.replies.push_back({reply.id, errc});
  if (errc == Errc::kDeadline) effects_.replies.push_back({reply.id, errc});]])

stout_mutant(deadline_never src/core/reply_table.cc
  OLD [[NextDeadline() <= now]]
  NEW [[false]])

stout_mutant(flush_has_a_deadline src/core/reply_table.cc
  OLD [[return Add(id, now, true);]]
  NEW [[return Add(id, now, false);]])

stout_mutant(failed_reply_succeeds src/core/reply_table.cc
  OLD [[End(index, reply.errc, now);]]
  NEW [[End(index, Errc::kOk, now);]])

stout_mutant(replies_unbounded src/core/engine.cc
  OLD [[  if (!HasReplyRoom()) {
    effects_.replies.push_back({reply, Errc::kPushedBack});
    return ReplyTable::kNone;
  }
  ++replies_taken_;]]
  NEW [[  ++replies_taken_;]])

stout_mutant(flushes_unbounded src/core/engine.cc
  OLD [[ReplyTable::Index Engine::AwaitAll(ReplyId reply, bool send_now, TimePoint now) {
  if (!HasReplyRoom()) {]]
  NEW [[ReplyTable::Index Engine::AwaitAll(ReplyId reply, bool send_now, TimePoint now) {
  if (false) {]])

stout_mutant(fetches_unbounded src/core/read_lane.cc
  OLD [[waiting_ >= options_.max_pending_reads]]
  NEW [[false]])

stout_mutant(flush_skips_keys_in_retry src/core/dirty_table.cc
  OLD [[    PushBack(paused.slot);
  }
  paused_.clear();]]
  NEW [[  }]])

stout_mutant(flush_does_not_wait_for_keys_in_retry src/core/lane.cc
  OLD [[  dirty_.ForEachUnsent(depend);]]
  NEW [[  dirty_.ForEachUnsent([&](DirtyKey& key) { key.failures > 0 ? void() : depend(key); });]])

stout_mutant(flush_does_not_wait_for_keys_in_flight src/core/lane.cc
  OLD [[    for (const Sent& sent : attempt.items) depend(dirty_[sent.slot]);]]
  NEW [[]])

stout_mutant(flush_waits_out_the_interval src/core/dirty_table.cc
  OLD [[  urgent_ = ready_;]]
  NEW [[]])

stout_mutant(flush_waits_out_the_back_off src/core/lane.cc
  OLD [[  hold_.Lift();]]
  NEW [[]])

stout_mutant(flush_forgotten_after_a_failure src/core/dirty_table.cc
  OLD [[  entry.urgent |= urgent;]]
  NEW [[]])

stout_mutant(urgency_of_one_key_hurries_all src/core/dirty_table.cc
  OLD [[  urgent_ -= keys_[slot].urgent;]]
  NEW [[]])

# --- Sending ---------------------------------------------------------------------------------------

stout_mutant(max_delay_ignored src/core/lane.cc
  OLD [[  if (now >= SaturatingAdd(dirty_.front().ready_since, options_.max_delay)) return true;]]
  NEW [[]])

stout_mutant(window_ignored src/core/lane.cc
  OLD [[  if (attempts_.size() >= Window()) return false;]]
  NEW [[]])

stout_mutant(in_flight_unbounded src/core/lane.cc
  OLD [[if (dirty_.ready() == 0 || attempts_.size() >= options_.max_batches_in_flight) return false;]]
  NEW [[if (dirty_.ready() == 0) return false;]])

stout_mutant(interval_ignored src/core/lane.cc
  OLD [[ || now >= NextByPolicy();]]
  NEW [[ || true;]])

stout_mutant(interval_is_a_period src/core/pacer.cc
  OLD [[SaturatingAdd(last_send_, decision.interval);]]
  NEW [[SaturatingAdd(ready, decision.interval);]])

stout_mutant(gap_ignored src/core/pacer.cc
  OLD [[  if (decision.gap > Duration::zero()) {]]
  NEW [[  if (false) {]])

stout_mutant(gap_since_the_last_send src/core/pacer.cc
  OLD [[SaturatingAdd(last_answer_, decision.gap)]]
  NEW [[SaturatingAdd(last_send_, decision.gap)]])

stout_mutant(gap_instead_of_interval src/core/pacer.cc
  OLD [[std::max(allowed, SaturatingAdd(last_answer_, decision.gap))]]
  NEW [[SaturatingAdd(last_answer_, decision.gap)]])

stout_mutant(answer_skips_a_tick src/core/pacer.cc
  OLD [[  if (decision.gap > Duration::zero()) {]]
  NEW [[  if (true) {]])

stout_mutant(ticks_ignored src/core/pacer.cc
  OLD [[  if (decision.tick <= Duration::zero()) return allowed;]]
  NEW [[  return allowed;]])

stout_mutant(ticks_of_all_lanes_together src/core/pacer.cc
  OLD [[(static_cast<unsigned __int128>(random_) * length)]]
  NEW [[(static_cast<unsigned __int128>(0) * length)]])

stout_mutant(tick_since_the_last_send src/core/pacer.cc
  OLD [[std::max({ready, open_since_, allowed, after_last})]]
  NEW [[std::max({open_since_, allowed, after_last})]])

stout_mutant(two_sends_at_one_tick src/core/pacer.cc
  OLD [[std::max({ready, open_since_, allowed, after_last})]]
  NEW [[std::max({ready, open_since_, allowed})]])

stout_mutant(missed_tick_is_made_up_for src/core/pacer.cc
  OLD [[std::max({ready, open_since_, allowed, after_last})]]
  NEW [[std::max({ready, allowed, after_last})]])

stout_mutant(ticks_at_the_wrong_offset_after_a_change src/core/lane.cc
  OLD [[  if (was_held_back || decision_.tick != tick) pacer_.OnReopen(now);]]
  NEW [[  if (was_held_back) pacer_.OnReopen(now);]])

stout_mutant(batch_is_full_too_late src/core/lane.cc
  OLD [[(decision_.full_window > 0 && dirty_.ready() >= decision_.max_items)]]
  NEW [[(decision_.full_window > 0 && dirty_.ready() >= 2 * decision_.max_items)]])

stout_mutant(full_batches_unbounded src/core/lane.cc
  OLD [[std::max(decision_.window, decision_.full_window)]]
  NEW [[std::max(decision_.window, decision_.full_window + 1)]])

stout_mutant(full_batch_without_a_window_of_its_own src/core/lane.cc
  OLD [[(decision_.full_window > 0 && dirty_.ready()]]
  NEW [[(dirty_.ready()]])

stout_mutant(probe_ignored src/core/lane_batches.cc
  OLD [[  return decision_.probe > 0 && ]]
  NEW [[  return false && ]])

stout_mutant(probe_beyond_in_flight src/core/lane_batches.cc
  OLD [[         attempts_.size() + 2 <= options_.max_batches_in_flight && !]]
  NEW [[         !]])

stout_mutant(probe_breaks_prefix_ordering src/core/lane_batches.cc
  OLD [[         attempts_.size() + 2 <= options_.max_batches_in_flight && !options_.prefix_ordering;]]
  NEW [[         attempts_.size() + 2 <= options_.max_batches_in_flight;]])

stout_mutant(probe_for_ever src/core/lane_batches.cc
  OLD [[  decision_.probe = 0;]]
  NEW [[]])

stout_mutant(rest_has_no_spacing src/core/lane_batches.cc
  OLD [[BatchPart::kRest, spacing, now);]]
  NEW [[BatchPart::kRest, pacer_.SinceLastSend(now), now);]])

stout_mutant(full_batch_waits src/core/lane.cc
  OLD [[return dirty_.IsUrgent() || IsFull() || now]]
  NEW [[return dirty_.IsUrgent() || now]])

stout_mutant(batch_items_unbounded src/core/lane_batches.cc
  OLD [[std::min({options_.max_batch_items, decision_.max_items, cut_})]]
  NEW [[std::min(decision_.max_items, Decision::kUnlimited)]])

stout_mutant(batch_bytes_unbounded src/core/lane_batches.cc
  OLD [[if (overflows && ]]
  NEW [[if (false && ]])

stout_mutant(wake_up_for_a_retry_lost src/core/lane.cc
  OLD [[  next = std::min(next, dirty_.NextResume());]]
  NEW [[]])

stout_mutant(wake_up_for_a_time_out_lost src/core/lane.cc
  OLD [[    next = SaturatingAdd(attempts_.front().sample.sent, options_.attempt_timeout);]]
  NEW [[]])

stout_mutant(oldest_wait_is_the_first src/core/lane_batches.cc
  OLD [[    oldest = std::max(oldest, wait);]]
  NEW [[    if (sum == 0) oldest = wait;]])

stout_mutant(mean_wait_is_the_sum src/core/lane_batches.cc
  OLD [[sum / static_cast<double>(attempt.items.size());]]
  NEW [[sum;]])

stout_mutant(latency_over_all_retries src/core/lane_batches.cc
  OLD [[  sample.sent = now;]]
  NEW [[  sample.sent = now - oldest;]])

stout_mutant(prefix_ordering_broken_by_batch_limit src/core/lane_batches.cc
  OLD [[  if (options_.prefix_ordering) return Decision::kUnlimited;]]
  NEW [[]])

stout_mutant(prefix_ordering_with_batches_side_by_side src/core/lane.cc
  OLD [[  if (options_.prefix_ordering && !attempts_.empty()) return false;]]
  NEW [[]])

stout_mutant(prefix_ordering_untold src/core/lane_batches.cc
  OLD [[  batch.all_or_nothing = options_.prefix_ordering;]]
  NEW [[]])

stout_mutant(prefix_ordering_broken_by_pauses src/core/lane.cc
  OLD [[const bool alone = count == 1 && !options_.prefix_ordering;]]
  NEW [[const bool alone = count == 1;]])

# --- Answers ---------------------------------------------------------------------------------------

stout_mutant(late_answer_counts_for_the_newer_attempt include/stout/core/in_flight.h
  COMPILE src/core/lane.cc
  OLD [[found != end() && found->id == id ?]]
  NEW [[found != end() ?]])

stout_mutant(time_out_counts_as_done src/core/lane.cc
  OLD [[{.batch = Errc::kUnknown, .items = {}}]]
  NEW [[{.batch = Errc::kOk, .items = {}}]])

stout_mutant(unknown_item_counts_as_done src/core/lane.cc
  OLD [[    if (named ? IsSettled(errc) : batch_settled) {
      EndWrite(sent.slot, errc, now);]]
  NEW [[    if (named ? IsSettled(errc) || errc == Errc::kUnknown : batch_settled) {
      EndWrite(sent.slot, errc == Errc::kUnknown ? Errc::kOk : errc, now);]])

stout_mutant(time_out_never src/core/lane.cc
  OLD [[  TimeOutAttempts(now);]]
  NEW [[]])

stout_mutant(failed_batch_is_lost src/core/lane.cc
  OLD [[      RetryFirst(*sent);
    }]]
  NEW [[    }]])

stout_mutant(older_age_lost_in_retry src/core/dirty_table.cc
  OLD [[  entry.dirty_since = entry.ready_since = dirty_since;]]
  NEW [[]])

stout_mutant(no_back_off src/core/lane.cc
  OLD [[if (errc != Errc::kTooLarge) OnTrouble(attempt.id, now);]]
  NEW [[]])

stout_mutant(no_pause_for_a_failed_key src/core/lane.cc
  OLD [[dirty_.Pause(sent.slot, SaturatingAdd(now, pause));]]
  NEW [[dirty_.Pause(sent.slot, now);]])

stout_mutant(back_off_never_ends src/core/dirty_table.cc
  OLD [[  while (!paused_.empty() && paused_.front().until <= now) {]]
  NEW [[  while (false) {]])

stout_mutant(back_off_not_reset src/core/lane.cc
  OLD [[    hold_.OnSuccess();
    cut_]]
  NEW [[    cut_]])

stout_mutant(failures_side_by_side_lengthen_the_back_off src/core/hold_back.cc
  OLD [[  if (failed <= newest_) return;]]
  NEW [[]])

stout_mutant(failure_after_the_back_off_ignored src/core/hold_back.cc
  OLD [[  newest_ = newest;]]
  NEW [[  newest_ = newest + 1;]])

stout_mutant(refused_key_fails_its_neighbours src/core/lane.cc
  OLD [[named ? (error++)->errc : result.batch, named);]]
  NEW [[result.items.empty() ? result.batch : result.items.front().errc, named);]])

stout_mutant(doubtful_change_refused src/core/lane.cc
  OLD [[entry.doubtful = entry.sending;]]
  NEW [[entry.doubtful = 0;]])

stout_mutant(refused_key_untold src/core/lane.cc
  OLD [[    effects_.refused.push_back({id_, entry.key, errc, entry.doubtful != 0});]]
  NEW [[]])

stout_mutant(poison_bars_the_queue src/core/lane.cc
  OLD [[    if (alone) {
      RetryLater(]]
  NEW [[    if (false) {
      RetryLater(]])

stout_mutant(poison_travels_in_company src/core/lane_batches.cc
  OLD [[if (alone && !attempt.items.empty()) break;]]
  NEW [[]])

stout_mutant(poison_holds_up_the_lane src/core/lane.cc
  OLD [[  if (suspect) return;]]
  NEW [[]])

stout_mutant(items_that_fail_by_themselves_hold_up_the_lane src/core/lane.cc
  OLD [[  if (settled == 0 && !each_by_itself) {]]
  NEW [[  if (settled == 0) {]])

stout_mutant(items_that_fail_by_themselves_are_observed src/core/lane.cc
  OLD [[  if (!each_by_itself) {]]
  NEW [[  {]])

stout_mutant(neighbours_of_a_refused_key_scattered src/core/lane.cc
  OLD [[} else if (named && !options_.prefix_ordering) {]]
  NEW [[} else if (true) {]])

stout_mutant(too_large_batch_at_the_same_size src/core/lane.cc
  OLD [[  if (!small_by_intent) cut_ = std::min(cut_, std::max<std::size_t>(1, count / 2));]]
  NEW [[]])

stout_mutant(failed_probe_cuts_later_batches src/core/lane.cc
  OLD [[  if (!small_by_intent) cut_ =]]
  NEW [[  cut_ =]])

stout_mutant(too_large_single_key_for_ever src/core/lane.cc
  OLD [[const bool splittable = count > 1 && !options_.prefix_ordering;]]
  NEW [[const bool splittable = !options_.prefix_ordering;]])

# --- The end ---------------------------------------------------------------------------------------

stout_mutant(fence_ignored src/core/lane.cc
  OLD [[  if (fenced) Stop(Errc::kFenced, now);]]
  NEW [[]])

stout_mutant(late_fence_ignored src/core/lane.cc
  OLD [[    ++stats_.late_answers;]]
  NEW [[    return;]])

stout_mutant(fence_loses_replies src/core/lane.cc
  OLD [[[&](DirtyKey& key) { replies_.Settle(key.waits, key.newest, why, now); };]]
  NEW [[[](DirtyKey&) {};]])

stout_mutant(close_takes_new_changes src/core/lane.cc
  OLD [[  if (stopped_ != Errc::kOk) return {.errc = stopped_};]]
  NEW [[]])

stout_mutant(close_loses_fetches src/core/engine.cc
  OLD [[    lane.reads.FailAll(why);]]
  NEW [[]])

stout_mutant(drain_takes_new_changes src/core/engine.cc
  OLD [[  if (draining_ && stopped_ == Errc::kOk) return {.errc = Errc::kDraining};]]
  NEW [[]])

stout_mutant(drain_ends_too_early src/core/engine.cc
  OLD [[if (draining_ && !dirty && replies_.held() == 0)]]
  NEW [[if (draining_ && replies_.held() == 0)]])

stout_mutant(drain_does_not_send src/core/engine.cc
  OLD [[  for (LanePair& lane : lanes_) lane.writes.SendAllNow();]]
  NEW [[]])

stout_mutant(clock_runs_backwards include/stout/core/engine.h COMPILE src/core/engine.cc
  OLD [[return now_ = std::max(now_, now);]]
  NEW [[return now_ = now;]])

# --- Reads -----------------------------------------------------------------------------------------

stout_mutant(stale_read_joined src/core/engine.cc
  OLD [[  if (result.errc == Errc::kOk) lane.reads.Overtake(key.key);]]
  NEW [[]])

stout_mutant(fetch_misses_uncommitted_state src/core/read_lane.cc
  OLD [[  } else if (writes_.Contains(key)) {
    local_]]
  NEW [[  } else if (false) {
    local_]])

stout_mutant(read_of_a_dirty_key src/core/read_lane.cc
  OLD [[    if (writes_.Contains(entry.key)) {
      AnswerLocally(slot);
      continue;]]
  NEW [[    if (false) {
      continue;]])

stout_mutant(fetch_fails_with_its_attempt src/core/read_lane.cc
  OLD [[  const bool again = result.errc == Errc::kTransient || result.errc == Errc::kUnknown;]]
  NEW [[  const bool again = result.errc == Errc::kTransient;]])

stout_mutant(fetch_waits_for_ever src/core/read_lane.cc
  OLD [[  Expire(now);]]
  NEW [[]])

stout_mutant(joined_fetch_unanswered src/core/read_lane.cc
  OLD [[  entries_[slot].fetches.push_back(fetch);]]
  NEW [[  if (entries_[slot].fetches.empty()) entries_[slot].fetches.push_back(fetch);]])

stout_mutant(read_without_back_off src/core/read_lane.cc
  OLD [[if (ready_.empty() || now < hold_.until()) return false;]]
  NEW [[if (ready_.empty()) return false;]])

stout_mutant(read_window_ignored src/core/read_lane.cc
  OLD [[  return HasRoom(others_in_flight(), reading_) && now >= NextByPolicy();]]
  NEW [[  return now >= NextByPolicy();]])

stout_mutant(full_read_wakes_late src/core/read_lane.cc
  OLD [[std::max(NextByPolicy(), hold_.until())]]
  NEW [[std::max(pacer_.NextSend(decision_, hold_.until()), hold_.until())]])

stout_mutant(missed_tick_of_reads_is_made_up_for src/core/read_lane.cc
  OLD [[  if (was_held_back || (!attempt.yields && !unread.empty())) pacer_.OnReopen(now);]]
  NEW [[]])

stout_mutant(gap_of_reads_ignored src/core/read_lane.cc
  OLD [[  pacer_.OnAnswer(now);]]
  NEW [[]])
