#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stout/core/batch.h"
#include "stout/sim/event_queue.h"
#include "stout/sim/random.h"
#include "stout/sim/trace.h"
#include "tests/sim/history.h"
#include "tests/sim/world_options.h"

namespace stout::sim {

using Agenda = EventQueue<std::function<void()>>;

/// A store's state of one key.
struct Row {
  Stamp stamp;
  std::string value;
  bool found = false;
  /// The newest version that was ever applied, per epoch: later owners do not hide it.
  std::map<Epoch, Version> applied;
};

/// A store that keeps the promises of stout::Store and breaks everything else. Requests and answers
/// are lost, late, doubled or partial, and it crashes. Applied writes stay.
class StoreModel {
 public:
  using WriteAnswer = std::function<void(const WriteResult&)>;
  using ReadAnswer = std::function<void(const ReadResult&)>;

  StoreModel(const WorldOptions& options, Random random, Agenda& agenda, const History& history,
             Trace& trace);

  Epoch NewEpoch() { return ++last_epoch_; }

  /// `answer` is called any number of times, at any time, never inside this call.
  void Write(const WriteBatch& batch, WriteAnswer answer);
  void Read(const ReadBatch& batch, ReadAnswer answer);

  /// Another server, which has taken a newer epoch, writes a key.
  void WriteAsOther(KeyId key, const Change& change);

  /// Calls under way happen or not, and their callers get no answer.
  void Crash();
  void Restart() { down_ = false; }

  /// From now on nothing goes wrong but the poison, which CurePoison ends.
  void Heal();
  void CurePoison() { poison_ = false; }

  [[nodiscard]] const Row& row(KeyId key) const { return rows_[key]; }

  /// Called after each batch that changed rows.
  std::function<void(LaneId, Epoch)> on_applied;

 private:
  struct Pending {
    WriteBatch batch;
    WriteAnswer answer;  // empty: nobody will be told
    bool partial;
  };

  [[nodiscard]] Duration Latency() { return random_.Between(min_latency_, max_latency_); }
  /// Applies the batch after `delay`, then answers.
  void Arrive(const WriteBatch& batch, WriteAnswer answer, Duration delay, bool partial = false);
  void Reply(const WriteAnswer& answer, const WriteResult& result);
  void OnArrival(std::uint64_t id);

  WriteResult Apply(const WriteBatch& batch, bool partial);
  [[nodiscard]] Errc FateOfWhole(const WriteBatch& batch) const;
  [[nodiscard]] Errc FateOf(const WriteBatch& batch, const WriteItem& item) const;
  void ApplyItem(Epoch epoch, const WriteItem& item);
  ReadResult Look(const ReadBatch& batch);

  const WorldOptions& options_;
  FaultRates faults_;
  Random random_;
  Agenda& agenda_;
  const History& history_;
  Trace& trace_;
  Duration min_latency_;
  Duration max_latency_;

  std::vector<Row> rows_;
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t last_pending_ = 0;
  Epoch last_epoch_ = 0;
  bool down_ = false;
  bool poison_;
};

}  // namespace stout::sim
