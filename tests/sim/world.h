#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stout/core/engine.h"
#include "stout/sim/random.h"
#include "stout/sim/trace.h"
#include "tests/sim/history.h"
#include "tests/sim/store_model.h"
#include "tests/sim/witness.h"
#include "tests/sim/world_options.h"

namespace stout::sim {
using namespace stout::internal;

/// An application server on a store that misbehaves. It drives the real Engine as a shell would,
/// and checks the properties that need a view of both sides.
///
///  - A reply that runs with success reveals only states that the store has.
///  - An acknowledged state, or a newer one, is there after every crash.
///  - Under prefix ordering the store holds a prefix of the changes, also in a crash.
///  - Once faults stop, everything ends.
///
/// A Witness compares all actions of the engine with all its inputs.
class World {
 public:
  World(const WorldOptions& options, bool print);
  ~World();

  /// Runs to the end, or to the first violation.
  void Run();

  [[nodiscard]] const Verdict& verdict() const { return verdict_; }
  [[nodiscard]] std::uint64_t digest() const { return trace_.digest(); }
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  class Source;
  struct Revealed {
    KeyId key;
    Stamp stamp;
  };
  struct Server;

  // The agenda.
  void RunUntil(TimePoint end);
  [[nodiscard]] TimePoint ServerTime() const { return agenda_.now() + clock_offset_; }

  // The phases.
  void SafetyPhase();
  void LivenessPhase();
  void ExpectQuiet(const std::set<KeyId>& except, const char* phase);
  void ExpectService();
  [[nodiscard]] Duration Patience() const;

  // The server.
  void Boot();
  void Crash();
  void Reboot();
  void RebootLater();
  void Step();
  void Operate();
  void Trouble();
  void Modify(KeyId key);
  void Fetch(KeyId key);
  void Flush();
  void Stop(Errc why);
  void Load(KeyId key);
  void Ask(const std::vector<KeyId>& keys);
  void Poll();
  void Take();
  void Carry(const Effects& effects);
  void OnReply(const RunReply& reply);
  void OnFetched(const FetchDone& done);
  void OnWriteAnswer(WriteBatch& batch, const WriteResult& result);
  void OnReadAnswer(LaneId lane, BatchId batch, const ReadResult& result);
  [[nodiscard]] std::vector<KeyId> PickKeys();
  [[nodiscard]] KeyRef Ref(KeyId key) const;

  // The store.
  void OnApplied(LaneId lane, Epoch epoch);
  void CheckAcknowledged();

  WorldOptions options_;
  Random random_;
  Trace trace_;
  Verdict verdict_;
  Agenda agenda_;
  History history_;
  StoreModel store_;
  Duration clock_offset_{};

  std::vector<InMemory> memory_;
  std::unique_ptr<Server> server_;  // null while it is down
  std::uint64_t boots_ = 0;
  std::uint64_t timers_ = 0;
  std::uint64_t counter_ = 0;
  std::uint64_t last_id_ = 0;
  Effects effects_;

  std::vector<std::string> names_;
  std::map<ReplyId, std::vector<Revealed>> asked_;
  std::map<FetchId, KeyId> fetching_;
  std::map<std::pair<Epoch, LaneId>, Version> first_bad_;  // from here on no prefix is promised
  std::vector<Stamp> acknowledged_stamps_;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace stout::sim
