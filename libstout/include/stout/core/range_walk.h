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
#include "stout/core/copy_queue.h"
#include "stout/core/errc.h"
#include "stout/core/range_actions.h"
#include "stout/core/replica_set.h"
#include "stout/core/types.h"

namespace stout::internal {

struct WalkOptions {
  std::size_t scan_keys = 1024;                   ///< limit of one scan, over all ranges; >= 1
  std::size_t page_keys = 256;                    ///< keys compared or copied at once; >= 1
  std::size_t copy_bytes = std::size_t{1} << 20;  ///< of one copy, without its last item; >= 1
  std::size_t copy_keys = 64;  ///< of one copy, if the scans brought the values, too; >= 1
  /// The pause after a copy, as a multiple of the time that the copy took. Chosen by `bench members
  /// fill`: with 6 the rate of a fill is too low, with 1 the p99 of requests is higher.
  int rest = 4;
  /// The same after a scan of a sweep. With 0, requests wait longer after a take-over: see `bench
  /// members takeover`.
  int scan_rest = 1;
  Duration retry = std::chrono::milliseconds(100);  ///< before a failed call is repeated; > 0
  /// A walk fails after this number of permanent errors: a key or a store is damaged. >= 1
  int final_tries = 20;
};

/// Walks over all keys of some members: to fill a member, or to settle states (a sweep).
///
/// Fill: it visits each key of the target, then each key of a member that is in, and compares the
/// stamps of both. If they differ or are not settled, it reads the key as a strong read does, and
/// compares the result with the target's state:
///
/// | the state read                                   | the target gets                        |
/// |--------------------------------------------------|----------------------------------------|
/// | has the target's stamp; or the key just changed  | nothing: it gets every change anyway   |
/// | is older, and equal to a later owner's copy      | nothing                                |
/// | is older, and the target's newer state counts    | nothing; all members get its state     |
/// | never existed                                    | a delete, as all members do            |
/// | is of our epoch                                  | a copy with the state's own stamp      |
/// | is of an older epoch                             | a copy with the stamp (our epoch, 0)   |
///
/// A scan lists keys of all ranges, so a page may need several scans. A page is settled in slices,
/// because its values may be large. Slices grow and shrink, so that their values have about the
/// size of a copy. A fill sends a copy as soon as it has enough items.
///
/// If the target has only the changes since the fill began, the scan of the other member returns
/// values, and its settled states are copied without another read.
///
/// Requests use the same stores, so a fill pauses after each copy, at most 2 s. The pause is longer
/// on a busy store, because a copy takes longer there.
///
/// Sweep: it settles each unsettled state of each member that is in or a source. At the end every
/// state is settled. It pauses between scans, but only for some time, because it must end before
/// stores forget deletes.
///
/// Merge, of a shared range: for each two members, it scans the stamps of the first and reads the
/// same keys at the second. A state that is newer at the first goes to the second with its own
/// stamp. So each member gets the newest state of each key from the member that has it. A
/// tombstone does not go to a member that has nothing, because stores forget tombstones at
/// different times. A state that a store will never take is left out.
///
/// Owner: a RangeKeeper.   Threads: none of its own.
class RangeWalk {
 public:
  enum class Result : std::uint8_t { kRuns, kDone, kFailed };
  using Actions = std::vector<range::Action>;
  /// Why a walk failed.
  struct Failure {
    MemberIndex member;  ///< the target, the member with the key, or one that cannot be read
    std::string key;     ///< cannot be copied or settled; empty: the member cannot be read
    Errc errc;
  };

  /// `set`, `actions` and `last_attempt` must outlive the walk.
  RangeWalk(const WalkOptions& options, const ReplicaSet& set, Actions& actions,
            range::Attempt& last_attempt)
      : options_(options), set_(set), actions_(actions), last_attempt_(last_attempt) {}

  struct FillOrder {
    MemberIndex target;
    MemberIndex source;
    Version since;  ///< the target gets all changes of our epoch with a higher version
    /// Until then a newer state of the target wins. After it, the tombstone of an even newer delete
    /// may have expired.
    TimePoint newer_wins_until;
    WriteItem last;  ///< copied to the target after everything else
    /// The target goes without the states that its store will never take.
    bool skips_refused = false;
  };
  /// Requires that changes up to `since` are durable at all members that are in.
  void Fill(FillOrder order, TimePoint now);
  /// `failed`: the number of failed sweeps before this one. Each sweep begins at another member, so
  /// that a corrupt member is noticed even if it would be the last.
  /// It pauses until `rests_until`.
  void Sweep(std::size_t failed, TimePoint rests_until, TimePoint now);
  /// Merges these members, whose stores must have what they had. Two at least. Leaves out states
  /// with stamps up to `newer_than`.
  void Merge(MemberMask members, const Stamp& newer_than, TimePoint now);

  // Answers. An answer to another walk's call is ignored. A key that cannot be settled or changed
  // now is tried again alone. A copy that is fenced ends the fill. If the target refuses a copy,
  // the copy is halved until the refused key is found.
  void OnScanned(range::Attempt attempt, const ScanResult& result, TimePoint now);
  void OnRead(range::Attempt attempt, const ReadResult& result, TimePoint now);
  void OnCopied(range::Attempt attempt, Errc errc, TimePoint now);
  void OnSettled(FetchId id, Errc errc, bool again, const StoredState& state, TimePoint now);
  void OnChanged(range::Attempt attempt, Errc errc, TimePoint now);
  /// Records that members left. A fill without its source fails; a sweep continues without them.
  void OnMembersChanged(TimePoint now);
  void Tick(TimePoint now);

  [[nodiscard]] Result result() const { return result_; }
  /// Returns the newest stamp that the scans of a merge found.
  [[nodiscard]] const Stamp& newest() const { return newest_; }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
  [[nodiscard]] TimePoint NextTick() const { return due_; }
  /// Return the member whose answer is awaited, if any, and since when. They stay the same while a
  /// call is repeated.
  [[nodiscard]] std::optional<MemberIndex> awaited() const { return awaited_; }
  [[nodiscard]] TimePoint awaited_since() const { return awaited_since_; }
  void AwaitSince(TimePoint since) { awaited_since_ = since; }
  /// Returns true while the answer to a copy is awaited.
  [[nodiscard]] bool copies() const { return copies_.copying(); }

 private:
  using Step = void (RangeWalk::*)(TimePoint);
  /// Maximum number of keys in a slice. It limits the bytes of a slice if its values are
  /// unexpectedly large.
  static constexpr std::size_t kMaxSlice = 64;
  enum class Role : std::uint8_t { kSwept, kSource, kTarget, kMerged };
  /// A walk over all keys of one member.
  struct Pass {
    MemberIndex member;
    Role role;
    MemberIndex target = 0;  // of a merge
  };
  struct Item {
    std::string key;
    StoredState known;  // of the target; until stamps are compared, of the member that is scanned
  };

  void Begin(std::vector<Pass> passes, TimePoint now);
  [[nodiscard]] bool fills() const { return passes_.back().role != Role::kSwept; }
  [[nodiscard]] bool merges() const { return passes_.back().role == Role::kMerged; }
  [[nodiscard]] bool at_target() const { return passes_.back().role == Role::kTarget; }
  /// Returns true if states of the source are copied as the scan found them.
  [[nodiscard]] bool copies_scanned() const { return fills() && !at_target() && target_is_new_; }
  void StartPass(TimePoint now);
  void SendScan(TimePoint now);
  void NextPage(TimePoint now);
  [[nodiscard]] bool CopiesAtOnce(const StoredState& state) const;
  void SendRead(TimePoint now);
  [[nodiscard]] bool Differs(const StoredState& known, const StoredState& other,
                             TimePoint now) const;
  void OnValues(const ReadResult& result, TimePoint now);
  void StartSettling(TimePoint now);
  void SettleSlice(TimePoint now);
  void TryAgain(std::size_t index, Errc errc);
  void Fail(MemberIndex member, const std::string& key, Errc errc);
  void Judge(std::size_t index, const StoredState& state, TimePoint now);
  void AddCopy(std::string key, StoredState state);
  void Change(std::size_t index, StoredState state);
  void EndSettling(TimePoint now);
  void NextStep(TimePoint now);
  void EndPass();
  void SendCopy(TimePoint now);
  range::Attempt Call(MemberIndex member, TimePoint now);
  [[nodiscard]] bool Succeeded(Errc errc, Step step, TimePoint now);
  void Rest(Duration pause, Step next, TimePoint now);

  const WalkOptions options_;
  const ReplicaSet& set_;
  Actions& actions_;
  range::Attempt& last_attempt_;

  Result result_ = Result::kRuns;
  std::optional<Failure> failure_;
  MemberIndex target_ = 0;
  TimePoint newer_wins_until_ = TimePoint::min();
  bool skips_refused_ = false;
  bool compared_ = false;  // the stamps of the page, so values are read
  Stamp newer_than_;       // in a merge
  Stamp newest_;           // that a scan has found
  Version since_ = 0;
  bool target_is_new_ = true;                 // all keys of it scanned so far changed after since_
  TimePoint rests_until_ = TimePoint::min();  // a sweep
  std::vector<Pass> passes_;                  // the present one is the last
  std::optional<std::string> cursor_;         // of the next scan; nullopt: the member is scanned
  std::deque<ScannedKey> found_;              // in no page yet
  std::size_t found_bytes_ = 0;
  bool found_any_ = false;  // by the present pass
  std::vector<Item> page_;
  std::vector<std::size_t> unsettled_;       // indices into page_: to settle, possibly again
  std::map<FetchId, std::size_t> settling_;  // indices into page_
  std::map<range::Attempt, std::size_t> changing_;
  int failed_tries_ = 0;  // of the page
  std::size_t slice_keys_ = kMaxSlice / 4;
  std::size_t slice_bytes_ = 0;  // of the values settled in this slice
  bool slice_failed_ = false;    // one of its keys must be tried again
  CopyQueue copies_;
  std::optional<WriteItem> last_;
  TimePoint scan_began_{};      // the newest scan
  TimePoint copy_began_{};      // the newest copy
  range::Attempt attempt_ = 0;  // the call under way; 0: none
  int failed_calls_ = 0;        // in a row, with permanent errors
  std::optional<MemberIndex> awaited_;
  TimePoint awaited_since_{};
  TimePoint due_ = kNever;
  Step retry_ = nullptr;  // at due_
};

}  // namespace stout::internal
