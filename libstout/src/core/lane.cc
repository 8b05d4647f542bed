#include "stout/core/lane.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "core/hash.h"

namespace stout::internal {

namespace {

/// Returns true if the store is done with an item, with or without success. Otherwise the item must
/// be sent again.
bool IsSettled(Errc errc) {
  return errc == Errc::kOk || errc == Errc::kRefused || errc == Errc::kTooLarge ||
         errc == Errc::kCorrupt;
}

/// Frees a buffer that is not worth holding on to. (To assign an empty string would keep it.)
void Trim(std::string& value, std::size_t most) {
  if (value.capacity() > most) std::string().swap(value);
}

/// One of the spares, if there is one.
template <typename T>
T TakeSpare(std::vector<T>& spares) {
  if (spares.empty()) return {};
  T spare = std::move(spares.back());
  spares.pop_back();
  return spare;
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
      pacer_(random_.Next()),
      hold_(backoff_),
      cut_(options.max_batch_items) {}

// --- Changes ---------------------------------------------------------------------------------

MarkResult Lane::Mark(KeyView key, std::size_t bytes, Version version, TimePoint now) {
  const std::uint32_t hash = HashOf(key);
  Slot slot = Find(key, hash);
  if (const Errc errc = Admit(slot, key, bytes); errc != Errc::kOk) {
    if (errc == Errc::kPushedBack) ++stats_.marks_pushed_back;
    return {.errc = errc};
  }
  if (version != 0) version_ = version - 1;
  if (slot == kNone) slot = Insert(key, hash);
  recent_ = slot;
  Entry& entry = entries_[slot];
  Account(entry, bytes);
  entry.newest = ++version_;
  if (!entry.dirty) {
    entry.dirty = true;
    entry.dirty_since = entry.ready_since = now;
    if (entry.sending == 0) PushReady(slot);
  }
  ++stats_.keys_marked;
  return {.version = entry.newest};
}

Errc Lane::Admits(KeyView key, std::size_t bytes) const { return Admit(Find(key), key, bytes); }

// Changes `bytes` to what the key's entry counts.
Errc Lane::Admit(Slot slot, KeyView key, std::size_t& bytes) const {
  if (stopped_ != Errc::kOk) return stopped_;
  const std::size_t held = slot == kNone ? 0 : entries_[slot].bytes;
  bytes = bytes == 0 ? std::max(held, key.size()) : bytes + key.size();
  if (bytes > options_.max_dirty_bytes) return Errc::kTooLarge;
  const bool too_many_keys = slot == kNone && entries_.in_use() >= options_.max_dirty_keys;
  const bool too_many_bytes =
      bytes > held && dirty_bytes_ - held + bytes > options_.max_dirty_bytes;
  if (too_many_keys || too_many_bytes) {
    return Errc::kPushedBack;
  }
  return Errc::kOk;
}

Lane::Slot Lane::Find(KeyView key) const {
  const bool just_marked = recent_ != kNone && entries_[recent_].key == key;
  return just_marked ? recent_ : Find(key, HashOf(key));
}

Lane::Slot Lane::Find(KeyView key, std::uint32_t hash) const {
  return index_.Find(hash, [&](Slot slot) { return entries_[slot].key == key; });
}

Lane::Slot Lane::Insert(KeyView key, std::uint32_t hash) {
  const Slot slot = entries_.Take();
  Entry& entry = entries_[slot];
  entry.key = key;  // keeps the capacity of the key that was here before
  entry.hash = hash;
  entry.failures = 0;
  entry.newest = entry.sending = 0;
  entry.bytes = 0;
  entry.dirty = entry.urgent = false;
  index_.Insert(hash, slot);
  return slot;
}

void Lane::Erase(Slot slot) {
  Entry& entry = entries_[slot];
  Account(entry, 0);
  index_.Erase(entry.hash, slot);
  entries_.Give(slot);
  if (slot == recent_) recent_ = kNone;
}

void Lane::Account(Entry& entry, std::size_t bytes) {
  dirty_bytes_ += bytes - entry.bytes;
  entry.bytes = bytes;
}

Version Lane::NewestOf(KeyView key) const {
  const Slot slot = Find(key);
  return slot == kNone ? 0 : entries_[slot].newest;
}

// --- Replies and flushes -----------------------------------------------------------------------

Errc Lane::DependOn(ReplyTable::Index reply, KeyView key) {
  if (stopped_ != Errc::kOk) return stopped_;
  const Slot slot = Find(key);
  if (slot != kNone) replies_.DependOn(reply, entries_[slot].waits, entries_[slot].newest);
  return Errc::kOk;
}

void Lane::Barrier(ReplyTable::Index reply) {
  for (Slot slot = ready_head_; slot != kNone; slot = entries_[slot].next) {
    replies_.DependOn(reply, entries_[slot].waits, entries_[slot].newest);
  }
  for (const Paused& paused : paused_) {
    replies_.DependOn(reply, entries_[paused.slot].waits, entries_[paused.slot].newest);
  }
  for (const Attempt& attempt : attempts_) {
    for (const Sent& sent : attempt.items) {
      replies_.DependOn(reply, entries_[sent.slot].waits, entries_[sent.slot].newest);
    }
  }
}

void Lane::SendAllNow() {
  for (Slot slot = ready_head_; slot != kNone; slot = entries_[slot].next) {
    entries_[slot].urgent = true;
  }
  urgent_ = ready_;
  for (Attempt& attempt : attempts_) {
    for (Sent& sent : attempt.items) {
      sent.urgent = true;
      entries_[sent.slot].urgent = entries_[sent.slot].dirty;
    }
  }
  for (const Paused& paused : paused_) {
    entries_[paused.slot].urgent = true;
    PushReady(paused.slot);
  }
  paused_.clear();
  hold_.Lift();
}

// --- The ready queue ---------------------------------------------------------------------------

void Lane::PushReady(Slot slot) {
  entries_[slot].next = kNone;
  (ready_tail_ == kNone ? ready_head_ : entries_[ready_tail_].next) = slot;
  ready_tail_ = slot;
  ++ready_;
  urgent_ += entries_[slot].urgent;
}

void Lane::PushReadyFront(Slot slot) {
  entries_[slot].next = ready_head_;
  if (ready_head_ == kNone) ready_tail_ = slot;
  ready_head_ = slot;
  ++ready_;
  urgent_ += entries_[slot].urgent;
}

Lane::Slot Lane::PopReady() {
  const Slot slot = ready_head_;
  ready_head_ = entries_[slot].next;
  if (ready_head_ == kNone) ready_tail_ = kNone;
  --ready_;
  urgent_ -= entries_[slot].urgent;
  return slot;
}

void Lane::ResumePaused(TimePoint now) {
  while (!paused_.empty() && paused_.front().until <= now) {
    std::pop_heap(paused_.begin(), paused_.end(), std::greater<>());
    const Slot slot = paused_.back().slot;
    paused_.pop_back();
    entries_[slot].ready_since = now;
    PushReady(slot);
  }
}

// --- Sending -----------------------------------------------------------------------------------

TimePoint Lane::Poll(TimePoint now, StateSource& source) {
  if (stopped_ != Errc::kOk) return kNever;
  TimeOutAttempts(now);
  ResumePaused(now);
  while (MaySend(now)) Form(now, source);
  return NextEvent();
}

bool Lane::MaySend(TimePoint now) const {
  if (ready_ == 0 || attempts_.size() >= options_.max_batches_in_flight) return false;
  if (now < hold_.until()) return false;
  if (options_.prefix_ordering && !attempts_.empty()) return false;
  if (now >= SaturatingAdd(entries_[ready_head_].ready_since, options_.max_delay)) return true;
  if (attempts_.size() >= Window()) return false;
  return urgent_ > 0 || IsFull() || now >= NextByPolicy();
}

bool Lane::IsFull() const {
  return ready_ >= options_.max_batch_items ||
         (decision_.full_window > 0 && ready_ >= decision_.max_items);
}

std::size_t Lane::Window() const {
  return IsFull() ? std::max(decision_.window, decision_.full_window) : decision_.window;
}

TimePoint Lane::NextByPolicy() const {
  return pacer_.NextSend(decision_, std::max(entries_[ready_head_].ready_since, hold_.until()));
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
  if (!paused_.empty()) next = std::min(next, paused_.front().until);
  const bool must_wait_for_answer = attempts_.size() >= options_.max_batches_in_flight ||
                                    (options_.prefix_ordering && !attempts_.empty());
  if (ready_ == 0 || must_wait_for_answer) return next;
  TimePoint send = SaturatingAdd(entries_[ready_head_].ready_since, options_.max_delay);
  if (attempts_.size() < Window()) {
    const bool at_once = urgent_ > 0 || IsFull();
    send = std::min(send, at_once ? TimePoint::min() : NextByPolicy());
  }
  return std::min(next, std::max(send, hold_.until()));
}

std::size_t Lane::BatchLimit() const {
  // Under prefix ordering a batch that leaves a dirty key behind could show the store a later
  // change without an earlier one.
  if (options_.prefix_ordering) return Decision::kUnlimited;
  return std::max<std::size_t>(1, std::min({options_.max_batch_items, decision_.max_items, cut_}));
}

inline WriteBatch Lane::NewBatch() {
  std::vector<WriteItem> items = TakeSpare(spare_batches_);
  return {.id = 0, .lane = id_, .epoch = epoch_, .items = std::move(items), .bytes = 0};
}

void Lane::Form(TimePoint now, StateSource& source) {
  WriteBatch batch = NewBatch();
  Attempt attempt{.id = 0, .items = TakeSpare(spare_sent_), .sample = {}};
  const std::size_t limit = BatchLimit();
  while (ready_ > 0 && attempt.items.size() < limit) {
    const bool alone = entries_[ready_head_].failures >= kAloneAfter && !options_.prefix_ordering;
    if (alone && !attempt.items.empty()) break;
    if (!Append(batch, attempt, PopReady(), source, now) || alone) break;
  }
  for (; batch.items.size() > attempt.items.size(); batch.items.pop_back()) {
    Trim(batch.items.back().value, kMaxSpareBytes);
    spare_items_.push_back(std::move(batch.items.back()));
  }
  if (batch.items.empty()) {  // every key was refused by its own serialiser
    spare_batches_.push_back(std::move(batch.items));
    spare_sent_.push_back(std::move(attempt.items));
    return;
  }
  if (IsCut(batch.items.size())) {
    SendCut(std::move(batch), std::move(attempt), now);
  } else {
    Send(std::move(batch), std::move(attempt), BatchPart::kWhole, pacer_.SinceLastSend(now), now);
  }
}

// Serialises one key into the batch; false if it must go with the next one. The batch's buffers
// beyond the items of the attempt are left over from an earlier batch and used again.
bool Lane::Append(WriteBatch& batch, Attempt& attempt, Slot slot, StateSource& source,
                  TimePoint now) {
  if (batch.items.size() == attempt.items.size()) {
    if (spare_items_.empty()) {
      batch.items.emplace_back();
    } else {
      batch.items.push_back(std::move(spare_items_.back()));
      spare_items_.pop_back();
    }
  }
  WriteItem& item = batch.items[attempt.items.size()];
  Entry& entry = entries_[slot];
  item.value.clear();
  const Serialized serialized = source.Serialize(entry.key, item.value);
  if (serialized == Serialized::kAbsent) item.value.clear();
  const std::size_t bytes = entry.key.size() + item.value.size();
  const bool too_large = bytes > options_.max_batch_bytes;
  const bool overflows = batch.bytes + bytes > options_.max_batch_bytes;
  if (overflows && !attempt.items.empty() && !options_.prefix_ordering) {
    PushReadyFront(slot);
    return false;
  }
  entry.sending = entry.newest;
  entry.dirty = false;
  const bool urgent = std::exchange(entry.urgent, false);
  if (serialized == Serialized::kFailed || too_large) {
    EndWrite(slot, too_large ? Errc::kTooLarge : Errc::kNotSerialized, now);
    return true;
  }
  item.key = entry.key;
  item.kind = serialized == Serialized::kValue ? WriteKind::kPut : WriteKind::kDelete;
  item.version = entry.sending;
  batch.bytes += bytes;
  attempt.items.push_back({slot, entry.dirty_since, urgent});
  stats_.wait.Record(now - entry.dirty_since);
  Account(entry, bytes);
  return true;
}

bool Lane::IsCut(std::size_t items) const {
  return decision_.probe > 0 && decision_.probe < items &&
         attempts_.size() + 2 <= options_.max_batches_in_flight && !options_.prefix_ordering;
}

void Lane::SendCut(WriteBatch&& batch, Attempt&& attempt, TimePoint now) {
  const auto cut = static_cast<std::ptrdiff_t>(decision_.probe);
  WriteBatch rest = NewBatch();
  for (; !rest.items.empty(); rest.items.pop_back()) {
    spare_items_.push_back(std::move(rest.items.back()));
  }
  Attempt attempt_of_rest{.id = 0, .items = TakeSpare(spare_sent_), .sample = {}};
  rest.items.assign(std::make_move_iterator(batch.items.begin() + cut),
                    std::make_move_iterator(batch.items.end()));
  batch.items.erase(batch.items.begin() + cut, batch.items.end());
  attempt_of_rest.items.assign(attempt.items.begin() + cut, attempt.items.end());
  attempt.items.erase(attempt.items.begin() + cut, attempt.items.end());
  for (const WriteItem& item : rest.items) rest.bytes += item.key.size() + item.value.size();
  batch.bytes -= rest.bytes;
  const Duration spacing = pacer_.SinceLastSend(now);
  Send(std::move(batch), std::move(attempt), BatchPart::kProbe, spacing, now);
  Send(std::move(rest), std::move(attempt_of_rest), BatchPart::kRest, spacing, now);
}

void Lane::Send(WriteBatch&& batch, Attempt&& attempt, BatchPart part, Duration spacing,
                TimePoint now) {
  Duration oldest{};
  double sum = 0;  // an integer could overflow after an outage of hours
  for (const Sent& sent : attempt.items) {
    const Duration wait = now - sent.dirty_since;
    oldest = std::max(oldest, wait);
    sum += static_cast<double>(wait.count());
  }
  const double mean = sum / static_cast<double>(attempt.items.size());
  batch.id = attempt.id = ++last_batch_;
  batch.all_or_nothing = options_.prefix_ordering;
  attempts_.push_back(std::move(attempt));
  // Filled in place: to build it elsewhere and copy it costs a tenth of a small batch.
  BatchSample& sample = attempts_.back().sample;
  sample.items = batch.items.size();
  sample.bytes = batch.bytes;
  sample.sent = now;
  sample.oldest_wait = oldest;
  sample.mean_wait = Duration(static_cast<Duration::rep>(mean));
  sample.spacing = spacing;
  sample.in_flight = attempts_.size();
  sample.part = part;
  ++stats_.batches_sent;
  stats_.writes_sent += batch.items.size();
  stats_.bytes_sent += batch.bytes;
  stats_.batch_items.Record(batch.items.size());
  decision_.probe = 0;  // it was for this batch
  pacer_.OnSend(now);
  effects_.writes.push_back(std::move(batch));
}

void Lane::Recycle(WriteBatch batch) {
  for (WriteItem& item : batch.items) Trim(item.value, kMaxSpareBytes);
  spare_batches_.push_back(std::move(batch.items));
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
  std::size_t settled = batch_settled ? count : 0;
  for (const ItemError& error : result.items) {
    settled +=
        static_cast<std::size_t>(IsSettled(error.errc)) - static_cast<std::size_t>(batch_settled);
  }
  BatchSample& sample = attempt.sample;
  sample.done = now;
  sample.backlog = ready_;
  sample.errc = settled > 0 ? Errc::kOk : batch_settled ? result.items.front().errc : result.batch;
  stats_.store_latency.Record(sample.latency());
  const bool was_held_back = !HasRoom(attempts_.size() + 1) || settled < count;
  const Duration tick = decision_.tick;
  // The store looked at each item and could write none: it is in no trouble itself, and the latency
  // is that of what held the items up.
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
    cut_ = std::min(options_.max_batch_items, cut_ * 2);
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

// Some items are settled, or each failed by itself. The items that the result names failed by
// themselves and pause. The other items only shared the outcome of a batch with a refused item, and
// are sent again together.
void Lane::FinishItems(const Attempt& attempt, const WriteResult& result, bool batch_settled,
                       TimePoint now) {
  std::size_t rest = 0;
  auto error = result.items.begin();
  for (std::uint32_t i = 0; i < attempt.items.size(); ++i) {
    const Sent& sent = attempt.items[i];
    const bool named = error != result.items.end() && error->index == i;
    const Errc errc = named ? (error++)->errc : result.batch;
    if (named ? IsSettled(errc) : batch_settled) {
      EndWrite(sent.slot, errc, now);
    } else if (named && !options_.prefix_ordering) {
      PutBack(sent);
      Pause(sent.slot, now);
    } else {
      ++rest;
    }
  }
  if (rest > 0 && result.batch != Errc::kTooLarge) OnTrouble(attempt.id, now);
  for (auto sent = attempt.items.rbegin(); rest > 0; ++sent) {
    if (entries_[sent->slot].sending == 0) continue;  // dealt with above
    PutBack(*sent);
    PushReadyFront(sent->slot);
    --rest;
  }
}

// The change in flight is durable, or refused for good.
void Lane::EndWrite(Slot slot, Errc errc, TimePoint now) {
  Entry& entry = entries_[slot];
  const Version version = std::exchange(entry.sending, 0);
  entry.failures = 0;
  if (errc == Errc::kOk) {
    ++stats_.writes_done;
  } else {
    ++stats_.writes_refused;
    effects_.refused.push_back({id_, entry.key, errc});
  }
  replies_.Settle(entry.waits, version, errc, now);
  if (entry.dirty) {
    entry.ready_since = now;
    PushReady(slot);
  } else {
    Erase(slot);
  }
}

// The change in flight is unsent again; a newer one, if any, absorbs it.
void Lane::PutBack(const Sent& sent) {
  Entry& entry = entries_[sent.slot];
  entry.sending = 0;
  entry.dirty = true;
  entry.urgent |= sent.urgent;
  entry.dirty_since = entry.ready_since = sent.dirty_since;
  ++stats_.retries;
}

// This key alone is in trouble.
void Lane::Pause(Slot slot, TimePoint now) {
  const Duration pause = backoff_.Pause(++entries_[slot].failures, random_);
  paused_.push_back({SaturatingAdd(now, pause), slot});
  std::push_heap(paused_.begin(), paused_.end(), std::greater<>());
}

void Lane::FailWhole(const Attempt& attempt, Errc errc, TimePoint now) {
  const std::size_t count = attempt.items.size();
  // One that failed alone stands aside, or it would bar the others for ever.
  const bool alone = count == 1 && !options_.prefix_ordering;
  const bool suspect = alone && entries_[attempt.items.front().slot].failures >= kAloneAfter;
  for (auto sent = attempt.items.rbegin(); sent != attempt.items.rend(); ++sent) {
    PutBack(*sent);
    if (alone) {
      Pause(sent->slot, now);
    } else {
      PushReadyFront(sent->slot);
    }
  }
  if (suspect) return;  // it says nothing about the others
  // A probe of one item stands aside and was small by intent: the rest tells how small is enough.
  const bool small_by_intent = alone && attempt.sample.part == BatchPart::kProbe;
  if (!small_by_intent) cut_ = std::min(cut_, std::max<std::size_t>(1, count / 2));
  // After kTooLarge a smaller batch may go at once.
  if (errc != Errc::kTooLarge) OnTrouble(attempt.id, now);
}

// The store is in trouble: the lane pauses.
void Lane::OnTrouble(BatchId failed, TimePoint now) {
  hold_.OnFailure(failed, last_batch_, now, random_);
}

// --- The end -----------------------------------------------------------------------------------

void Lane::Stop(Errc why, TimePoint now) {
  if (stopped_ != Errc::kOk) return;
  stopped_ = why;
  if (why == Errc::kFenced) effects_.fenced.push_back(id_);
  const auto forget = [&](Slot slot) {
    replies_.Settle(entries_[slot].waits, entries_[slot].newest, why, now);
    Erase(slot);
  };
  while (ready_ > 0) forget(PopReady());
  for (const Paused& paused : paused_) forget(paused.slot);
  for (const Attempt& attempt : attempts_) {
    for (const Sent& sent : attempt.items) forget(sent.slot);
  }
  paused_.clear();
  attempts_.clear();
}

LaneStats Lane::Stats() const {
  LaneStats stats = stats_;
  stats.dirty_keys = entries_.in_use();
  stats.dirty_bytes = dirty_bytes_;
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
