#include "stout/core/lane.h"

#include <algorithm>
#include <utility>

namespace stout::internal {
namespace {

/// Returns true if the store is done with an item, with or without success. Otherwise the item must
/// be sent again.
bool IsSettled(Errc errc) {
  return errc == Errc::kOk || errc == Errc::kRefused || errc == Errc::kTooLarge ||
         errc == Errc::kCorrupt;
}

/// Calls `visit(item, errc, named)` for each item: `named` if it has an outcome of its own.
template <typename Attempt, typename Visit>
void ForEachItem(const Attempt& attempt, const WriteResult& result, Visit visit) {
  auto error = result.items.begin();
  for (std::uint32_t i = 0; i < attempt.items.size(); ++i) {
    const bool named = error != result.items.end() && error->index == i;
    visit(attempt.items[i], named ? (error++)->errc : result.batch, named);
  }
}

}  // namespace

Lane::Lane(LaneId id, Epoch epoch, const LaneOptions& options, std::uint64_t seed,
           BatchId& last_batch, ReplyTable& replies, Effects& effects)
    : id_(id),
      epoch_(epoch),
      options_(options),
      backoff_{.first = options.retry_first, .cap = options.retry_cap},
      random_(seed),
      last_batch_(last_batch),
      replies_(replies),
      effects_(effects),
      policy_(options.write_policy),
      decision_(policy_.Start()),
      dirty_(options),
      pacer_(random_.Next()),
      hold_(backoff_),
      cut_(options.max_batch_items) {}

// --- Changes and replies -------------------------------------------------------------------------

MarkResult Lane::Mark(KeyView key, std::size_t bytes, Version version, TimePoint now) {
  if (stopped_ != Errc::kOk) return {.errc = stopped_};
  if (version == 0) version = version_ + 1;
  if (const Errc errc = dirty_.Mark(key, bytes, version, now); errc != Errc::kOk) {
    if (errc == Errc::kPushedBack) ++stats_.marks_pushed_back;
    return {.errc = errc};
  }
  version_ = version;
  ++stats_.keys_marked;
  return {.version = version};
}

Errc Lane::Admits(KeyView key, std::size_t bytes) const {
  return stopped_ != Errc::kOk ? stopped_ : dirty_.Admits(key, bytes);
}

Version Lane::NewestOf(KeyView key) const {
  const Slot slot = dirty_.Find(key);
  return slot == DirtyTable::kNone ? 0 : dirty_[slot].newest;
}

Errc Lane::DependOn(ReplyTable::Index reply, KeyView key) {
  if (stopped_ != Errc::kOk) return stopped_;
  const Slot slot = dirty_.Find(key);
  if (slot != DirtyTable::kNone) replies_.DependOn(reply, dirty_[slot].waits, dirty_[slot].newest);
  return Errc::kOk;
}

void Lane::Barrier(ReplyTable::Index reply) {
  const auto depend = [&](DirtyKey& key) { replies_.DependOn(reply, key.waits, key.newest); };
  dirty_.ForEachUnsent(depend);
  for (const Attempt& attempt : attempts_) {
    for (const Sent& sent : attempt.items) depend(dirty_[sent.slot]);
  }
}

void Lane::SendAllNow() {
  for (Attempt& attempt : attempts_) {
    for (Sent& sent : attempt.items) {
      sent.urgent = true;
      dirty_[sent.slot].urgent = dirty_[sent.slot].dirty;
    }
  }
  dirty_.HurryAll();
  hold_.Lift();
}

// --- Sending -----------------------------------------------------------------------------------

TimePoint Lane::Poll(TimePoint now, StateSource& source) {
  if (stopped_ != Errc::kOk) return kNever;
  TimeOutAttempts(now);
  dirty_.Resume(now);
  while (MaySend(now)) Form(now, source);
  return NextEvent();
}

bool Lane::MaySend(TimePoint now) const {
  if (dirty_.ready() == 0 || attempts_.size() >= options_.max_batches_in_flight) return false;
  if (now < hold_.until()) return false;
  if (options_.prefix_ordering && !attempts_.empty()) return false;
  if (now >= SaturatingAdd(dirty_.front().ready_since, options_.max_delay)) return true;
  if (attempts_.size() >= Window()) return false;
  return dirty_.IsUrgent() || IsFull() || now >= NextByPolicy();
}

bool Lane::IsFull() const {
  return dirty_.ready() >= options_.max_batch_items ||
         (decision_.full_window > 0 && dirty_.ready() >= decision_.max_items);
}

std::size_t Lane::Window() const {
  return IsFull() ? std::max(decision_.window, decision_.full_window) : decision_.window;
}

TimePoint Lane::NextByPolicy() const {
  return pacer_.NextSend(decision_, std::max(dirty_.front().ready_since, hold_.until()));
}

bool Lane::HasRoom(std::size_t in_flight) const {
  if (options_.prefix_ordering && in_flight > 0) return false;
  return in_flight < std::min(decision_.window, options_.max_batches_in_flight);
}

TimePoint Lane::NextEvent() const {
  TimePoint next = kNever;
  if (!attempts_.empty()) {
    next = SaturatingAdd(attempts_.front().sample.sent, options_.attempt_timeout);
  }
  next = std::min(next, dirty_.NextResume());
  const bool must_wait_for_answer = attempts_.size() >= options_.max_batches_in_flight ||
                                    (options_.prefix_ordering && !attempts_.empty());
  if (dirty_.ready() == 0 || must_wait_for_answer) return next;
  TimePoint send = SaturatingAdd(dirty_.front().ready_since, options_.max_delay);
  if (attempts_.size() < Window()) {
    const bool at_once = dirty_.IsUrgent() || IsFull();
    send = std::min(send, at_once ? TimePoint::min() : NextByPolicy());
  }
  return std::min(next, std::max(send, hold_.until()));
}

// --- Answers -----------------------------------------------------------------------------------

void Lane::TimeOutAttempts(TimePoint now) {
  while (!attempts_.empty() &&
         SaturatingAdd(attempts_.front().sample.sent, options_.attempt_timeout) <= now) {
    Attempt attempt = attempts_.Take(attempts_.begin());
    ++stats_.attempts_timed_out;
    Finish(std::move(attempt), {.batch = Errc::kUnknown, .items = {}}, now);
  }
}

void Lane::Done(BatchId batch, const WriteResult& result, TimePoint now) {
  if (stopped_ != Errc::kOk) return;
  const auto attempt = attempts_.Find(batch);
  if (attempt == attempts_.end()) {
    ++stats_.late_answers;
  } else if (result.batch != Errc::kFenced) {
    Finish(attempts_.Take(attempt), result, now);
  }
  const bool fenced = result.batch == Errc::kFenced ||
                      std::any_of(result.items.begin(), result.items.end(),
                                  [](const ItemError& e) { return e.errc == Errc::kFenced; });
  if (fenced) Stop(Errc::kFenced, now);
}

void Lane::Finish(Attempt&& attempt, const WriteResult& result, TimePoint now) {
  const std::size_t count = attempt.items.size();
  const bool splittable = count > 1 && !options_.prefix_ordering;
  const bool batch_settled =
      IsSettled(result.batch) && !(result.batch == Errc::kTooLarge && splittable);
  std::size_t settled = 0;
  ForEachItem(attempt, result, [&](const Sent&, Errc errc, bool named) {
    if (named ? IsSettled(errc) : batch_settled) ++settled;
  });
  if (settled < count) Doubt(attempt, result);
  BatchSample& sample = attempt.sample;
  sample.done = now;
  sample.backlog = dirty_.ready();
  sample.errc = settled > 0 ? Errc::kOk : batch_settled ? result.items.front().errc : result.batch;
  stats_.store_latency.Record(sample.latency());
  const bool was_held_back = !HasRoom(attempts_.size() + 1) || settled < count;
  const Duration tick = decision_.tick;
  // The store tried each item and could write none of them, so the store itself is healthy. The
  // latency is that of the obstacle, for example a lock, so the policy does not observe it.
  const bool each_by_itself = settled == 0 && result.batch == Errc::kTransient &&
                              result.items.size() == count && !options_.prefix_ordering;
  if (!each_by_itself) {
    decision_ = policy_.Observe(sample);
    ++stats_.decisions_by_reason[static_cast<std::size_t>(decision_.reason)];
  }
  pacer_.OnAnswer(now);
  if (was_held_back || decision_.tick != tick) pacer_.OnReopen(now);

  if (settled > 0) {
    hold_.OnSuccess();
    cut_ = cut_ > options_.max_batch_items / 2 ? options_.max_batch_items : cut_ * 2;
  } else {
    ++stats_.batches_failed;
  }
  if (settled == 0 && !each_by_itself) {
    FailWhole(attempt, sample.errc, now);
  } else {
    FinishItems(attempt, result, batch_settled, now);
  }
  attempt.items.clear();
  spare_sent_.push_back(std::move(attempt.items));
}

// Some items are settled, or each failed by itself. An item that the result names failed by itself,
// so its key pauses. The other items failed only because the batch had a refused item, so they are
// sent again together.
void Lane::FinishItems(const Attempt& attempt, const WriteResult& result, bool batch_settled,
                       TimePoint now) {
  std::size_t rest = 0;
  ForEachItem(attempt, result, [&](const Sent& sent, Errc errc, bool named) {
    if (named ? IsSettled(errc) : batch_settled) {
      EndWrite(sent.slot, errc, now);
    } else if (named && !options_.prefix_ordering) {
      RetryLater(sent, now);
    } else {
      ++rest;
    }
  });
  if (rest > 0 && result.batch != Errc::kTooLarge) OnTrouble(attempt.id, now);
  for (auto sent = attempt.items.rbegin(); rest > 0; ++sent) {
    if (dirty_[sent->slot].sending == 0) continue;  // done above
    RetryFirst(*sent);
    --rest;
  }
}

// Remembers the changes that may be durable although the lane must send them again.
void Lane::Doubt(const Attempt& attempt, const WriteResult& result) {
  ForEachItem(attempt, result, [&](const Sent& sent, Errc errc, bool) {
    DirtyKey& entry = dirty_[sent.slot];
    if (errc == Errc::kUnknown) entry.doubtful = entry.sending;
  });
}

// The change in flight is durable, or refused for good. If it is refused, an earlier attempt may
// still have written it, or an older change.
void Lane::EndWrite(Slot slot, Errc errc, TimePoint now) {
  const DirtyKey& entry = dirty_[slot];
  if (errc == Errc::kOk) {
    ++stats_.writes_done;
  } else {
    ++stats_.writes_refused;
    effects_.refused.push_back({id_, entry.key, errc, entry.doubtful != 0});
  }
  if (errc != Errc::kOk && entry.doubtful != 0) {
    replies_.Settle(entry.waits, entry.doubtful, Errc::kUnknown, now);
  }
  replies_.Settle(entry.waits, entry.sending, errc, now);
  dirty_.EndWrite(slot, now);
}

// Sends the key again, before all others.
void Lane::RetryFirst(const Sent& sent) {
  ++stats_.retries;
  dirty_.UndoWrite(sent.slot, sent.dirty_since, sent.urgent);
  dirty_.PushFront(sent.slot);
}

// Sends the key again after a pause of its own.
void Lane::RetryLater(const Sent& sent, TimePoint now) {
  ++stats_.retries;
  dirty_.UndoWrite(sent.slot, sent.dirty_since, sent.urgent);
  const Duration pause = backoff_.Pause(++dirty_[sent.slot].failures, random_);
  dirty_.Pause(sent.slot, SaturatingAdd(now, pause));
}

void Lane::FailWhole(const Attempt& attempt, Errc errc, TimePoint now) {
  const std::size_t count = attempt.items.size();
  // A key that failed alone pauses by itself. Otherwise it would block the other keys for ever.
  const bool alone = count == 1 && !options_.prefix_ordering;
  const bool suspect = alone && dirty_[attempt.items.front().slot].failures >= kAloneAfter;
  for (auto sent = attempt.items.rbegin(); sent != attempt.items.rend(); ++sent) {
    if (alone) {
      RetryLater(*sent, now);
    } else {
      RetryFirst(*sent);
    }
  }
  if (suspect) return;  // the failure concerns this key only
  // A probe of one item was small by intent. The outcome of the other part shows whether smaller
  // batches are needed.
  const bool small_by_intent = alone && attempt.sample.part == BatchPart::kProbe;
  if (!small_by_intent) cut_ = std::min(cut_, std::max<std::size_t>(1, count / 2));
  // After kTooLarge, a smaller batch may be sent at once.
  if (errc != Errc::kTooLarge) OnTrouble(attempt.id, now);
}

// Pauses the lane, because the store is in trouble.
void Lane::OnTrouble(BatchId failed, TimePoint now) {
  hold_.OnFailure(failed, last_batch_, now, random_);
}

// --- The end -----------------------------------------------------------------------------------

void Lane::Stop(Errc why, TimePoint now) {
  if (stopped_ != Errc::kOk) return;
  stopped_ = why;
  if (why == Errc::kFenced) effects_.fenced.push_back(id_);
  const auto fail = [&](DirtyKey& key) { replies_.Settle(key.waits, key.newest, why, now); };
  dirty_.ForEachUnsent(fail);
  for (const Attempt& attempt : attempts_) {
    for (const Sent& sent : attempt.items) fail(dirty_[sent.slot]);
  }
  attempts_.clear();
  dirty_.Clear();
}

TimePoint Lane::DirtySince() const {
  TimePoint since = dirty_.DirtySince();
  for (const Attempt& attempt : attempts_) {
    since = std::min(since, attempt.sample.sent - attempt.sample.oldest_wait);
  }
  return since;
}

LaneStats Lane::Stats() const {
  LaneStats stats = stats_;
  stats.dirty_keys = dirty_.size();
  stats.dirty_bytes = dirty_.bytes();
  stats.batches_in_flight = attempts_.size();
  stats.interval = decision_.interval;
  stats.gap = decision_.gap;
  stats.tick = decision_.tick;
  stats.window = decision_.window;
  stats.regime = decision_.regime;
  stats.reason = decision_.reason;
  stats.fenced = stopped_ == Errc::kFenced;
  stats.policy = policy_.Name();
  return stats;
}

}  // namespace stout::internal
