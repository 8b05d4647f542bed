// How a world carries out the effects of its engine, and what it checks in the store.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/sim/world.h"
#include "tests/sim/world_server.h"

namespace stout::sim {

// --- Effects -------------------------------------------------------------------------------------

void World::Take() {
  server_->engine.TakeEffects(effects_);
  server_->witness.OnEffects(effects_);
  if (!verdict_.failed()) Carry(effects_);
}

void World::Carry(const Effects& effects) {
  for (const WriteBatch& batch : effects.writes) {
    trace_.Add(agenda_.now(), "write", batch.id, batch.items.size(), batch.bytes);
    const auto kept = std::make_shared<WriteBatch>(batch);
    store_.Write(*kept, [this, boot = boots_, kept](const WriteResult& result) {
      if (boot == boots_ && server_ != nullptr) OnWriteAnswer(*kept, result);
    });
  }
  for (const ReadBatch& batch : effects.reads) {
    trace_.Add(agenda_.now(), "read", batch.id, batch.keys.size());
    store_.Read(batch,
                [this, boot = boots_, lane = batch.lane, id = batch.id](const ReadResult& result) {
                  if (boot == boots_ && server_ != nullptr) OnReadAnswer(lane, id, result);
                });
  }
  for (const KeyRefused& refused : effects.refused) {
    trace_.Add(agenda_.now(), "refused", KeyOf(refused.key),
               static_cast<std::uint64_t>(refused.errc));
    // Back to what is durable, unless there is a newer change.
    const KeyId key = KeyOf(refused.key);
    if (!server_->witness.IsDirty(key)) memory_[key].loaded = false;
  }
  if (!effects.fenced.empty()) RebootLater();
  for (const RunReply& reply : effects.replies) OnReply(reply);
  for (const FetchDone& done : effects.fetched) OnFetched(done);
}

void World::OnReply(const RunReply& reply) {
  trace_.Add(agenda_.now(), "reply", reply.id, static_cast<std::uint64_t>(reply.errc));
  const std::vector<Revealed> revealed = std::move(asked_[reply.id]);
  asked_.erase(reply.id);
  if (reply.errc != Errc::kOk) return;
  ++acknowledged_;
  for (const auto& [key, stamp] : revealed) {
    const auto& applied = store_.row(key).applied;
    const auto found = applied.find(stamp.epoch);
    const bool durable =
        stamp.version == 0 || (found != applied.end() && found->second >= stamp.version);
    if (!durable) {
      verdict_.Fail(fmt::format("reply {} reveals {} at ({}, {}), which is not durable", reply.id,
                                names_[key], stamp.epoch, stamp.version));
    }
    acknowledged_stamps_[key] = std::max(acknowledged_stamps_[key], stamp);
  }
}

void World::OnFetched(const FetchDone& done) {
  trace_.Add(agenda_.now(), "fetched", done.id, done.state.stamp.epoch, done.state.stamp.version,
             done.state.value);
  const KeyId key = fetching_[done.id];
  fetching_.erase(done.id);
  if (done.errc != Errc::kOk) return;
  const Change* change = history_.Find(key, done.state.stamp);
  const bool nothing = done.state.stamp == Stamp{} && !done.state.found;
  if (nothing || (change != nullptr && change->value == done.state.value &&
                  change->deleted == !done.state.found)) {
    return;
  }
  verdict_.Fail(fmt::format("fetch {} of {} shows '{}', which is not its state", done.id,
                            names_[key], done.state.value));
}

void World::OnWriteAnswer(WriteBatch& batch, const WriteResult& result) {
  server_->witness.Advance(ServerTime());
  trace_.Add(agenda_.now(), "write answer", batch.id, static_cast<std::uint64_t>(result.batch),
             result.items.size());
  server_->witness.OnWriteDone(batch.lane, batch.id, result);
  server_->engine.WriteDone(batch.lane, batch.id, result, ServerTime());
  Take();
  if (verdict_.failed()) return;
  if (!batch.items.empty()) server_->engine.Recycle(std::move(batch));
  Poll();
}

void World::OnReadAnswer(LaneId lane, BatchId batch, const ReadResult& result) {
  server_->witness.Advance(ServerTime());
  trace_.Add(agenda_.now(), "read answer", batch, static_cast<std::uint64_t>(result.errc));
  server_->witness.OnReadDone(lane, batch, result);
  server_->engine.ReadDone(lane, batch, result, ServerTime());
  Take();
  if (!verdict_.failed()) Poll();
}

// --- The store -----------------------------------------------------------------------------------

// All changes up to the newest that the store has of this epoch are in the store.
void World::OnApplied(LaneId lane, Epoch epoch) {
  if (!options_.engine.lane.prefix_ordering) return;
  Version newest = 0;
  for (KeyId key = lane; key < options_.keys; key += options_.lanes) {
    const auto& applied = store_.row(key).applied;
    const auto found = applied.find(epoch);
    if (found != applied.end()) newest = std::max(newest, found->second);
  }
  const auto bad = first_bad_.find({epoch, lane});
  if (bad != first_bad_.end() && bad->second <= newest) return;
  for (KeyId key = lane; key < options_.keys; key += options_.lanes) {
    const auto& changes = history_.Of(key);
    const auto after = changes.upper_bound({epoch, newest});
    if (after == changes.begin()) continue;
    const Stamp last = std::prev(after)->first;
    if (last.epoch == epoch && store_.row(key).stamp < last) {
      verdict_.Fail(fmt::format("no prefix: the store has version {} of lane {} and not {} of {}",
                                newest, lane, last.version, names_[key]));
    }
  }
}

void World::CheckAcknowledged() {
  for (KeyId key = 0; key < options_.keys; ++key) {
    const Row& row = store_.row(key);
    if (row.stamp < acknowledged_stamps_[key]) {
      verdict_.Fail(fmt::format("an acknowledged change of {} is lost", names_[key]));
    }
    const Change* change = history_.Find(key, row.stamp);
    const bool right = change == nullptr ? row.stamp == Stamp{} : change->value == row.value;
    if (!right) verdict_.Fail(fmt::format("the store has a wrong state of {}", names_[key]));
  }
}

}  // namespace stout::sim
