#include "tests/sim/witness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "stout/core/random.h"

namespace stout::sim {
namespace {

bool IsSettled(Errc errc) {
  return errc == Errc::kOk || errc == Errc::kRefused || errc == Errc::kTooLarge ||
         errc == Errc::kCorrupt;
}

bool Fences(const WriteResult& result) {
  return result.batch == Errc::kFenced ||
         std::any_of(result.items.begin(), result.items.end(),
                     [](const ItemError& e) { return e.errc == Errc::kFenced; });
}

template <typename Attempts>
auto FindAttempt(Attempts& attempts, BatchId id) {
  return std::find_if(attempts.begin(), attempts.end(), [&](const auto& a) { return a.id == id; });
}

}  // namespace

Witness::Witness(const WorldOptions& options, Epoch epoch, const std::vector<InMemory>& memory,
                 std::vector<Stamp> durable_at_start, Verdict& verdict)
    : options_(options),
      epoch_(epoch),
      memory_(memory),
      verdict_(verdict),
      reading_(options.engine.lane.read_policy.Start()),
      keys_(options.keys),
      lanes_(options.lanes) {
  for (KeyId key = 0; key < options.keys; ++key) keys_[key].floor = durable_at_start[key];
  for (LaneId id = 0; id < options.lanes; ++id) {
    // The offset of ticks is the first number of a lane's generator.
    lanes_[id].pace.offset = SplitMix64(options.engine.seed + 2 * id).Next();
    lanes_[id].read_pace.offset = SplitMix64(options.engine.seed + 2 * id + 1).Next();
    lanes_[id].writing = options.engine.lane.write_policy.Start();
    lanes_[id].limit = lane_options().max_batch_items;
  }
}

std::size_t Witness::DirtyKeys(LaneId lane) const {
  std::size_t count = 0;
  for (KeyId key = lane; key < keys_.size(); key += options_.lanes) count += keys_[key].dirty();
  return count;
}

std::size_t Witness::DirtyBytes(LaneId lane) const {
  std::size_t bytes = 0;
  for (KeyId key = lane; key < keys_.size(); key += options_.lanes) bytes += keys_[key].bytes;
  return bytes;
}

Duration Witness::PauseOf(std::uint32_t failures) const {
  Duration pause = lane_options().retry_first;
  for (std::uint32_t i = 1; i < failures && pause < lane_options().retry_cap; ++i) pause *= 2;
  return std::min(pause, lane_options().retry_cap);
}

// --- Inputs --------------------------------------------------------------------------------------

void Witness::OnMark(KeyId id, std::size_t bytes, const MarkResult& result) {
  Key& key = keys_[id];
  const Lane& lane = lanes_[LaneOf(id)];
  const std::size_t name = NameOf(id).size();
  const std::size_t told = bytes == 0 ? std::max(key.bytes, name) : bytes + name;
  const bool keys_full = !key.dirty() && DirtyKeys(LaneOf(id)) >= lane_options().max_dirty_keys;
  const bool bytes_full = told > key.bytes && DirtyBytes(LaneOf(id)) - key.bytes + told >
                                                  lane_options().max_dirty_bytes;
  Errc expected = Errc::kOk;
  if (keys_full || bytes_full) expected = Errc::kPushedBack;
  if (told > lane_options().max_dirty_bytes) expected = Errc::kTooLarge;
  if (lane.stopped != Errc::kOk) expected = lane.stopped;
  if (draining_ && stopped_ == Errc::kOk) expected = Errc::kDraining;
  if (result.errc != expected) {
    return Fail("MarkDirty of k{} answered '{}', not '{}'", id, Describe(result.errc),
                Describe(expected));
  }
  if (expected != Errc::kOk) return;
  if (result.version <= key.newest || result.version <= key.durable) {
    Fail("MarkDirty of k{} answered version {} after {} and {}", id, result.version, key.newest,
         key.durable);
  }
  key.newest = result.version;
  key.bytes = told;
  if (key.unsent) return;
  key.unsent = true;
  key.dirty_since = now_;
  key.ready_since = key.ready_min = now_;
}

void Witness::OnSafeReply(ReplyId id, const KeyIds& keys) {
  if (replies_.size() >= options_.engine.max_replies) {
    ended_[id] = {Errc::kPushedBack};
    return;
  }
  Reply reply{.is_flush = false, .asked = now_, .needs = {}, .trouble = {}};
  if (stopped_ != Errc::kOk) reply.trouble.insert(stopped_);
  for (const KeyId key : keys) {
    const Errc stopped = lanes_[LaneOf(key)].stopped;
    if (stopped != Errc::kOk) reply.trouble.insert(stopped);
    if (keys_[key].dirty()) reply.needs.push_back({key, keys_[key].newest});
  }
  if (!reply.trouble.empty()) {
    ended_[id] = reply.trouble;
  } else if (reply.needs.empty()) {
    ended_[id] = {Errc::kOk};
  } else {
    replies_.emplace(id, std::move(reply));
  }
}

void Witness::OnFlush(ReplyId id) {
  if (replies_.size() >= options_.engine.max_replies) {
    ended_[id] = {Errc::kPushedBack};
    return;
  }
  Reply reply{.is_flush = true, .asked = now_, .needs = {}, .trouble = {}};
  for (KeyId key = 0; key < keys_.size(); ++key) {
    if (keys_[key].dirty()) reply.needs.push_back({key, keys_[key].newest});
  }
  if (reply.needs.empty()) {
    ended_[id] = {stopped_};
  } else {
    replies_.emplace(id, std::move(reply));
  }
  Urge();
}

void Witness::OnDrain() {
  draining_ = true;
  Urge();
}

// Unsent keys, and keys that come back unsent, no longer wait for interval, pause or hold.
void Witness::Urge() {
  for (Key& key : keys_) {
    if (!key.unsent) continue;
    key.urgent = true;
    if (key.pause_max != TimePoint::min()) key.ready_since = key.ready_min = now_;
    key.pause_min = key.pause_max = TimePoint::min();
  }
  for (Lane& lane : lanes_) {
    lane.hold.min = lane.hold.max = TimePoint::min();
    for (Attempt& attempt : lane.attempts) {
      for (Item& item : attempt.items) item.urgent = true;
    }
  }
}

void Witness::OnFetch(FetchId id, KeyId key) {
  const bool joined = IsReading(key) || std::any_of(fetches_.begin(), fetches_.end(),
                                                    [&](auto& f) { return f.second.key == key; });
  fetches_[id] = {.key = key,
                  .asked = now_,
                  .floor = keys_[key].floor,
                  .joined = joined,
                  .was_dirty = keys_[key].dirty()};
}

void Witness::OnStop(Errc why) {
  if (stopped_ == Errc::kOk) stopped_ = why;
  for (LaneId lane = 0; lane < lanes_.size(); ++lane) StopLane(lane, why);
  for (auto& [id, reply] : replies_) {
    reply.trouble.insert(why);
    ended_[id] = reply.trouble;
  }
  replies_.clear();
}

void Witness::StopLane(LaneId id, Errc why) {
  Lane& lane = lanes_[id];
  if (lane.stopped != Errc::kOk) return;
  lane.stopped = why;
  if (why == Errc::kFenced) fenced_.push_back(id);
  ForKeysOf(id, [&](KeyId key, Key& state) {
    if (state.dirty()) Settle(key, state.newest, why);
    state.unsent = false;
    state.sending = 0;
    state.bytes = 0;
  });
  lane.attempts.clear();
}

// --- Answers -------------------------------------------------------------------------------------

void Witness::OnWriteDone(LaneId id, BatchId batch, const WriteResult& result) {
  Lane& lane = lanes_[id];
  if (lane.stopped != Errc::kOk) return;
  const auto found = FindAttempt(lane.attempts, batch);
  if (found != lane.attempts.end() && result.batch != Errc::kFenced) {
    Attempt attempt = std::move(*found);
    lane.attempts.erase(found);
    Finish(id, std::move(attempt), result);
  }
  if (Fences(result)) StopLane(id, Errc::kFenced);
}

void Witness::Finish(LaneId id, Attempt attempt, const WriteResult& result) {
  Lane& lane = lanes_[id];
  const std::size_t count = attempt.items.size();
  const bool prefix = lane_options().prefix_ordering;
  const bool splits = result.batch == Errc::kTooLarge && count > 1 && !prefix;
  std::vector<Errc> fates(count, splits ? Errc::kTransient : result.batch);
  std::vector<bool> named(count, false);
  for (const ItemError& error : result.items) {
    fates[error.index] = error.errc;
    named[error.index] = true;
  }
  const auto settled =
      static_cast<std::size_t>(std::count_if(fates.begin(), fates.end(), IsSettled));

  attempt.sample.done = now_;
  attempt.sample.errc = settled > 0                 ? Errc::kOk
                        : result.batch == Errc::kOk ? result.items.front().errc
                                                    : result.batch;
  const bool alone = count == 1 && !prefix;
  const bool suspect = alone && keys_[attempt.items[0].key].failures >= kAloneAfter;
  const bool each_by_itself =
      settled == 0 && result.batch == Errc::kTransient && result.items.size() == count && !prefix;
  const bool cuts = settled == 0 && !suspect && !prefix;
  if (each_by_itself) {
    lane.pace.last_answer = lane.pace.open_since = now_;  // no policy observes it
  } else {
    samples_.push_back({.lane = id,
                        .sample = attempt.sample,
                        .part_known = attempt.part_known,
                        .in_flight = lane.attempts.size() + 1,
                        .settled = settled == count,
                        .limit = std::max<std::size_t>(1, count / 2),
                        .cuts = cuts});
  }

  bool whole = settled == 0 && !each_by_itself;  // or at least all that nobody named
  for (std::size_t i = 0; i < count; ++i) {
    const Item& item = attempt.items[i];
    if (IsSettled(fates[i])) {
      const bool doubtful = keys_[item.key].doubtful != 0;
      EndWrite(item.key, fates[i]);
      if (fates[i] != Errc::kOk) refused_.push_back({id, NameOf(item.key), fates[i], doubtful});
      continue;
    }
    if (fates[i] == Errc::kUnknown) keys_[item.key].doubtful = keys_[item.key].sending;
    Requeue(item);
    if (alone || each_by_itself || (settled > 0 && named[i] && !prefix)) {
      PauseKey(item.key);
    } else {
      whole = true;
    }
  }
  if (settled > 0) {
    lane.hold.failures = 0;
    lane.limit = std::min(lane_options().max_batch_items, lane.limit * 2);
  }
  if (whole && !suspect && !splits) Extend(lane.hold, attempt.id, lane.attempts);
}

void Witness::EndWrite(KeyId id, Errc errc) {
  Key& key = keys_[id];
  const Version version = std::exchange(key.sending, 0);
  key.failures = 0;
  if (errc == Errc::kOk) {
    key.durable = version;
    key.floor = {epoch_, version};
  }
  const Version doubtful = std::exchange(key.doubtful, 0);
  if (errc != Errc::kOk) Settle(id, doubtful, Errc::kUnknown);
  Settle(id, version, errc);
  key.ready_since = key.ready_min = now_;
  key.pause_min = key.pause_max = TimePoint::min();
  if (key.unsent) return;
  key.newest = 0;
  key.bytes = 0;
  key.urgent = false;
}

void Witness::Requeue(const Item& item) {
  Key& key = keys_[item.key];
  key.sending = 0;
  key.unsent = true;
  key.urgent |= item.urgent;
  key.dirty_since = item.dirty_since;
  key.ready_since = key.ready_min = now_;
  key.pause_min = key.pause_max = TimePoint::min();
}

void Witness::PauseKey(KeyId id) {
  Key& key = keys_[id];
  const Duration pause = PauseOf(++key.failures);
  key.pause_min = key.ready_min = now_ + pause - pause / 2;
  key.pause_max = now_ + pause;
}

// Batches that were in flight together extend it once.
template <typename Attempts>
void Witness::Extend(Hold& hold, BatchId failed, const Attempts& left) {
  if (failed <= hold.newest) return;
  hold.newest = left.empty() ? failed : std::max(failed, left.back().id);
  const Duration pause = PauseOf(++hold.failures);
  hold.min = std::max(hold.min, now_ + pause - pause / 2);
  hold.max = std::max(hold.max, now_ + pause);
}

// The key is durable at the version, or never will be at it or an older one.
void Witness::Settle(KeyId key, Version version, Errc errc) {
  for (auto it = replies_.begin(); it != replies_.end();) {
    Reply& reply = it->second;
    const auto count = std::erase_if(
        reply.needs, [&](const Need& need) { return need.key == key && need.version <= version; });
    if (count > 0 && errc != Errc::kOk) reply.trouble.insert(errc);
    const bool hopeless = !reply.trouble.empty() && !reply.is_flush;
    if (count == 0 || !(reply.needs.empty() || hopeless)) {
      ++it;
      continue;
    }
    ended_[it->first] = reply.trouble.empty() ? std::set<Errc>{Errc::kOk} : reply.trouble;
    it = replies_.erase(it);
  }
}

void Witness::OnReadDone(LaneId id, BatchId batch, const ReadResult& result) {
  Lane& lane = lanes_[id];
  const auto found = FindAttempt(lane.reads, batch);
  if (found == lane.reads.end()) return;
  const bool again = result.errc == Errc::kTransient || result.errc == Errc::kUnknown;
  const bool put_back = again && std::any_of(fetches_.begin(), fetches_.end(), [&](auto& fetch) {
                          const KeyIds& keys = found->keys;
                          return std::count(keys.begin(), keys.end(), fetch.second.key) > 0 &&
                                 !keys_[fetch.second.key].dirty();
                        });
  const std::size_t window = std::min(reading_.window, lane_options().max_batches_in_flight);
  lane.read_pace.last_answer = now_;
  if (lane.reads.size() >= window || put_back) lane.read_pace.open_since = now_;
  lane.reads.erase(found);
  if (!again) {
    lane.read_hold.failures = 0;
    return;
  }
  Extend(lane.read_hold, batch, lane.reads);
}

void Witness::OnSample(const BatchSample& sample, const Decision& decision) {
  if (samples_.empty()) return Fail("the policy observes an attempt that has not ended");
  auto [id, expected, part_known, in_flight, settled, limit, cuts] = samples_.front();
  samples_.erase(samples_.begin());

  Lane& lane = lanes_[id];
  const bool had_room =
      in_flight < std::min(lane.writing.window, lane_options().max_batches_in_flight) &&
      !lane_options().prefix_ordering;
  lane.pace.last_answer = now_;
  if (!had_room || !settled || decision.tick != lane.writing.tick) lane.pace.open_since = now_;
  lane.writing = decision;

  expected.backlog = sample.backlog;
  if (!part_known) {
    expected.part = sample.part;
    expected.spacing = sample.spacing;
  }
  const bool small_by_intent = sample.items == 1 && expected.part == BatchPart::kProbe;
  if (cuts && !small_by_intent) lane.limit = std::min(lane.limit, limit);
  if (sample == expected) return;
  const auto show = [](const BatchSample& s) {
    return fmt::format(
        "{} items, {} bytes, sent {} done {}, waited {} (mean {}), spacing {}, in flight {}, part "
        "{}, '{}'",
        s.items, s.bytes, s.sent.time_since_epoch().count(), s.done.time_since_epoch().count(),
        s.oldest_wait.count(), s.mean_wait.count(), s.spacing.count(), s.in_flight,
        static_cast<int>(s.part), Describe(s.errc));
  };
  Fail("the policy observes [{}] where [{}] happened", show(sample), show(expected));
}

// --- The end -------------------------------------------------------------------------------------

bool Witness::IsQuiet(const std::set<KeyId>& except) const {
  for (KeyId key = 0; key < keys_.size(); ++key) {
    if (keys_[key].dirty() && except.count(key) == 0) return false;
  }
  return fetches_.empty() && std::all_of(replies_.begin(), replies_.end(), [&](const auto& reply) {
           return std::all_of(reply.second.needs.begin(), reply.second.needs.end(),
                              [&](const Need& need) { return except.count(need.key) > 0; });
         });
}

std::string Witness::Waiting() const {
  std::string text;
  for (KeyId key = 0; key < keys_.size(); ++key) {
    if (keys_[key].dirty()) text += fmt::format("k{} ", key);
  }
  return fmt::format("dirty: {}; {} replies, {} fetches wait", text, replies_.size(),
                     fetches_.size());
}

}  // namespace stout::sim
