#include "stout/core/read_lane.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "core/hash.h"
#include "core/trim.h"

namespace stout::internal {
namespace {

// A batch of reads that yield has at most a sixteenth of max_reads_in_flight, or kFewKeys if that
// is more. Guess: few enough to take little memory and time, enough to share a round trip.
constexpr std::size_t kYieldingPart = 16;
constexpr std::size_t kFewKeys = 16;
// Ages of entries that are gone, beside as many as there are entries. Guess: seldom looked through.
constexpr std::size_t kSpareAges = 64;
// The longest pause. Guess: far less than a member's timeout or the deadline of a read.
constexpr Duration kLongestYieldPause = std::chrono::milliseconds(100);

}  // namespace

ReadLane::ReadLane(const LaneOptions& options, Duration deadline, std::uint64_t seed,
                   const Lane& writes, LaneId id, BatchId& last_batch, Effects& effects)
    : options_(options),
      deadline_(deadline),
      random_(seed),
      writes_(writes),
      id_(id),
      last_batch_(last_batch),
      effects_(effects),
      policy_(options.read_policy),
      decision_(policy_.Start()),
      pacer_(random_.Next()),
      hold_({.first = options.retry_first, .cap = options.retry_cap}) {}

// --- Fetches -----------------------------------------------------------------------------------

void ReadLane::Fetch(KeyView key, FetchId fetch, TimePoint now, const FetchOptions& options) {
  ++fetches_;
  if (writes_.stopped() != Errc::kOk) {
    effects_.fetched.push_back({fetch, writes_.stopped(), {}});
  } else if (waiting_ >= options_.max_pending_reads ||
             (options.yields &&
              yielding_.size() >= std::max<std::size_t>(1, options_.max_pending_reads / 2))) {
    effects_.fetched.push_back({fetch, Errc::kPushedBack, {}});
  } else if (writes_.Contains(key)) {
    local_.push_back({std::string(key), fetch, options});
    ++waiting_;
  } else {
    Join(key, fetch, now, options);
    ++waiting_;
  }
}

void ReadLane::Join(KeyView key, FetchId fetch, TimePoint now, const FetchOptions& options) {
  const std::uint32_t hash = HashOf(key);
  Slot slot = Find(key, hash);
  if (slot != kNone) {
    ++joined_;
    Entry& entry = entries_[slot];
    if (entry.fetches.empty()) {  // the first fetch had expired
      entry.asked = now;
      AddAge(slot);
    }
    if (entry.yields && !options.yields) Hasten(slot);
  } else {
    index_.Reserve();
    slot = entries_.Take();
    Entry& entry = entries_[slot];
    entry.hash = hash;
    entry.birth = ++births_;
    entry.asked = now;
    entry.tenant = options.tenant;
    entry.yields = options.yields;
    entry.in_flight = entry.overtaken = false;
    try {
      entry.key = key;
      entry.fetches.reserve(1);
      AddAge(slot);
      QueueOf(entry).push_back(slot);
    } catch (const std::bad_alloc&) {
      entry.birth = 0;
      entries_.Give(slot);
      throw;
    }
    index_.Insert(hash, slot);
  }
  entries_[slot].fetches.push_back(fetch);
}

// Entries that are gone are forgotten by Expire, unless an older one still waits.
void ReadLane::AddAge(Slot slot) {
  if (ages_.size() > 2 * entries_.in_use() + kSpareAges) {
    std::erase_if(ages_, [this](const Age& age) { return entries_[age.slot].birth != age.birth; });
  }
  ages_.push_back({entries_[slot].asked, slot, entries_[slot].birth});
}

// Moves a key to the reads that do not yield.
void ReadLane::Hasten(Slot slot) {
  Entry& entry = entries_[slot];
  if (!entry.in_flight) {
    ready_.push_back(slot);  // first: it may throw
    yielding_.erase(std::find(yielding_.begin(), yielding_.end(), slot));
  }
  entry.yields = false;
}

ReadLane::Slot ReadLane::Find(KeyView key, std::uint32_t hash) const {
  return index_.Find(hash, [&](Slot slot) { return entries_[slot].key == key; });
}

void ReadLane::OvertakeInFlight(KeyView key) {
  const Slot slot = Find(key, HashOf(key));
  if (slot != kNone) entries_[slot].overtaken = entries_[slot].in_flight;
}

void ReadLane::Answer(Slot slot, Errc errc, StoredState state) {
  std::vector<FetchId>& fetches = entries_[slot].fetches;
  for (std::size_t i = 0; i + 1 < fetches.size(); ++i) Answer(fetches[i], errc, state);
  if (!fetches.empty()) Answer(fetches.back(), errc, std::move(state));
  fetches.clear();
}

void ReadLane::Answer(FetchId fetch, Errc errc, StoredState state) {
  effects_.fetched.push_back({fetch, errc, std::move(state)});
  --waiting_;
}

void ReadLane::AnswerLocally(Slot slot) {
  Entry& entry = entries_[slot];
  for (const FetchId fetch : entry.fetches) {
    local_.push_back({entry.key, fetch, {.tenant = entry.tenant, .yields = entry.yields}});
  }
  entry.fetches.clear();
  Erase(slot);
}

void ReadLane::Erase(Slot slot) {
  Entry& entry = entries_[slot];
  entry.birth = 0;
  index_.Erase(entry.hash, slot);
  Trim(entry.key);
  Trim(entry.fetches);
  entries_.Give(slot);
}

void ReadLane::ServeLocally(StateSource& source, TimePoint now) {
  // A key may have become durable since it was queued. The application may then have dropped it.
  for (Local& local : std::exchange(local_, {})) {
    if (!writes_.Contains(local.key)) {
      Join(local.key, local.fetch, now, local.options);
      continue;
    }
    ++served_locally_;
    StoredState state;
    const Serialized serialized = source.Serialize(local.key, state.value);
    state.found = serialized == Serialized::kValue;
    state.stamp = {writes_.epoch(), writes_.NewestOf(local.key)};
    const bool failed = serialized == Serialized::kFailed;
    Answer(local.fetch, failed ? Errc::kNotSerialized : Errc::kOk, std::move(state));
  }
}

// --- Sending -----------------------------------------------------------------------------------

TimePoint ReadLane::Poll(TimePoint now, StateSource& source) {
  if (writes_.stopped() != Errc::kOk) {
    FailAll(writes_.stopped());
    return kNever;
  }
  TimeOutAttempts(now);
  Expire(now);
  ServeLocally(source, now);
  while (MaySend(now)) Send(now);
  while (now >= NextYielding()) SendYielding(now);
  ServeLocally(source, now);  // keys that became dirty while they waited to be read

  TimePoint next = kNever;
  if (!attempts_.empty()) {
    next = SaturatingAdd(attempts_.front().sample.sent, options_.attempt_timeout);
  }
  if (!ages_.empty()) next = std::min(next, SaturatingAdd(ages_.front().asked, deadline_));
  if (!ready_.empty() && HasRoom(others_in_flight(), reading_)) {
    next = std::min(next, std::max(NextByPolicy(), hold_.until()));
  }
  return std::min(next, NextYielding());
}

void ReadLane::Expire(TimePoint now) {
  while (!ages_.empty()) {
    const Age& age = ages_.front();
    Entry& entry = entries_[age.slot];
    if (entry.birth == age.birth) {
      if (SaturatingAdd(age.asked, deadline_) > now) return;
      Answer(age.slot, Errc::kDeadline, {});
      if (!entry.in_flight) {
        auto& queue = QueueOf(entry);
        queue.erase(std::find(queue.begin(), queue.end(), age.slot));  // near the front
        Erase(age.slot);
      }
    }
    ages_.pop_front();
  }
}

bool ReadLane::HasRoom(std::size_t in_flight, std::size_t keys) const {
  return in_flight < std::min(decision_.window, options_.max_batches_in_flight) &&
         keys < options_.max_reads_in_flight;
}

bool ReadLane::MaySend(TimePoint now) const {
  if (ready_.empty() || now < hold_.until()) return false;
  return HasRoom(others_in_flight(), reading_) && now >= NextByPolicy();
}

TimePoint ReadLane::NextByPolicy() const {
  if (ready_.size() >= options_.max_batch_items) return TimePoint::min();
  return pacer_.NextSend(decision_, std::max(entries_[ready_.front()].asked, hold_.until()));
}

TimePoint ReadLane::NextYielding() const {
  if (yielding_.empty() || yielding_in_flight_) return kNever;
  return std::max(yield_until_, hold_.until());
}

void ReadLane::Send(TimePoint now) {
  const std::size_t limit = std::min(
      {options_.max_batch_items, decision_.max_items, options_.max_reads_in_flight - reading_});
  const std::size_t in_flight = others_in_flight();
  Attempt* const attempt = SendFirst(ready_, limit, now);
  if (attempt == nullptr) return;
  attempt->sample.spacing = pacer_.SinceLastSend(now);
  attempt->sample.in_flight = in_flight + 1;
  pacer_.OnSend(now);
  CountBeside(in_flight > 0, now);
  reading_ += attempt->slots.size();
}

void ReadLane::SendYielding(TimePoint now) {
  const std::size_t limit =
      std::min({options_.max_batch_items, decision_.max_items,
                std::max(options_.max_reads_in_flight / kYieldingPart, kFewKeys)});
  Attempt* const attempt = SendFirst(yielding_, limit, now);
  if (attempt == nullptr) return;
  attempt->yields = yielding_in_flight_ = true;
  beside_ = {};
  beside_until_ = now;
}

// Sends the first keys of a queue. Returns null if all of them had become dirty.
ReadLane::Attempt* ReadLane::SendFirst(std::deque<Slot>& queue, std::size_t limit, TimePoint now) {
  ReadBatch batch{.id = ++last_batch_, .lane = id_, .keys = {}};
  Attempt attempt{.id = batch.id, .slots = {}, .yields = false, .sample = {}};
  limit = std::max<std::size_t>(1, limit);
  double waits = 0;
  while (!queue.empty() && batch.keys.size() < limit) {
    const Slot slot = queue.front();
    queue.pop_front();
    Entry& entry = entries_[slot];
    if (writes_.Contains(entry.key)) {
      AnswerLocally(slot);
      continue;
    }
    entry.in_flight = true;
    entry.overtaken = false;
    batch.keys.push_back(entry.key);
    if (entry.tenant != 0) batch.tenants.resize(batch.keys.size() - 1);  // earlier keys: tenant 0
    if (entry.tenant != 0 || !batch.tenants.empty()) batch.tenants.push_back(entry.tenant);
    attempt.slots.push_back(slot);
    attempt.sample.bytes += entry.key.size();
    const Duration wait = now - entry.asked;
    attempt.sample.oldest_wait = std::max(attempt.sample.oldest_wait, wait);
    waits += static_cast<double>(wait.count());
  }
  if (batch.keys.empty()) return nullptr;
  attempt.sample.items = batch.keys.size();
  attempt.sample.sent = now;
  const double mean = waits / static_cast<double>(batch.keys.size());
  attempt.sample.mean_wait = Duration(static_cast<Duration::rep>(mean));
  ++batches_sent_;
  reads_sent_ += batch.keys.size();
  attempts_.push_back(std::move(attempt));
  effects_.reads.push_back(std::move(batch));
  return &attempts_.back();
}

// --- Answers -----------------------------------------------------------------------------------

void ReadLane::TimeOutAttempts(TimePoint now) {
  while (!attempts_.empty() &&
         SaturatingAdd(attempts_.front().sample.sent, options_.attempt_timeout) <= now) {
    Finish(attempts_.Take(attempts_.begin()), {.errc = Errc::kUnknown, .states = {}}, now);
  }
}

void ReadLane::Done(BatchId batch, ReadResult result, TimePoint now) {
  const auto attempt = attempts_.Find(batch);
  if (attempt == attempts_.end()) return;
  Finish(attempts_.Take(attempt), std::move(result), now);
}

void ReadLane::Finish(Attempt attempt, ReadResult result, TimePoint now) {
  if (result.errc == Errc::kOk && result.states.size() != attempt.slots.size()) {
    result.errc = Errc::kCorrupt;
  }
  const bool again = result.errc == Errc::kTransient || result.errc == Errc::kUnknown;
  attempt.sample.done = now;
  attempt.sample.backlog = ready_.size();
  attempt.sample.errc = again ? result.errc : Errc::kOk;
  bool was_held_back = false;
  if (attempt.yields) yielding_in_flight_ = false;
  CountBeside(!attempt.yields || others_in_flight() > 0, now);
  if (attempt.yields) {
    SetPause(now);
  } else {
    was_held_back = Observe(attempt, now);
  }
  if (again) {
    hold_.OnFailure(attempt.id, last_batch_, now, random_);
  } else {
    hold_.OnSuccess();
  }

  std::vector<Slot> unread;
  for (std::size_t i = 0; i < attempt.slots.size(); ++i) {
    const Slot slot = attempt.slots[i];
    Entry& entry = entries_[slot];
    entry.in_flight = false;
    if (entry.fetches.empty()) {  // all of them had failed
      Erase(slot);
    } else if (writes_.Contains(entry.key)) {
      AnswerLocally(slot);
    } else if (again || entry.overtaken) {
      unread.push_back(slot);
    } else {
      const bool failed = result.errc != Errc::kOk;
      StoredState state = failed ? StoredState{} : std::move(result.states[i]);
      const Errc errc = failed ? result.errc : state.errc;
      Answer(slot, errc, std::move(state));
      Erase(slot);
    }
  }
  for (auto slot = unread.rbegin(); slot != unread.rend(); ++slot) {
    QueueOf(entries_[*slot]).push_front(*slot);
  }
  if (was_held_back || (!attempt.yields && !unread.empty())) pacer_.OnReopen(now);
}

// Takes the sample of an answered batch. Returns true if the lane was held back until now.
bool ReadLane::Observe(const Attempt& attempt, TimePoint now) {
  const bool had_no_room = !HasRoom(others_in_flight() + 1, reading_);
  reading_ -= attempt.slots.size();
  const Duration tick = decision_.tick;
  decision_ = policy_.Observe(attempt.sample);
  pacer_.OnAnswer(now);
  return had_no_room || decision_.tick != tick;
}

void ReadLane::SetPause(TimePoint now) {
  const double pause = static_cast<double>(beside_.count()) * options_.yield_pause;
  const double most = static_cast<double>(kLongestYieldPause.count());
  yield_until_ = SaturatingAdd(now, Duration(static_cast<Duration::rep>(std::min(pause, most))));
}

// Records whether other reads were in flight until now.
void ReadLane::CountBeside(bool others, TimePoint now) {
  if (others) beside_ += now - beside_until_;
  beside_until_ = now;
}

void ReadLane::FailAll(Errc errc) {
  for (const Local& local : local_) Answer(local.fetch, errc, {});
  local_.clear();
  for (const Age& age : ages_) {
    if (entries_[age.slot].birth != age.birth) continue;
    Answer(age.slot, errc, {});
    Erase(age.slot);
  }
  ages_.clear();
  ready_.clear();
  yielding_.clear();
  attempts_.clear();
  reading_ = 0;
  yielding_in_flight_ = false;
}

void ReadLane::AddTo(LaneStats& stats) const {
  stats.fetches = fetches_;
  stats.fetches_joined = joined_;
  stats.fetches_local = served_locally_;
  stats.read_batches_sent = batches_sent_;
  stats.reads_sent = reads_sent_;
}

}  // namespace stout::internal
