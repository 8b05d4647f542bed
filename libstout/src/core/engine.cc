#include "stout/core/engine.h"

#include <algorithm>
#include <new>
#include <utility>

namespace stout::internal {

namespace {

bool IsLost(const WriteResult& result) {
  return result.batch == Errc::kLost ||
         std::any_of(result.items.begin(), result.items.end(),
                     [](const ItemError& item) { return item.errc == Errc::kLost; });
}

}  // namespace

Engine::LanePair::LanePair(LaneId id, Engine& engine)
    : writes(id, engine.epoch_, engine.options_.lane, engine.options_.seed + 2 * id,
             engine.last_batch_, engine.replies_, engine.effects_),
      reads(engine.options_.lane, engine.options_.reply_deadline, engine.options_.seed + 2 * id + 1,
            writes, id, engine.last_batch_, engine.effects_) {}

Engine::Engine(const EngineOptions& options, LaneId lanes, Epoch epoch)
    : options_(options), epoch_(epoch), replies_(options.reply_deadline, effects_) {
  for (LaneId id = 0; id < lanes; ++id) lanes_.emplace_back(id, *this);
}

MarkResult Engine::MarkDirty(KeyRef key, std::size_t bytes, Version version, TimePoint now) {
  if (draining_ && stopped_ == Errc::kOk) return {.errc = Errc::kDraining};
  LanePair& lane = lanes_[key.lane];
  const MarkResult result = lane.writes.Mark(key.key, bytes, version, Advance(now));
  if (result.errc == Errc::kOk) lane.reads.Overtake(key.key);
  return result;
}

Errc Engine::Admits(KeyRef key, std::size_t bytes) const {
  if (draining_ && stopped_ == Errc::kOk) return Errc::kDraining;
  return lanes_[key.lane].writes.Admits(key.key, bytes);
}

ReplyTable::Index Engine::SafeReply(std::span<const KeyRef> keys, ReplyId reply, TimePoint now) {
  if (!HasReplyRoom()) {
    effects_.replies.push_back({reply, Errc::kPushedBack});
    return ReplyTable::kNone;
  }
  ++replies_taken_;
  return Await(replies_.Register(reply, Advance(now)), reply, [&](ReplyTable::Index index) {
    Errc errc = stopped_;
    for (std::size_t i = 0; i < keys.size() && errc == Errc::kOk; ++i) {
      errc = lanes_[keys[i].lane].writes.DependOn(index, keys[i].key);
    }
    return errc;
  });
}

// Seals a reply with the errc of `depend(index)`, which adds what the reply waits for.
template <typename Depend>
ReplyTable::Index Engine::Await(ReplyTable::Index index, ReplyId reply, Depend depend) {
  try {
    replies_.Seal(index, depend(index), now_);
  } catch (const std::bad_alloc&) {
    (void)replies_.Withdraw(index, reply);
    throw;
  }
  return index;
}

void Engine::Fetch(KeyRef key, FetchId fetch, TimePoint now, const FetchOptions& options) {
  lanes_[key.lane].reads.Fetch(key.key, fetch, Advance(now), options);
}

ReplyTable::Index Engine::Flush(ReplyId reply, TimePoint now) { return AwaitAll(reply, true, now); }

ReplyTable::Index Engine::Barrier(ReplyId reply, TimePoint now) {
  return AwaitAll(reply, false, now);
}

ReplyTable::Index Engine::AwaitAll(ReplyId reply, bool send_now, TimePoint now) {
  if (!HasReplyRoom()) {
    effects_.replies.push_back({reply, Errc::kPushedBack});
    return ReplyTable::kNone;
  }
  return Await(replies_.RegisterFlush(reply, Advance(now)), reply, [&](ReplyTable::Index index) {
    for (LanePair& lane : lanes_) {
      lane.writes.Barrier(index);
      if (send_now) lane.writes.SendAllNow();
    }
    return stopped_;
  });
}

void Engine::WriteDone(LaneId lane, BatchId batch, const WriteResult& result, TimePoint now) {
  // Also a late answer: no lane can go on with that store.
  if (IsLost(result)) return Lose(now);
  lanes_[lane].writes.Done(batch, result, Advance(now));
}

void Engine::ReadDone(LaneId lane, BatchId batch, ReadResult result, TimePoint now) {
  if (result.errc == Errc::kLost) return Lose(now);
  lanes_[lane].reads.Done(batch, std::move(result), Advance(now));
}

void Engine::Drain() {
  draining_ = true;
  for (LanePair& lane : lanes_) lane.writes.SendAllNow();
}

void Engine::Stop(Errc why, TimePoint now) {
  Advance(now);
  if (stopped_ == Errc::kOk) {
    stopped_ = why;
    effects_.lost = why == Errc::kLost;
  }
  for (LanePair& lane : lanes_) {
    lane.writes.Stop(why, now_);
    lane.reads.FailAll(why);
  }
}

TimePoint Engine::Poll(TimePoint now, StateSource& source) {
  Advance(now);
  replies_.Expire(now_);
  TimePoint next = kNever;
  bool dirty = false;
  for (LanePair& lane : lanes_) {
    next = std::min({next, lane.writes.Poll(now_, source), lane.reads.Poll(now_, source)});
    dirty |= !lane.writes.empty();
  }
  if (draining_ && !dirty && replies_.held() == 0) effects_.drained = Errc::kOk;
  return std::min(next, replies_.NextDeadline());
}

void Engine::TakeEffects(Effects& into) {
  if (draining_ && !effects_.fenced.empty()) drain_errc_ = Errc::kFenced;
  if (effects_.drained) effects_.drained = stopped_ != Errc::kOk ? stopped_ : drain_errc_;
  into.Clear();
  std::swap(effects_, into);
}

bool Engine::HasDirtyKeys() const {
  return !std::all_of(lanes_.begin(), lanes_.end(),
                      [](const LanePair& lane) { return lane.writes.empty(); });
}

TimePoint Engine::DirtySince() const {
  TimePoint since = kNever;
  for (const LanePair& lane : lanes_) since = std::min(since, lane.writes.DirtySince());
  return since;
}

bool Engine::IsIdle() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const LanePair& lane) {
    return lane.writes.empty() && lane.reads.empty();
  });
}

EngineStats Engine::Stats() const {
  EngineStats stats;
  for (const LanePair& lane : lanes_) {
    stats.lanes.push_back(lane.writes.Stats());
    lane.reads.AddTo(stats.lanes.back());
  }
  stats.lost = stopped_ == Errc::kLost;
  stats.replies = replies_taken_;
  stats.replies_failed = replies_.failed();
  stats.replies_held = replies_.held();
  stats.reply_latency = replies_.latency();
  return stats;
}

}  // namespace stout::internal
