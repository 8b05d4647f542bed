#pragma once

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/engine.h"
#include "tests/support/catch.h"
#include "tests/support/plain_options.h"

namespace stout {
using namespace internal;

// Options with pauses of 10 to 80 ms after failures.
inline EngineOptions WithQuickRetries(Policy policy) {
  EngineOptions options;
  options.lane.write_policy = std::move(policy);
  options.lane.retry_first = std::chrono::milliseconds(10);
  options.lane.retry_cap = std::chrono::milliseconds(80);
  return options;
}

// How Catch shows what it compares.
inline std::ostream& operator<<(std::ostream& out, Errc errc) { return out << Describe(errc); }
inline std::ostream& operator<<(std::ostream& out, const WriteBatch& batch) {
  out << "batch " << batch.id << " lane " << batch.lane << " epoch " << batch.epoch << " bytes "
      << batch.bytes << " {";
  for (const WriteItem& item : batch.items) {
    out << " " << item.key << (item.kind == WriteKind::kPut ? "=" : " deleted ") << item.value
        << "@" << item.version;
  }
  return out << " }";
}
inline std::ostream& operator<<(std::ostream& out, const ReadBatch& batch) {
  out << "read " << batch.id << " {";
  for (const std::string& key : batch.keys) out << " " << key;
  return out << " }";
}

namespace internal {

inline std::ostream& operator<<(std::ostream& out, const RunReply& reply) {
  return out << "reply " << reply.id << ": " << reply.errc;
}
inline std::ostream& operator<<(std::ostream& out, const KeyRefused& refused) {
  return out << "refused " << refused.key << ": " << refused.errc;
}
inline std::ostream& operator<<(std::ostream& out, const FetchDone& done) {
  return out << "fetch " << done.id << ": " << done.errc << (done.state.found ? " '" : " nothing '")
             << done.state.value << "' at " << done.state.stamp.epoch << ","
             << done.state.stamp.version;
}
inline std::ostream& operator<<(std::ostream& out, const MarkResult& result) {
  return out << "version " << result.version << ": " << result.errc;
}

}  // namespace internal

/// An application server in a test: its state, its clock and the engine, driven by hand.
class EngineDriver : public StateSource {
 public:
  static constexpr Epoch kEpoch = 7;

  explicit EngineDriver(const EngineOptions& options = Plain(), LaneId lanes = 1)
      : engine(options, lanes, kEpoch) {}

  Serialized Serialize(KeyView key, std::string& value) noexcept override {
    ++serialized;
    if (unserialisable.count(std::string(key)) > 0) return Serialized::kFailed;
    const auto found = state.find(std::string(key));
    if (found == state.end()) return Serialized::kAbsent;
    value = found->second;
    return Serialized::kValue;
  }

  MarkResult Put(const std::string& key, const std::string& value, LaneId lane = 0) {
    state[key] = value;
    return engine.MarkDirty({lane, key}, value.size(), now);
  }
  MarkResult Delete(const std::string& key) {
    state.erase(key);
    return engine.MarkDirty({0, key}, 0, now);
  }
  void SafeReply(std::initializer_list<KeyView> keys, ReplyId id) {
    std::vector<KeyRef> refs;
    for (const KeyView key : keys) refs.push_back({0, key});
    engine.SafeReply(refs, id, now);
  }

  /// The effects of the last inputs, without a Poll.
  Effects Take() {
    Effects effects;
    engine.TakeEffects(effects);
    return effects;
  }
  Effects Poll() {
    next = engine.Poll(now, *this);
    return Take();
  }
  Effects PollAfter(Duration pause) {
    now += pause;
    return Poll();
  }
  /// Lets time pass until something is sent, which takes more than one pause at times.
  Effects NextSend() {
    for (int wake_ups = 0; wake_ups < 4; ++wake_ups) {
      now = std::max(now, next);
      Effects effects = Poll();
      if (!effects.writes.empty() || !effects.reads.empty()) return effects;
    }
    FAIL("nothing is sent");
    return {};
  }
  /// The store answers, at once for all items unless told otherwise; then a Poll.
  Effects Done(const WriteBatch& batch, WriteResult result = {}) {
    engine.WriteDone(batch.lane, batch.id, result, now);
    return Poll();
  }
  Effects ReadDone(const ReadBatch& batch, ReadResult result) {
    engine.ReadDone(batch.lane, batch.id, std::move(result), now);
    return Poll();
  }
  LaneStats Stats(LaneId lane = 0) { return engine.Stats().lanes[lane]; }

  Engine engine;
  TimePoint now{};
  TimePoint next{};
  std::map<std::string, std::string> state;
  std::set<std::string> unserialisable;
  int serialized = 0;
};

/// A batch as the driver's engine sends it.
inline WriteBatch Batch(BatchId id, std::vector<WriteItem> items, LaneId lane = 0) {
  std::size_t bytes = 0;
  for (const WriteItem& item : items) bytes += item.key.size() + item.value.size();
  return {.id = id,
          .lane = lane,
          .epoch = EngineDriver::kEpoch,
          .items = std::move(items),
          .bytes = bytes};
}

inline WriteBatch Alone(WriteBatch batch) {
  batch.alone = true;
  return batch;
}
inline WriteItem Put(std::string key, std::string value, Version version) {
  return {.key = std::move(key), .value = std::move(value), .version = version};
}
inline WriteItem Deleted(std::string key, Version version) {
  return {.key = std::move(key), .value = {}, .kind = WriteKind::kDelete, .version = version};
}

inline std::vector<std::string> KeysOf(const WriteBatch& batch) {
  std::vector<std::string> keys;
  for (const WriteItem& item : batch.items) keys.push_back(item.key);
  return keys;
}

using Writes = std::vector<WriteBatch>;
using Replies = std::vector<RunReply>;
using Keys = std::vector<std::string>;

inline WriteResult Whole(Errc errc) { return {.batch = errc, .items = {}}; }

}  // namespace stout
