// Compares the engine's outputs with the knowledge of the witness: is each allowed, and is each
// required one there?

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tests/sim/witness.h"

namespace stout::sim {

// --- Polls ---------------------------------------------------------------------------------------

void Witness::OnPoll() {
  polling_ = true;
  for (auto it = replies_.begin(); it != replies_.end();) {
    Reply& reply = it->second;
    if (reply.is_flush || SaturatingAdd(reply.asked, options_.engine.reply_deadline) > now_) {
      ++it;
      continue;
    }
    ended_[it->first] = {Errc::kDeadline};
    it = replies_.erase(it);
  }
  for (Key& key : keys_) {
    if (key.pause_max == TimePoint::min() || key.pause_max > now_) continue;
    key.ready_since = now_;
    key.pause_min = key.pause_max = TimePoint::min();
  }
  const auto timed_out = [&](TimePoint sent) {
    return SaturatingAdd(sent, lane_options().attempt_timeout) <= now_;
  };
  for (LaneId id = 0; id < lanes_.size(); ++id) {
    Lane& lane = lanes_[id];
    while (!lane.attempts.empty() && timed_out(lane.attempts.front().sample.sent)) {
      Attempt attempt = std::move(lane.attempts.front());
      lane.attempts.erase(lane.attempts.begin());
      Finish(id, std::move(attempt), {.batch = Errc::kUnknown, .items = {}});
    }
    while (!lane.reads.empty() && timed_out(lane.reads.front().sent)) {
      OnReadDone(id, lane.reads.front().id, {.errc = Errc::kUnknown, .states = {}});
    }
  }
}

void Witness::OnEffects(const Effects& effects) {
  if (effects.fenced != std::exchange(fenced_, {})) Fail("lanes fenced that were not, or not told");
  JudgeWrites(effects);
  for (const KeyRefused& refused : effects.refused) JudgeRefused(refused);
  for (const KeyRefused& refused : std::exchange(refused_, {})) {
    Fail("the application was not told that {} was refused", refused.key);
  }
  for (const WriteBatch& batch : effects.writes) {
    if (!lane_options().prefix_ordering) break;
    ForKeysOf(batch.lane, [&](KeyId id, const Key& key) {
      if (key.unsent && key.sending == 0) Fail("batch {} left k{} behind", batch.id, id);
    });
  }
  JudgeReplies(effects.replies);
  for (const ReadBatch& batch : effects.reads) JudgeRead(batch);
  for (const FetchDone& done : effects.fetched) JudgeFetched(done);
  if (stopped_ != Errc::kOk && !fetches_.empty()) Fail("a fetch was lost at the end");
  if (!samples_.empty()) Fail("an attempt ended that the policy did not observe");
  const bool clean =
      std::none_of(keys_.begin(), keys_.end(), [](auto& key) { return key.dirty(); });
  const bool drained = polling_ && draining_ && clean && replies_.empty();
  const bool told = effects.drained.has_value();
  if (told != drained) Fail("drained is {}, should be {}", told, drained);
  drained_ |= drained;
}

void Witness::OnPolled(TimePoint next) {
  polling_ = false;
  TimePoint due = kNever;
  for (const auto& [id, reply] : replies_) {
    if (reply.is_flush) continue;
    due = std::min(due, SaturatingAdd(reply.asked, options_.engine.reply_deadline));
  }
  std::map<LaneId, std::size_t> waiting;
  for (auto& [id, fetch] : fetches_) {
    due = std::min(due, SaturatingAdd(fetch.asked, options_.engine.reply_deadline));
    if (fetch.was_dirty && keys_[fetch.key].dirty() && !IsReading(fetch.key)) {
      Fail("fetch {} waits though the newest state of k{} is in memory", id, fetch.key);
    }
    fetch.was_dirty &= keys_[fetch.key].dirty();
    if (++waiting[LaneOf(fetch.key)] > lane_options().max_pending_reads) {
      Fail("more fetches wait than max_pending_reads allows");
    }
  }
  for (LaneId id = 0; id < lanes_.size(); ++id) {
    const Lane& lane = lanes_[id];
    if (WriteDue(id) <= now_) Fail("lane {} had something to send and did not", id);
    if (ReadDue(id) <= now_) Fail("lane {} had something to read and did not", id);
    due = std::min({due, WriteDue(id), ReadDue(id)});
    if (lane.stopped != Errc::kOk) continue;
    if (!lane.attempts.empty()) {
      const TimePoint sent = lane.attempts.front().sample.sent;
      due = std::min(due, SaturatingAdd(sent, lane_options().attempt_timeout));
    }
    if (!lane.reads.empty()) {
      due = std::min(due, SaturatingAdd(lane.reads.front().sent, lane_options().attempt_timeout));
    }
  }
  if (next > due) {
    Fail("asks to be polled at {} though something is due at {}", next.time_since_epoch().count(),
         due.time_since_epoch().count());
  }
}

TimePoint Witness::WriteDue(LaneId id) const {
  const Lane& lane = lanes_[id];
  const std::size_t in_flight = lane.attempts.size();
  const bool blocked = in_flight >= lane_options().max_batches_in_flight ||
                       (lane_options().prefix_ordering && in_flight > 0);
  if (lane.stopped != Errc::kOk || blocked) return kNever;
  TimePoint first = kNever;   // when the first key can be sent, for certain,
  TimePoint urgent = kNever;  // the first that a flush wants,
  TimePoint overdue = kNever;
  std::size_t ready = 0;  // and how many can be sent now
  for (KeyId k = id; k < keys_.size(); k += options_.lanes) {
    const Key& key = keys_[k];
    if (!key.unsent || key.sending != 0) continue;
    const TimePoint since = std::max(key.ready_since, key.pause_max);
    first = std::min(first, since);
    if (key.urgent) urgent = std::min(urgent, since);
    overdue = std::min(overdue, SaturatingAdd(since, lane_options().max_delay));
    ready += since <= now_;
  }
  if (first == kNever) return kNever;
  TimePoint send = overdue;
  if (in_flight < WindowFor(lane, ready)) {
    const TimePoint spaced = NextSend(lane.pace, lane.writing, std::max(first, lane.hold.max));
    send = std::min({send, urgent, std::max(first, spaced)});
    if (IsFull(lane, ready)) send = first;
  }
  return std::max(send, lane.hold.max);
}

TimePoint Witness::NextSend(const Pace& pace, const Decision& decision, TimePoint ready) {
  // Without a gap an answer does not matter, not even to a tick that a late poll has yet to serve.
  const TimePoint answered = decision.gap > Duration::zero() ? pace.last_answer : TimePoint::min();
  const TimePoint allowed = std::max(SaturatingAdd(pace.last_send, decision.interval),
                                     SaturatingAdd(answered, decision.gap));
  if (decision.tick == Duration::zero()) return allowed;
  const TimePoint from =
      std::max({ready, allowed, pace.open_since, SaturatingAdd(pace.last_send, Duration(1))});
  if (from == kNever) return kNever;
  __extension__ using Wide = __int128;
  const Duration offset(
      static_cast<Duration::rep>((static_cast<Wide>(pace.offset) * decision.tick.count()) >> 64));
  TimePoint tick = TimePoint(offset) + (from - TimePoint(offset)) / decision.tick * decision.tick;
  while (tick < from) tick += decision.tick;
  while (tick - decision.tick >= from) tick -= decision.tick;
  return tick;
}

TimePoint Witness::ReadDue(LaneId id) const {
  const Lane& lane = lanes_[id];
  const std::size_t window = std::min(reading_.window, lane_options().max_batches_in_flight);
  if (lane.stopped != Errc::kOk || lane.reads.size() >= window) return kNever;
  const std::set<KeyId> ready = ReadyToRead(id, false);
  if (ready.empty()) return kNever;
  const bool full = ready.size() >= lane_options().max_batch_items;
  // All keys that became ready before now were sent at the ticks before now.
  const TimePoint spaced = NextSend(lane.read_pace, reading_, std::max(now_, lane.read_hold.max));
  return std::max(full ? TimePoint::min() : spaced, lane.read_hold.max);
}

/// The keys whose fetches wait for a read to be sent; `all`: those too that became dirty meanwhile.
std::set<KeyId> Witness::ReadyToRead(LaneId lane, bool all) const {
  std::set<KeyId> ready;
  for (const auto& [id, fetch] : fetches_) {
    if (LaneOf(fetch.key) != lane || IsReading(fetch.key)) continue;
    if (all || !keys_[fetch.key].dirty()) ready.insert(fetch.key);
  }
  return ready;
}

bool Witness::IsReading(KeyId key) const {
  for (const ReadAttempt& read : lanes_[LaneOf(key)].reads) {
    if (std::count(read.keys.begin(), read.keys.end(), key) > 0) return true;
  }
  return false;
}

// --- What came out -------------------------------------------------------------------------------

void Witness::JudgeWrites(const Effects& effects) {
  const std::vector<WriteBatch>& batches = effects.writes;
  for (std::size_t i = 0; i < batches.size() && !verdict_.failed(); ++i) {
    const WriteBatch& batch = batches[i];
    const bool last = i + 1 == batches.size() || batches[i + 1].lane != batch.lane;
    if (last || !AreParts(batch, batches[i + 1])) {
      JudgeWhole(batch, last, effects);
      JudgeWrite(batch, BatchPart::kWhole, true);
      continue;
    }
    // A key that was refused, as it fits no batch or when it was to travel alone, may have ended
    // the first of two whole ones.
    const bool known = std::none_of(effects.refused.begin(), effects.refused.end(),
                                    [&](const KeyRefused& r) { return r.lane == batch.lane; });
    JudgeWrite(batch, BatchPart::kProbe, known);
    JudgeWrite(batches[++i], BatchPart::kRest, known);
  }
}

std::size_t Witness::MostItems(const Lane& lane) const {
  if (lane_options().prefix_ordering) return lane_options().max_batch_items;
  return std::min({lane_options().max_batch_items, lane.writing.max_items, lane.limit});
}

bool Witness::TravelsAlone(KeyId key) const {
  return keys_[key].failures >= kAloneAfter && !lane_options().prefix_ordering;
}

bool Witness::IsFull(const Lane& lane, std::size_t ready) const {
  return ready >= lane_options().max_batch_items ||
         (lane.writing.full_window > 0 && ready >= lane.writing.max_items);
}

std::size_t Witness::WindowFor(const Lane& lane, std::size_t ready) const {
  const Decision& decision = lane.writing;
  return IsFull(lane, ready) ? std::max(decision.window, decision.full_window) : decision.window;
}

bool Witness::MayCut(const Lane& lane) const {
  return lane.writing.probe > 0 && !lane_options().prefix_ordering &&
         lane.attempts.size() + 2 <= lane_options().max_batches_in_flight;
}

// Returns true if two batches of a lane, one after the other, are one that was cut. Otherwise, if
// they fit into one batch, they would have been one.
bool Witness::AreParts(const WriteBatch& probe, const WriteBatch& rest) const {
  const Lane& lane = lanes_[probe.lane];
  const auto alone = [&](const WriteItem& item) { return TravelsAlone(KeyOf(item.key)); };
  return MayCut(lane) && probe.items.size() == lane.writing.probe &&
         probe.items.size() + rest.items.size() <= MostItems(lane) &&
         probe.bytes + rest.bytes <= lane_options().max_batch_bytes &&
         std::none_of(probe.items.begin(), probe.items.end(), alone) &&
         std::none_of(rest.items.begin(), rest.items.end(), alone);
}

// A batch that is whole must not have been cut, nor been the probe of one whose rest is missing.
void Witness::JudgeWhole(const WriteBatch& batch, bool last, const Effects& effects) {
  const Lane& lane = lanes_[batch.lane];
  const std::size_t count = batch.items.size();
  if (!MayCut(lane) || count < lane.writing.probe) return;
  if (count > lane.writing.probe) return Fail("batch {} was not cut", batch.id);
  if (!last || count >= MostItems(lane) || TravelsAlone(KeyOf(batch.items[0].key))) return;
  bool more = false;    // could have come along for certain
  bool excuse = false;  // one at whose place in the queue the batch may have ended
  ForKeysOf(batch.lane, [&](KeyId id, const Key& key) {
    const std::string name = NameOf(id);
    const auto is_named = [&](const auto& it) { return it.key == name; };
    if (!key.unsent || key.sending != 0 || now_ < key.pause_min) return;
    if (std::any_of(batch.items.begin(), batch.items.end(), is_named)) return;
    const bool refused = std::any_of(effects.refused.begin(), effects.refused.end(), is_named);
    const std::size_t bytes = name.size() + memory_[id].change.value.size();
    excuse |= refused || TravelsAlone(id) || batch.bytes + bytes > lane_options().max_batch_bytes;
    more |= key.pause_max <= now_;
  });
  if (more && !excuse) Fail("batch {} is a probe without its rest", batch.id);
}

void Witness::JudgeWrite(const WriteBatch& batch, BatchPart part, bool part_known) {
  const LaneOptions& limits = lane_options();
  Lane& lane = lanes_[batch.lane];
  if (!polling_) Fail("batch {} was sent outside Poll", batch.id);
  if (lane.stopped != Errc::kOk) Fail("batch {} was sent by a stopped lane", batch.id);
  if (batch.id <= last_batch_) Fail("batch {} after {}", batch.id, last_batch_);
  last_batch_ = batch.id;
  if (batch.epoch != epoch_) Fail("batch {} has epoch {}", batch.id, batch.epoch);
  if (batch.items.empty()) return Fail("batch {} is empty", batch.id);
  const std::size_t count = batch.items.size();
  const bool prefix = limits.prefix_ordering;
  const std::size_t most = MostItems(lane);
  if (count > most) Fail("batch {} has {} items, more than {}", batch.id, count, most);
  if (!prefix && batch.bytes > limits.max_batch_bytes) {
    Fail("batch {} has {} bytes", batch.id, batch.bytes);
  }
  if (lane.attempts.size() >= limits.max_batches_in_flight) {
    Fail("batch {} makes {} in flight", batch.id, lane.attempts.size() + 1);
  }
  if (prefix && !lane.attempts.empty()) Fail("batch {} overtakes another", batch.id);
  if (batch.all_or_nothing != prefix) Fail("batch {} tells the store the wrong order", batch.id);
  if (part != BatchPart::kRest) JudgeSendTime(batch);

  Attempt attempt{.id = batch.id, .items = {}, .sample = {}, .part_known = part_known};
  std::size_t bytes = 0;
  TimePoint oldest = now_;
  Duration waited{};
  for (const WriteItem& item : batch.items) {
    JudgeItem(batch, item);
    if (verdict_.failed()) return;
    Key& key = keys_[KeyOf(item.key)];
    attempt.items.push_back({KeyOf(item.key), key.dirty_since, key.urgent});
    bytes += item.key.size() + item.value.size();
    oldest = std::min(oldest, key.dirty_since);
    waited += now_ - key.dirty_since;
    key.sending = item.version;
    key.unsent = key.urgent = false;
    key.bytes = item.key.size() + item.value.size();
  }
  if (bytes != batch.bytes) Fail("batch {} has {} bytes, says {}", batch.id, bytes, batch.bytes);
  const bool first = lane.pace.last_send == TimePoint::min();
  const Duration spacing = part == BatchPart::kRest ? lane.attempts.back().sample.spacing
                           : first                  ? Duration::zero()
                                                    : now_ - lane.pace.last_send;
  attempt.sample = {.items = count,
                    .bytes = bytes,
                    .sent = now_,
                    .done = {},
                    .oldest_wait = now_ - oldest,
                    .mean_wait = waited / static_cast<Duration::rep>(count),
                    .spacing = spacing,
                    .in_flight = lane.attempts.size() + 1,
                    .backlog = 0,
                    .errc = Errc::kOk,
                    .part = part};
  lane.attempts.push_back(std::move(attempt));
  lane.pace.last_send = now_;
  lane.writing.probe = 0;  // that was the next batch
}

void Witness::JudgeItem(const WriteBatch& batch, const WriteItem& item) {
  const KeyId id = KeyOf(item.key);
  const Key& key = keys_[id];
  if (LaneOf(id) != batch.lane) return Fail("batch {} has {} of another lane", batch.id, item.key);
  if (key.sending != 0) return Fail("two writes of {} are in flight", item.key);
  if (!key.unsent) return Fail("batch {} writes {}, which is clean", batch.id, item.key);
  if (now_ < key.pause_min) Fail("{} was sent again without a pause", item.key);
  if (key.failures >= kAloneAfter && batch.items.size() > 1 && !lane_options().prefix_ordering) {
    Fail("{} failed {} times and does not travel alone", item.key, key.failures);
  }
  const Change& change = memory_[id].change;
  if (item.version != key.newest || Stamp{epoch_, item.version} != change.stamp) {
    Fail("batch {} writes {} at version {}, not {}", batch.id, item.key, item.version, key.newest);
  }
  const WriteKind kind = change.deleted ? WriteKind::kDelete : WriteKind::kPut;
  if (item.kind != kind || item.value != change.value || change.unserialisable) {
    Fail("batch {} writes {} as '{}', not '{}'", batch.id, item.key, item.value, change.value);
  }
  const bool fits = item.key.size() + item.value.size() <= lane_options().max_batch_bytes;
  if (!fits) Fail("batch {} has {}, which is too large", batch.id, item.key);
}

void Witness::JudgeSendTime(const WriteBatch& batch) {
  const Lane& lane = lanes_[batch.lane];
  if (now_ < lane.hold.min) return Fail("batch {} was sent without back-off", batch.id);
  std::size_t ready = 0;
  bool urgent = false;
  bool overdue = false;
  TimePoint since = kNever;
  ForKeysOf(batch.lane, [&](KeyId, const Key& key) {
    if (!key.unsent || key.sending != 0 || now_ < key.pause_min) return;
    ++ready;
    since = std::min(since, key.ready_min);
    urgent |= key.urgent;
    overdue |= now_ >= SaturatingAdd(key.dirty_since, lane_options().max_delay);
  });
  if (overdue) return;
  if (lane.attempts.size() >= WindowFor(lane, ready)) {
    return Fail("batch {} is more than the window of {}", batch.id, WindowFor(lane, ready));
  }
  const bool full = IsFull(lane, ready);
  const TimePoint spaced = NextSend(lane.pace, lane.writing, std::max(since, lane.hold.min));
  if (!urgent && !full && now_ < spaced) Fail("batch {} was sent before its time", batch.id);
}

void Witness::JudgeRefused(const KeyRefused& refused) {
  const auto told = std::find(refused_.begin(), refused_.end(), refused);
  if (told != refused_.end()) {
    refused_.erase(told);
    return;
  }
  // Not by the store: while the batch was formed.
  const KeyId id = KeyOf(refused.key);
  Key& key = keys_[id];
  const Change& change = memory_[id].change;
  const std::size_t bytes = refused.key.size() + change.value.size();
  const Errc expected = change.unserialisable                    ? Errc::kNotSerialized
                        : bytes > lane_options().max_batch_bytes ? Errc::kTooLarge
                                                                 : Errc::kOk;
  if (!polling_ || !key.unsent || key.sending != 0 || refused.errc != expected ||
      refused.doubtful != (key.doubtful != 0)) {
    return Fail("{} was refused ('{}') for no reason", refused.key, Describe(refused.errc));
  }
  key.sending = key.newest;
  key.unsent = key.urgent = false;
  EndWrite(id, refused.errc);
}

void Witness::JudgeReplies(const std::vector<RunReply>& replies) {
  for (const RunReply& reply : replies) {
    const auto ended = ended_.find(reply.id);
    if (ended == ended_.end()) {
      Fail("reply {} ran with '{}': too early, or twice", reply.id, Describe(reply.errc));
    } else if (ended->second.count(reply.errc) == 0) {
      Fail("reply {} ran with '{}', not '{}'", reply.id, Describe(reply.errc),
           Describe(*ended->second.begin()));
    } else {
      ended_.erase(ended);
    }
  }
  if (!ended_.empty()) {
    Fail("reply {} did not run with '{}'", ended_.begin()->first,
         Describe(*ended_.begin()->second.begin()));
  }
}

void Witness::JudgeFetched(const FetchDone& done) {
  const auto found = fetches_.find(done.id);
  if (found == fetches_.end()) return Fail("fetch {} was answered twice", done.id);
  const Fetch fetch = found->second;
  fetches_.erase(found);
  const auto others = std::count_if(fetches_.begin(), fetches_.end(), [&](const auto& other) {
    return LaneOf(other.second.key) == LaneOf(fetch.key);
  });
  const Key& key = keys_[fetch.key];
  const Change& newest = memory_[fetch.key].change;
  const Lane& lane = lanes_[LaneOf(fetch.key)];
  bool legitimate = false;
  switch (done.errc) {
    case Errc::kOk:
      if (!key.dirty()) {
        legitimate = done.state.stamp >= fetch.floor;
      } else {
        legitimate = done.state.stamp == newest.stamp && done.state.found == !newest.deleted &&
                     done.state.value == newest.value;
      }
      break;
    case Errc::kNotSerialized:
      legitimate = key.dirty() && newest.unserialisable;
      break;
    case Errc::kDeadline:
      legitimate =
          fetch.joined || SaturatingAdd(fetch.asked, options_.engine.reply_deadline) <= now_;
      break;
    case Errc::kPushedBack:
      legitimate = static_cast<std::size_t>(others) >= lane_options().max_pending_reads;
      break;
    default:
      legitimate = lane.stopped == done.errc && done.errc != Errc::kOk;
  }
  if (!legitimate) {
    Fail("fetch {} of k{} was answered '{}' with ({}, {}) '{}'; floor ({}, {})", done.id, fetch.key,
         Describe(done.errc), done.state.stamp.epoch, done.state.stamp.version, done.state.value,
         fetch.floor.epoch, fetch.floor.version);
  }
}

void Witness::JudgeRead(const ReadBatch& batch) {
  Lane& lane = lanes_[batch.lane];
  const std::size_t window = std::min(reading_.window, lane_options().max_batches_in_flight);
  if (lane.stopped != Errc::kOk) Fail("a stopped lane reads");
  if (lane.reads.size() >= window) Fail("read {} is more than the window", batch.id);
  if (now_ < lane.read_hold.min) Fail("read {} was sent without back-off", batch.id);
  if (batch.keys.empty()) Fail("read {} is empty", batch.id);
  const std::size_t most = std::min(lane_options().max_batch_items, reading_.max_items);
  if (batch.keys.size() > most) Fail("read {} has {} keys", batch.id, batch.keys.size());
  const bool full = ReadyToRead(batch.lane, true).size() >= lane_options().max_batch_items;
  TimePoint since = kNever;
  for (const auto& [id, fetch] : fetches_) {
    if (LaneOf(fetch.key) == batch.lane && !IsReading(fetch.key)) {
      since = std::min(since, fetch.asked);
    }
  }
  since = std::max(since, lane.read_hold.min);
  if (!full && now_ < NextSend(lane.read_pace, reading_, since)) {
    Fail("read {} was sent before its time", batch.id);
  }
  ReadAttempt read{.id = batch.id, .keys = {}, .sent = now_};
  for (const std::string& name : batch.keys) {
    const KeyId key = KeyOf(name);
    if (IsReading(key)) Fail("two reads of {} are in flight", name);
    if (keys_[key].dirty()) Fail("{} is read though it is dirty", name);
    read.keys.push_back(key);
  }
  lane.reads.push_back(std::move(read));
  lane.read_pace.last_send = now_;
}

}  // namespace stout::sim
