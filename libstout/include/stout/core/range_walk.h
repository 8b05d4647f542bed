#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/errc.h"
#include "stout/core/range_actions.h"
#include "stout/core/replica_set.h"
#include "stout/core/types.h"

namespace stout::internal {

struct WalkOptions {
  std::size_t scan_keys = 1024;                   ///< of one scan, of all ranges; >= 1
  std::size_t page_keys = 256;                    ///< compared or copied at once; >= 1
  std::size_t copy_bytes = std::size_t{1} << 20;  ///< of one copy, without its last item; >= 1
  std::size_t copy_keys = 64;  ///< enough for one copy, of keys that scans brought whole; >= 1
  /// The rest after a copy, as a multiple of the time that the copy took. Chosen by `bench members
  /// fill`: with 6 the rate of a fill is too low, with 1 the p99 of requests is higher.
  int rest = 4;
  Duration retry = std::chrono::milliseconds(100);  ///< before a failed call is repeated; > 0
  /// A walk fails after this many errors that last, because a key or a store is damaged. >= 1
  int final_tries = 20;
};

/// Walks over all keys of some members: to fill a member, or to settle states (a sweep).
///
/// Fill: first each key of the target, then each key of a member that is in, is read as a strong
/// read does and compared with the target's state:
///
/// | the state read                                   | the target gets                        |
/// |--------------------------------------------------|----------------------------------------|
/// | has the target's stamp; or the key just changed  | nothing (a change goes to it anyway)   |
/// | is older, and the target's newer state counts    | nothing; all members get its state     |
/// | never existed                                    | a delete, as all members do            |
/// | is of our epoch                                  | a copy with the state's own stamp      |
/// | is of an older epoch                             | a copy with the stamp (our epoch, 0)   |
///
/// A scan lists keys of all ranges, so a page may need several. A page is settled in slices,
/// because its values may be large. A slice grows and shrinks, so that its values have about the
/// size of a copy. A fill copies as soon as it has enough for one.
///
/// If the target has only what changed since the fill began, a scan of the other member brings
/// values, and its settled states are copied without any further read.
///
/// Requests use the same stores. So a fill rests after each copy, at most 2 s, and longer on a busy
/// store, where a copy takes longer.
///
/// Sweep: each unsettled state of each member is settled. At the end every state is settled.
///
/// Owner: a RangeKeeper.   Threads: none of its own.
class RangeWalk {
 public:
  enum class Result : std::uint8_t { kRuns, kDone, kFailed };
  using Actions = std::vector<range::Action>;
  /// Why a walk failed.
  struct Failure {
    MemberIndex member;  ///< the target, the one that has the key, or the one that cannot be read
    std::string key;     ///< that cannot be copied or settled; empty: the member cannot be read
    Errc errc;
  };

  /// `set`, `actions` and `last_attempt` outlive this.
  RangeWalk(const WalkOptions& options, const ReplicaSet& set, Actions& actions,
            range::Attempt& last_attempt)
      : options_(options), set_(set), actions_(actions), last_attempt_(last_attempt) {}

  struct FillOrder {
    MemberIndex target;
    MemberIndex source;
    Version since;  ///< the target gets all changes of our epoch with a higher version
    /// Until then a state of the target that is newer counts. Later a delete that is even newer may
    /// be forgotten.
    TimePoint newer_wins_until;
    WriteItem last;  ///< copied to the target when it has everything else
  };
  /// Requires that changes up to `since` are durable at all members that are in.
  void Fill(FillOrder order, TimePoint now);
  /// `failed`: sweeps before this one. Each begins at another member, because a corrupt one that
  /// would come last is never noticed.
  void Sweep(std::size_t failed, TimePoint now);

  // Answers. A call that is not of this walk is ignored. A key that cannot be settled or changed
  // now is tried again alone. A copy that is fenced ends the fill. One that the target refuses is
  // halved, until the key is found that it refuses alone.
  void OnScanned(range::Attempt attempt, const ScanResult& result, TimePoint now);
  void OnRead(range::Attempt attempt, const ReadResult& result, TimePoint now);
  void OnCopied(range::Attempt attempt, Errc errc, TimePoint now);
  void OnSettled(FetchId id, Errc errc, bool again, const StoredState& state, TimePoint now);
  void OnChanged(range::Attempt attempt, Errc errc, TimePoint now);
  /// Members left: a fill without its source fails, a sweep goes on without them.
  void OnMembersChanged(TimePoint now);
  void Tick(TimePoint now);

  [[nodiscard]] Result result() const { return result_; }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] TimePoint NextTick() const { return due_; }
  /// The member whose answer is awaited, if any, and since when: also while a call is repeated.
  [[nodiscard]] std::optional<MemberIndex> awaited() const { return awaited_; }
  [[nodiscard]] TimePoint awaited_since() const { return awaited_since_; }
  void AwaitSince(TimePoint since) { awaited_since_ = since; }
  /// The answer of a copy is awaited.
  [[nodiscard]] bool copies() const { return copying_ != 0; }

 private:
  using Step = void (RangeWalk::*)(TimePoint);
  /// Keys. It bounds the values of a slice that was thought to be small.
  static constexpr std::size_t kMaxSlice = 64;
  enum class Role : std::uint8_t { kSwept, kSource, kTarget };
  /// A walk over all keys of one member.
  struct Pass {
    MemberIndex member;
    Role role;
  };
  struct Item {
    std::string key;
    StoredState target;
  };

  void Begin(std::vector<Pass> passes, TimePoint now);
  [[nodiscard]] bool fills() const { return passes_.back().role != Role::kSwept; }
  [[nodiscard]] bool at_target() const { return passes_.back().role == Role::kTarget; }
  /// States of the source are copied as the scan found them.
  [[nodiscard]] bool copies_scanned() const { return fills() && !at_target() && target_is_new_; }
  [[nodiscard]] bool scans_values() const {
    return copies_scanned() || (at_target() && newer_wins_until_ != TimePoint::min());
  }
  void StartPass(TimePoint now);
  void SendScan(TimePoint now);
  void NextPage(TimePoint now);
  [[nodiscard]] bool CopiesAtOnce(const StoredState& state) const;
  void SendRead(TimePoint now);
  void StartSettling(TimePoint now);
  void SettleSlice(TimePoint now);
  void TryAgain(std::size_t index, Errc errc);
  void Fail(MemberIndex member, const std::string& key, Errc errc);
  void Judge(std::size_t index, const StoredState& state, TimePoint now);
  void AddCopy(std::string key, StoredState state);
  void Change(std::size_t index, StoredState state);
  void EndSettling(TimePoint now);
  void NextStep(TimePoint now);
  void SendCopy(TimePoint now);
  range::Attempt Call(MemberIndex member, TimePoint now);
  [[nodiscard]] bool Succeeded(Errc errc, Step step, TimePoint now);

  const WalkOptions options_;
  const ReplicaSet& set_;
  Actions& actions_;
  range::Attempt& last_attempt_;

  Result result_ = Result::kRuns;
  std::optional<Failure> failure_;
  MemberIndex target_ = 0;
  TimePoint newer_wins_until_ = TimePoint::min();
  Version since_ = 0;
  bool target_is_new_ = true;          // it has changes since then only, as far as it was scanned
  std::vector<Pass> passes_;           // the present one is the last
  std::optional<std::string> cursor_;  // of the next scan; nullopt: the member is scanned
  std::deque<ScannedKey> found_;       // in no page yet
  std::size_t found_bytes_ = 0;
  std::vector<Item> page_;
  std::vector<Stamp> source_stamps_;         // of page_, in a scan of the source
  std::vector<std::size_t> unsettled_;       // into page_: to be settled, or once more
  std::map<FetchId, std::size_t> settling_;  // likewise
  std::map<range::Attempt, std::size_t> changing_;
  int failed_tries_ = 0;  // of the page
  std::size_t slice_keys_ = kMaxSlice / 4;
  std::size_t slice_bytes_ = 0;  // of the values that were settled in this one
  bool slice_failed_ = false;    // one of its keys has to be tried again
  std::vector<WriteItem> copies_;
  std::size_t copies_bytes_ = 0;
  std::size_t copy_items_ = SIZE_MAX;  // of the next copy
  std::optional<WriteItem> last_;
  TimePoint copy_began_{};      // of the newest copy
  std::size_t copying_ = 0;     // the first items of copies_, in the copy under way
  range::Attempt attempt_ = 0;  // the call under way; 0: none
  int failed_calls_ = 0;        // one after another, with errors that last
  std::optional<MemberIndex> awaited_;
  TimePoint awaited_since_{};
  TimePoint due_ = kNever;
  Step retry_ = nullptr;  // at due_
};

}  // namespace stout::internal
