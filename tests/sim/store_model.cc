#include "tests/sim/store_model.h"

#include <algorithm>
#include <utility>

namespace stout::sim {

StoreModel::StoreModel(const WorldOptions& options, Random random, Agenda& agenda,
                       const History& history, Trace& trace)
    : options_(options),
      faults_(options.faults),
      random_(random),
      agenda_(agenda),
      history_(history),
      trace_(trace),
      min_latency_(options.min_latency),
      max_latency_(options.max_latency),
      rows_(options.keys),
      poison_(options.poison) {}

// --- The way to the store and back ---------------------------------------------------------------

void StoreModel::Write(const WriteBatch& batch, WriteAnswer answer) {
  if (down_) {  // refused connections, or silence
    if (random_.Chance(500)) Reply(answer, {.batch = Errc::kTransient, .items = {}});
    return;
  }
  if (random_.Chance(faults_.lose_request)) return;
  if (random_.Chance(faults_.lose_answer)) return Arrive(batch, {}, Latency());
  if (random_.Chance(faults_.transient)) {
    return Reply(answer, {.batch = Errc::kTransient, .items = {}});
  }
  if (random_.Chance(faults_.unknown)) {  // a connection lost: before or after, nobody knows
    Reply(answer, {.batch = Errc::kUnknown, .items = {}});
    if (random_.Chance(700)) Arrive(batch, {}, Latency() * 4);
    return;
  }
  if (random_.Chance(faults_.apply_late)) {
    const Duration timeout = options_.engine.lane.attempt_timeout;
    return Arrive(batch, std::move(answer), random_.Between(timeout / 2, timeout * 4));
  }
  if (random_.Chance(faults_.apply_twice)) Arrive(batch, {}, Latency() * 8);
  if (random_.Chance(faults_.answer_twice)) Arrive(batch, answer, Latency());
  const bool partial = !options_.atomic_batches && random_.Chance(faults_.partial);
  Arrive(batch, std::move(answer), Latency(), partial);
}

void StoreModel::Arrive(const WriteBatch& batch, WriteAnswer answer, Duration delay, bool partial) {
  const std::uint64_t id = ++last_pending_;
  pending_.emplace(id, Pending{batch, std::move(answer), partial});
  agenda_.Push(SaturatingAdd(agenda_.now(), delay), [this, id] { OnArrival(id); });
}

void StoreModel::Reply(const WriteAnswer& answer, const WriteResult& result) {
  if (!answer) return;
  agenda_.Push(agenda_.now() + Latency(), [answer, result] { answer(result); });
}

void StoreModel::OnArrival(std::uint64_t id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;  // a crash has decided
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  if (down_) return Reply(pending.answer, {.batch = Errc::kTransient, .items = {}});
  Reply(pending.answer, Apply(pending.batch, pending.partial));
}

void StoreModel::Crash() {
  down_ = true;
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (random_.Chance(200)) {  // still in the network: it arrives after the restart
      ++it;
      continue;
    }
    if (random_.Chance(500)) Apply(it->second.batch, false);
    it = pending_.erase(it);
  }
}

void StoreModel::Heal() {
  faults_ = FaultRates{};
  down_ = false;
}

// --- The store itself ----------------------------------------------------------------------------

WriteResult StoreModel::Apply(const WriteBatch& batch, bool partial) {
  WriteResult result{.batch = FateOfWhole(batch), .items = {}};
  trace_.Add(agenda_.now(), "store: apply", batch.id, batch.items.size(), batch.epoch);
  if (result.batch != Errc::kOk) return result;
  std::vector<const WriteItem*> good;
  for (std::uint32_t i = 0; i < batch.items.size(); ++i) {
    const WriteItem& item = batch.items[i];
    Errc errc = FateOf(batch, item);
    bool applied = errc == Errc::kOk;
    if (applied && partial && random_.Chance(400)) {
      errc = random_.Chance(500) ? Errc::kTransient : Errc::kUnknown;
      applied = errc == Errc::kUnknown && random_.Chance(500);
    }
    if (applied) good.push_back(&item);
    if (errc != Errc::kOk) result.items.push_back({i, errc});
  }
  if (options_.atomic_batches && !result.items.empty()) {
    const bool fenced = std::any_of(result.items.begin(), result.items.end(),
                                    [](const ItemError& e) { return e.errc == Errc::kFenced; });
    if (fenced) return {.batch = Errc::kFenced, .items = {}};
    if (options_.refusal_fails_batch) {
      result.batch = Errc::kTransient;
      return result;
    }
  }
  const bool all_locked =
      result.items.size() == batch.items.size() &&
      std::all_of(result.items.begin(), result.items.end(),
                  [](const ItemError& e) { return e.errc == Errc::kTransient; });
  if (all_locked && random_.Chance(500)) result.batch = Errc::kTransient;  // the store is well
  for (const WriteItem* item : good) ApplyItem(batch.epoch, *item);
  if (!good.empty()) on_applied(batch.lane, batch.epoch);
  return result;
}

Errc StoreModel::FateOfWhole(const WriteBatch& batch) const {
  if (batch.items.size() > options_.store_max_items) return Errc::kTooLarge;
  if (batch.bytes > options_.store_max_bytes) return Errc::kTooLarge;
  const bool poisoned = poison_ && std::any_of(batch.items.begin(), batch.items.end(),
                                               [](const WriteItem& i) { return i.key == "k0"; });
  return poisoned ? Errc::kTransient : Errc::kOk;
}

Errc StoreModel::FateOf(const WriteBatch& batch, const WriteItem& item) const {
  const KeyId key = KeyOf(item.key);
  if (rows_[key].stamp.epoch > batch.epoch) return Errc::kFenced;
  const Change* change = history_.Find(key, {batch.epoch, item.version});
  return change != nullptr && change->refused ? Errc::kRefused : Errc::kOk;
}

void StoreModel::ApplyItem(Epoch epoch, const WriteItem& item) {
  Row& row = rows_[KeyOf(item.key)];
  const Stamp stamp{epoch, item.version};
  trace_.Add(agenda_.now(), stamp > row.stamp ? "store: row" : "store: old row", epoch,
             item.version, 0, item.key);
  if (stamp <= row.stamp) return;  // a repetition, or overtaken
  row.stamp = stamp;
  row.found = item.kind == WriteKind::kPut;
  row.value = item.value;
  row.applied[epoch] = item.version;
}

void StoreModel::WriteAsOther(KeyId key, const Change& change) {
  Row& row = rows_[key];
  row.stamp = change.stamp;
  row.found = true;
  row.value = change.value;
  row.applied[change.stamp.epoch] = change.stamp.version;
}

// --- Reads ---------------------------------------------------------------------------------------

void StoreModel::Read(const ReadBatch& batch, ReadAnswer answer) {
  const auto reply = [this, answer = std::move(answer)](ReadResult result, Duration delay) {
    agenda_.Push(agenda_.now() + delay, [answer, result = std::move(result)] { answer(result); });
  };
  if (random_.Chance(faults_.lose_request)) return;
  if (down_ || random_.Chance(faults_.transient)) {
    return reply({.errc = Errc::kTransient, .states = {}}, Latency());
  }
  if (random_.Chance(faults_.unknown)) {
    return reply({.errc = Errc::kUnknown, .states = {}}, Latency());
  }
  if (random_.Chance(faults_.lose_answer)) return;
  // The state that a slow answer brings may be long out of date.
  const bool slow = random_.Chance(faults_.apply_late);
  const Duration timeout = options_.engine.lane.attempt_timeout;
  const Duration back = slow ? random_.Between(timeout / 4, timeout * 2) : Latency();
  agenda_.Push(agenda_.now() + Latency(), [this, batch, reply, back] { reply(Look(batch), back); });
}

ReadResult StoreModel::Look(const ReadBatch& batch) {
  ReadResult result;
  for (const std::string& name : batch.keys) {
    const Row& row = rows_[KeyOf(name)];
    result.states.push_back({.found = row.found, .value = row.value, .stamp = row.stamp});
  }
  return result;
}

}  // namespace stout::sim
