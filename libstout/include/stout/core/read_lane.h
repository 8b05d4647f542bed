#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/effects.h"
#include "stout/core/hold_back.h"
#include "stout/core/in_flight.h"
#include "stout/core/key_index.h"
#include "stout/core/lane.h"
#include "stout/core/options.h"
#include "stout/core/pacer.h"
#include "stout/core/pool.h"
#include "stout/core/state_source.h"
#include "stout/core/stats.h"
#include "stout/core/types.h"

namespace stout::internal {

/// The reads of one lane. Fetches of one key share a read, and reads are sent in batches. A key
/// whose newest change is not yet durable is read from the application.
///
/// A key has an entry from its first fetch until it is answered. A read that was in flight while
/// its key changed is *overtaken*. Its answer may be older than the state that was durable when a
/// later fetch joined it, so the key is read again. A fetch that has no answer after `deadline`
/// fails with kDeadline, and so do the fetches that joined it.
///
/// Reads that yield are sent in batches of their own. One such batch is in flight at a time, beside
/// the batches that the policy allows. Other reads therefore do not queue behind them, and they do
/// not starve.
///
/// Owner: an Engine.   Threads: none of its own.
class ReadLane {
 public:
  ReadLane(const LaneOptions& options, Duration deadline, std::uint64_t seed, const Lane& writes,
           LaneId id, BatchId& last_batch, Effects& effects);
  ReadLane(const ReadLane&) = delete;
  ReadLane& operator=(const ReadLane&) = delete;

  void Fetch(KeyView key, FetchId fetch, TimePoint now, const FetchOptions& options = {});

  /// Records that the key changes now: a read of it in flight is overtaken.
  void Overtake(KeyView key) {
    if (!attempts_.empty()) OvertakeInFlight(key);
  }

  /// Takes the store's answer. An answer after the attempt's timeout is ignored.
  void Done(BatchId batch, ReadResult result, TimePoint now);

  /// Sends the batches that are due. Returns the time of the next Poll if no other input comes.
  TimePoint Poll(TimePoint now, StateSource& source);

  /// Fails all fetches that wait.
  void FailAll(Errc errc);

  [[nodiscard]] bool empty() const { return waiting_ == 0; }
  void AddTo(LaneStats& stats) const;

 private:
  using Slot = KeyIndex::Slot;
  static constexpr Slot kNone = KeyIndex::kNone;

  struct Entry {
    std::string key;
    std::uint32_t hash;
    std::uint64_t birth;           // unique while in use, 0 when not
    TimePoint asked;               // time of its first fetch
    std::vector<FetchId> fetches;  // empty if they have failed while the read is in flight
    TenantId tenant;               // of its first fetch
    bool yields;                   // all its fetches yield
    bool in_flight;
    bool overtaken;
  };
  struct Age {
    TimePoint asked;
    Slot slot;
    std::uint64_t birth;
  };
  struct Attempt {
    BatchId id;
    std::vector<Slot> slots;
    bool yields;
    BatchSample sample;
  };
  struct Local {
    std::string key;
    FetchId fetch;
    FetchOptions options;
  };

  [[nodiscard]] Slot Find(KeyView key, std::uint32_t hash) const;
  void OvertakeInFlight(KeyView key);
  void Join(KeyView key, FetchId fetch, TimePoint now, const FetchOptions& options);
  [[nodiscard]] std::deque<Slot>& QueueOf(const Entry& entry) {
    return entry.yields ? yielding_ : ready_;
  }
  void AddAge(Slot slot);
  void Hasten(Slot slot);
  void Answer(Slot slot, Errc errc, StoredState state);
  void Answer(FetchId fetch, Errc errc, StoredState state);
  void AnswerLocally(Slot slot);
  void Erase(Slot slot);
  void ServeLocally(StateSource& source, TimePoint now);
  void Expire(TimePoint now);
  void TimeOutAttempts(TimePoint now);
  void Finish(Attempt attempt, ReadResult result, TimePoint now);
  [[nodiscard]] bool Observe(const Attempt& attempt, TimePoint now);
  void SetPause(TimePoint now);
  void CountBeside(bool others, TimePoint now);
  [[nodiscard]] std::size_t others_in_flight() const {
    return attempts_.size() - (yielding_in_flight_ ? 1 : 0);
  }
  [[nodiscard]] bool HasRoom(std::size_t in_flight, std::size_t keys) const;
  [[nodiscard]] bool MaySend(TimePoint now) const;
  [[nodiscard]] TimePoint NextByPolicy() const;
  [[nodiscard]] TimePoint NextYielding() const;
  void Send(TimePoint now);
  void SendYielding(TimePoint now);
  [[nodiscard]] Attempt* SendFirst(std::deque<Slot>& queue, std::size_t limit, TimePoint now);

  const LaneOptions& options_;
  Duration deadline_;
  SplitMix64 random_;
  const Lane& writes_;
  LaneId id_;
  BatchId& last_batch_;
  Effects& effects_;

  Policy policy_;
  Decision decision_;
  std::uint64_t births_ = 0;
  Pool<Entry> entries_;
  KeyIndex index_;
  std::size_t waiting_ = 0;   // fetches
  std::vector<Local> local_;  // to be served from the application at the next Poll
  std::deque<Slot> ready_;
  std::deque<Slot> yielding_;  // the same for reads that yield
  std::deque<Age> ages_;       // oldest first; may name entries that are gone
  InFlight<Attempt> attempts_;
  std::size_t reading_ = 0;  // keys in attempts_, without those that yield
  bool yielding_in_flight_ = false;
  Duration beside_ = {};    // time for which other reads were in flight with the yielding batch
  TimePoint beside_until_;  // the end of the time that beside_ counts
  TimePoint yield_until_ = TimePoint::min();
  Pacer pacer_;
  HoldBack hold_;

  std::uint64_t fetches_ = 0;
  std::uint64_t joined_ = 0;
  std::uint64_t served_locally_ = 0;
  std::uint64_t batches_sent_ = 0;
  std::uint64_t reads_sent_ = 0;
};

}  // namespace stout::internal
