#include <algorithm>
#include <iterator>
#include <utility>

#include "core/trim.h"
#include "stout/core/lane.h"

// How a lane forms a batch: it takes ready keys, serialises their states, and sends them.

namespace stout::internal {
namespace {

void TrimItem(WriteItem& item) {
  Trim(item.key);
  Trim(item.value);
}

/// Returns one of the spares, or an empty T.
template <typename T>
T TakeSpare(std::vector<T>& spares) {
  if (spares.empty()) return {};
  T spare = std::move(spares.back());
  spares.pop_back();
  return spare;
}

}  // namespace

inline WriteBatch Lane::NewBatch() {
  std::vector<WriteItem> items = TakeSpare(spare_batches_);
  return {.id = 0, .lane = id_, .epoch = epoch_, .items = std::move(items), .bytes = 0};
}

std::size_t Lane::BatchLimit() const {
  // Under prefix ordering a batch that leaves a dirty key behind could show the store a later
  // change without an earlier one.
  if (options_.prefix_ordering) return Decision::kUnlimited;
  return std::max<std::size_t>(1, std::min({options_.max_batch_items, decision_.max_items, cut_}));
}

void Lane::Form(TimePoint now, StateSource& source) {
  WriteBatch batch = NewBatch();
  Attempt attempt{.id = 0, .items = TakeSpare(spare_sent_), .sample = {}};
  const std::size_t limit = BatchLimit();
  while (dirty_.ready() > 0 && attempt.items.size() < limit) {
    const bool alone = dirty_.front().failures >= kAloneAfter && !options_.prefix_ordering;
    if (alone && !attempt.items.empty()) break;
    if (!Append(batch, attempt, dirty_.PopReady(), source, now) || alone) break;
  }
  for (; batch.items.size() > attempt.items.size(); batch.items.pop_back()) {
    TrimItem(batch.items.back());
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

// Serialises one key into the batch. Returns false if the key has no room and must wait for the
// next batch. `batch.items` may be longer than `attempt.items`: the items beyond it are buffers of
// an earlier batch, to be used again.
bool Lane::Append(WriteBatch& batch, Attempt& attempt, Slot slot, StateSource& source,
                  TimePoint now) {
  if (batch.items.size() == attempt.items.size()) batch.items.push_back(TakeSpare(spare_items_));
  WriteItem& item = batch.items[attempt.items.size()];
  DirtyKey& entry = dirty_[slot];
  item.value.clear();
  const Serialized serialized = source.Serialize(entry.key, item.value);
  if (serialized == Serialized::kAbsent) item.value.clear();
  const std::size_t bytes = entry.key.size() + item.value.size();
  const bool too_large = bytes > options_.max_batch_bytes;
  const bool overflows = batch.bytes + bytes > options_.max_batch_bytes;
  if (overflows && !attempt.items.empty() && !options_.prefix_ordering) {
    dirty_.PushFront(slot);
    return false;
  }
  const bool urgent = dirty_.BeginWrite(entry);
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
  dirty_.SetBytes(entry, bytes);
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
  batch.alone = part != BatchPart::kWhole || decision_.max_items == 1;
  attempts_.push_back(std::move(attempt));
  // The sample is filled in place, because a copy would cost a tenth of a small batch.
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
  for (WriteItem& item : batch.items) TrimItem(item);
  spare_batches_.push_back(std::move(batch.items));
}

}  // namespace stout::internal
