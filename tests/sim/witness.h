#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stout/core/engine.h"
#include "tests/sim/history.h"
#include "tests/sim/world_options.h"

namespace stout::sim {
using namespace stout::internal;

/// The application's memory of one key.
struct InMemory {
  bool loaded = false;
  Change change;  // its stamp and value; deleted also where nothing ever was
};

/// Sees all inputs and outputs of one engine, and reports errors.
///
/// It has the knowledge that the engine can have, kept as plainly as possible (a handful of keys,
/// linear searches). From it, it derives the outputs that are required and those that are
/// forbidden. If the engine is free (jitter), it has bounds. The world checks the state of the
/// store.
///
/// The driver reports each input before the engine gets it, except MarkDirty, whose answer the
/// witness judges. It shows the effects after each input.
class Witness {
 public:
  using KeyIds = std::vector<KeyId>;

  Witness(const WorldOptions& options, Epoch epoch, const std::vector<InMemory>& memory,
          std::vector<Stamp> durable_at_start, Verdict& verdict);

  /// The engine's time, which never runs backwards.
  TimePoint Advance(TimePoint now) { return now_ = std::max(now_, now); }
  [[nodiscard]] TimePoint now() const { return now_; }

  void OnMark(KeyId key, std::size_t bytes, const MarkResult& result);
  void OnSafeReply(ReplyId id, const KeyIds& keys);
  void OnFlush(ReplyId id);
  void OnFetch(FetchId id, KeyId key);
  void OnWriteDone(LaneId lane, BatchId id, const WriteResult& result);
  void OnReadDone(LaneId lane, BatchId id, const ReadResult& result);
  void OnSample(const BatchSample& sample, const Decision& decision);
  void OnDrain();
  void OnStop(Errc why);

  void OnPoll();
  void OnEffects(const Effects& effects);
  /// After the effects of a Poll: nothing that was due may be left, nor forgotten by `next`.
  void OnPolled(TimePoint next);

  [[nodiscard]] bool IsDirty(KeyId key) const { return keys_[key].dirty(); }
  [[nodiscard]] bool IsDrained() const { return drained_; }
  /// Returns true if no key except `except` is dirty, and no reply or fetch waits.
  [[nodiscard]] bool IsQuiet(const std::set<KeyId>& except) const;
  [[nodiscard]] std::string Waiting() const;

 private:
  struct Key {
    Version newest = 0;    // of the change that is not yet durable
    Version sending = 0;   // in flight
    Version doubtful = 0;  // the newest change that was sent and got no answer
    bool unsent = false;   // a change is not in flight
    bool urgent = false;   // a flush or drain wants what is unsent
    std::uint32_t failures = 0;
    TimePoint dirty_since{};                 // the oldest unsent change
    TimePoint ready_min{};                   // since when it could be sent, at the least,
    TimePoint ready_since{};                 // and at the most
    TimePoint pause_min = TimePoint::min();  // not sent before, at the least,
    TimePoint pause_max = TimePoint::min();  // and at the most
    std::size_t bytes = 0;
    Version durable = 0;
    Stamp floor;  // durable as far as the engine was told, or when it started
    [[nodiscard]] bool dirty() const { return unsent || sending != 0; }
  };
  struct Item {
    KeyId key;
    TimePoint dirty_since;
    bool urgent;
  };
  struct Attempt {
    BatchId id;
    std::vector<Item> items;
    BatchSample sample;
    bool part_known = true;  // and spacing
  };
  /// The inputs of the time of the next send.
  struct Pace {
    TimePoint last_send = TimePoint::min();
    TimePoint last_answer = TimePoint::min();
    TimePoint open_since = TimePoint::min();  // ticks before it were missed
    std::uint64_t offset = 0;                 // of ticks, as a share of 2^64
  };
  struct ReadAttempt {
    BatchId id;
    KeyIds keys;
    TimePoint sent;
  };
  struct Hold {  // after failures of whole batches
    std::uint32_t failures = 0;
    BatchId newest = 0;  // then in flight
    TimePoint min = TimePoint::min();
    TimePoint max = TimePoint::min();
  };
  struct Lane {
    std::vector<Attempt> attempts;
    std::vector<ReadAttempt> reads;
    Decision writing;  // the policy's newest
    Pace pace;
    Pace read_pace;
    Hold hold;
    Hold read_hold;
    std::size_t limit = 0;  // items per batch: less after one failed as a whole
    Errc stopped = Errc::kOk;
  };
  struct Need {
    KeyId key;
    Version version;
  };
  struct Reply {
    bool is_flush;
    TimePoint asked;
    std::vector<Need> needs;
    std::set<Errc> trouble;
  };
  struct Fetch {
    KeyId key;
    TimePoint asked;
    Stamp floor;
    bool joined;
    bool was_dirty;
  };

  struct Observed {
    LaneId lane;
    BatchSample sample;
    bool part_known;
    std::size_t in_flight;  // when it was answered, itself included
    bool settled;           // nothing of it must be sent again
    std::size_t limit;      // of the next batches,
    bool cuts;              // because it failed, unless it was a probe of one item
  };

  /// As the header of Lane says: a key that failed this often travels alone.
  static constexpr std::uint32_t kAloneAfter = 3;

  template <typename... Args>
  void Fail(const char* format, const Args&... args) {
    verdict_.Fail(fmt::vformat(format, fmt::make_format_args(args...)));
  }

  [[nodiscard]] const LaneOptions& lane_options() const { return options_.engine.lane; }
  [[nodiscard]] LaneId LaneOf(KeyId key) const { return key % options_.lanes; }
  template <typename Visit>
  void ForKeysOf(LaneId lane, Visit visit) {
    for (KeyId key = lane; key < keys_.size(); key += options_.lanes) visit(key, keys_[key]);
  }
  [[nodiscard]] std::size_t DirtyKeys(LaneId lane) const;
  [[nodiscard]] std::size_t DirtyBytes(LaneId lane) const;

  // Writes.
  void Finish(LaneId lane, Attempt attempt, const WriteResult& result);
  void Settle(KeyId key, Version version, Errc errc);
  void EndWrite(KeyId key, Errc errc);
  void Requeue(const Item& item);
  void PauseKey(KeyId key);
  /// `left`: the attempts still in flight.
  template <typename Attempts>
  void Extend(Hold& hold, BatchId failed, const Attempts& left);
  void StopLane(LaneId lane, Errc why);
  void Urge();

  void JudgeRefused(const KeyRefused& refused);
  void JudgeWrites(const Effects& effects);
  void JudgeWrite(const WriteBatch& batch, BatchPart part, bool part_known);
  [[nodiscard]] std::size_t MostItems(const Lane& lane) const;
  [[nodiscard]] bool TravelsAlone(KeyId key) const;
  [[nodiscard]] bool MayCut(const Lane& lane) const;
  [[nodiscard]] bool IsFull(const Lane& lane, std::size_t ready) const;
  [[nodiscard]] std::size_t WindowFor(const Lane& lane, std::size_t ready) const;
  [[nodiscard]] bool AreParts(const WriteBatch& probe, const WriteBatch& rest) const;
  void JudgeWhole(const WriteBatch& batch, bool last, const Effects& effects);
  void JudgeItem(const WriteBatch& batch, const WriteItem& item);
  void JudgeSendTime(const WriteBatch& batch);
  void JudgeReplies(const std::vector<RunReply>& replies);
  void JudgeFetched(const FetchDone& done);
  void JudgeRead(const ReadBatch& batch);
  /// When a change (or fetch) that is there since `ready` may go.
  [[nodiscard]] static TimePoint NextSend(const Pace& pace, const Decision& decision,
                                          TimePoint ready);
  /// Returns the time at which the lane must send at the latest, unless another event comes; kNever
  /// if it need not.
  [[nodiscard]] TimePoint WriteDue(LaneId lane) const;
  [[nodiscard]] TimePoint ReadDue(LaneId lane) const;

  [[nodiscard]] bool IsReading(KeyId key) const;
  [[nodiscard]] std::set<KeyId> ReadyToRead(LaneId lane, bool all) const;
  [[nodiscard]] Duration PauseOf(std::uint32_t failures) const;

  const WorldOptions& options_;
  const Epoch epoch_;
  const std::vector<InMemory>& memory_;
  Verdict& verdict_;
  const Decision reading_;

  TimePoint now_ = TimePoint::min();
  std::vector<Key> keys_;
  std::vector<Lane> lanes_;
  std::map<ReplyId, Reply> replies_;
  std::map<ReplyId, std::set<Errc>> ended_;  // must be among the next effects
  std::map<FetchId, Fetch> fetches_;
  std::vector<KeyRefused> refused_;  // must be among the next effects
  std::vector<LaneId> fenced_;       // must be among the next effects
  std::vector<Observed> samples_;    // must have been observed
  BatchId last_batch_ = 0;
  bool polling_ = false;
  bool draining_ = false;
  bool drained_ = false;
  Errc stopped_ = Errc::kOk;
};

}  // namespace stout::sim
