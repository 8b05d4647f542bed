#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/effects.h"
#include "stout/core/errc.h"
#include "stout/core/range_actions.h"
#include "stout/core/range_record.h"
#include "stout/core/range_walk.h"
#include "stout/core/registry_table.h"
#include "stout/core/replica_set.h"
#include "stout/core/types.h"

namespace stout::internal {

struct RangeKeeperOptions {
  /// A member with work that answers nothing for this time leaves. > 0.
  Duration member_timeout = std::chrono::seconds(2);
  /// Between two marks while there are changes. > 0.
  Duration mark_interval = std::chrono::milliseconds(100);
  /// Stores forget tombstones after this time. In mode ec a member that was away for less than half
  /// of it may have acknowledged writes that no other member has, and keeps them. > 0.
  Duration tombstone_ttl = std::chrono::hours(1);
  /// About the pause between two merges of a shared range: 0.5 to 1.5 times this. > 0. Guess: a
  /// merge scans the stamps of all keys, and nodes reach all members nearly always.
  Duration merge_interval = std::chrono::seconds(10);
  /// The epoch of the owner's lease, if it is not the epoch of its ReplicaSet: that of a shared
  /// range's ReplicaSet is RangeRecord::shared. 0: it is the same.
  Epoch lease = 0;
  /// This node writes to a shared range, and does not own it: nothing is merged or committed.
  bool only_writes = false;
  WalkOptions walk;
  // Both are of this range, and begin with kInternalKeys.
  std::string mark_key;
  std::string identity_key;  ///< see RangeRecord::Member::Identity
};

/// Decides the next step of a range's owner: take the range over, drop a member, fill a member,
/// sweep, write a mark, change the mode. It has one owner's epoch, which is that of its ReplicaSet.
///
/// | term    | meaning                                                                      |
/// |---------|------------------------------------------------------------------------------|
/// | fill    | backfill: a member gets a copy of all states, and then is in or lazy         |
/// | sweep   | anti-entropy after a take-over: all members get the states of former owners  |
/// | merge   | anti-entropy of a shared range: each member gets the newest state of another |
/// | mark    | the version up to which all members that are in have all changes durably     |
/// | barrier | an answer for all changes before it: they are durable at all members in      |
///
/// In mode aa+ec the range is *shared*: each node has a RangeKeeper that `only_writes`, under
/// RangeRecord::shared. It fences no newer owner, opens the members that prove that they have what
/// they had, and closes those that fail, as often as needed. The owner's RangeKeeper has no engines
/// then, and serves nothing. It merges the members. If a member needs more than that, it ends the
/// sharing, and the next owner takes the range over as always. Its sweep waits for members that are
/// away, because each may be the only one that has an acknowledged change: see IsAwaited.
///
/// Invariants:
/// 1. A member leaves `in` of the set after the transaction that drops it, never before.
/// 2. A member is entering or in before the transaction that names it is sent, and while it may be
///    in force.
/// 3. The record always names at least one member. If every member fails, the last one that may
///    have all data stays.
/// 4. A member leaves for its silence only if a member that stays has answered since the silence
///    began. Otherwise that one might have come back empty, and the data would be gone.
/// 5. Only time during which the owner itself ran counts as silence.
/// 6. At most one transaction and at most one job (fill, sweep, merge, change of mode) are under
///    way.
/// 7. While the range is shared, its members stay the same. All have proved themselves when it
///    begins, and each that takes part in a merge proves itself again. So no merge copies the
///    states of a store that came back with older ones.
///
/// The driver reports what it observes, carries out the actions, and keeps the engines:
///
///     keeper.Start(now);
///     for (const range::Action& action : keeper.TakeActions()) CarryOut(action);
///     for (const RunReply& reply : replicas.TakeReplies()) {
///       if (!keeper.OnReply(reply, now)) Run(reply);
///     }
///
/// Owner: the driver of a range.   Threads: none of its own.   Errors: cannot fail.
/// Paper: BespoKV (TPDS'20). Design: docs/decisions/0023 and, for a shared range, 0037.
class RangeKeeper {
 public:
  /// `record`: of the range, as the coordinator has it; at least one member is in. `set` outlives
  /// this.
  RangeKeeper(RangeId range, Recorded<RangeRecord> record, ReplicaSet& set,
              RangeKeeperOptions options);

  // --- Inputs. `now` never goes back. -----------------------------------------------------------

  /// Removes the members that are neither in nor wanted from the record, and begins. From now on an
  /// index names a member.
  void Start(TimePoint now);
  /// The datalets that are to be in. An empty list changes nothing. By default those that are in at
  /// the start. Adds the ones that the record lacks to it, after a transaction that is under way,
  /// and while it has fewer than kMaxMembers. If former members take the place of one, the range is
  /// over, so that the next owner forgets them.
  void Want(std::vector<std::string> datalets, TimePoint now);
  /// The datalets that are to get every change without being in. They are filled after those of
  /// Want, and again whenever they come back or lag too far. By default none.
  void Follow(std::vector<std::string> datalets, TimePoint now);
  /// The store of a member can be called again, so that what waits for it need wait no longer.
  void OnReachable(MemberIndex member, TimePoint now);
  /// Members of which the driver knows that they have not answered for long: a take-over does not
  /// wait for them if another is ready.
  void SetSilent(MemberMask silent, TimePoint now);
  /// Walks take at most this many keys in a page, and bytes in a copy.
  void LimitWalks(std::size_t page_keys, std::size_t copy_bytes);
  /// The mode that is wanted: sc if true, ec otherwise. By default the record's.
  void WantStrong(bool strong, TimePoint now);
  /// All nodes are to write: mode aa+ec. By default as in the record. Requires that sc is not
  /// wanted.
  void WantShared(bool shared, TimePoint now);

  /// Writes a mark soon, although nothing may have changed.
  void RefreshMark(TimePoint now);

  /// Answers. kFenced: another owner has come, so the range is over; but a member that is filled is
  /// left alone for a while. Other errors are repeated.
  void OnFenced(range::Attempt attempt, const range::Fenced& answer, TimePoint now);
  void OnRead(range::Attempt attempt, const ReadResult& result, TimePoint now);
  void OnScanned(range::Attempt attempt, const ScanResult& result, TimePoint now);
  void OnCopied(range::Attempt attempt, const WriteResult& result, TimePoint now);
  /// As the coordinator answered the change. kChanged and kNotOwner: the range is over.
  void OnCommitted(range::Attempt attempt, Errc errc, const ChangeAnswer& answer, TimePoint now);
  void OnSettled(FetchId id, Errc errc, bool again, const StoredState& state, TimePoint now);
  /// The change is marked dirty at all members (kOk) or at none.
  void OnChanged(range::Attempt attempt, Errc errc, TimePoint now);
  /// Returns false if the reply is not the keeper's own.
  bool OnReply(const RunReply& reply, TimePoint now);

  /// The member's store answered a call with success. `wrote`: the call was a write. A store whose
  /// disk is full answers reads only.
  void OnProgress(MemberIndex member, bool wrote, TimePoint now);
  /// The member's engine has changes or fetches under way (see Engine::IsIdle), or has none.
  void SetBusy(MemberIndex member, bool busy, TimePoint now);
  /// The member's engine has changes that are not durable, or has none. Then only writes count as
  /// progress.
  void SetDirty(MemberIndex member, bool dirty, TimePoint now);
  /// The member's engine holds too many changes. It leaves, unless all other members fail.
  void OnLagging(MemberIndex member, TimePoint now);
  /// The member's store will never take a change that another member may have taken. It leaves,
  /// unless all other members fail. A member that is filled as a lazy one goes without the change.
  /// Do not report a change that every member refuses.
  void OnRefused(MemberIndex member, TimePoint now);
  /// The member came back without its memory or is another store. It leaves. A driver that connects
  /// to a member anew reports this if the store has lost what it held before.
  void OnLost(MemberIndex member, TimePoint now);
  /// The member's store has a newer owner. The range is over, unless the member does not count yet.
  void OnFencedOut(MemberIndex member, TimePoint now);
  /// Call it at NextTick(), and after inputs. A call at any other time is harmless.
  void Tick(TimePoint now);

  // --- Outputs. ---------------------------------------------------------------------------------

  [[nodiscard]] std::vector<range::Action> TakeActions() { return std::exchange(actions_, {}); }
  [[nodiscard]] TimePoint NextTick() const { return next_tick_; }
  /// The record in force. It also has the members that were added, which no transaction names yet.
  [[nodiscard]] const RangeRecord& record() const { return record_; }
  [[nodiscard]] bool serving() const {
    return stage_ == Stage::kServing || (stage_ == Stage::kShared && writes_shared_);
  }
  /// The last mark of this owner; its version and time are zero before the first.
  [[nodiscard]] const Mark& mark() const { return mark_; }
  /// Nothing is left to do: all wanted members are in, every state is settled.
  [[nodiscard]] bool settled() const;

 private:
  enum class Stage : std::uint8_t { kNew, kTakingOver, kServing, kShared, kOver };
  enum class Step : std::uint8_t { kFence, kRead, kReady };  // of a member's take-over
  enum class Job : std::uint8_t {
    kNone,
    // A fill of target_, in this order:
    kFence,  ///< its store is fenced
    kOpen,   ///< it gets every change from now on; a barrier for the changes before
    kCopy,   ///< a walk copies all states to it
    kEnter,  ///< answers wait for it, too; a barrier at it
    // A sweep:
    kSweep,  ///< a walk settles every state
    kSwept,  ///< a barrier: the settled states are durable
    // Changes of the mode:
    kStrong,  ///< a barrier before sc
    kShare,   ///< a barrier before aa+ec
    // A merge of a shared range:
    kProve,  ///< the members prove that they have what they had
    kMerge   ///< a walk gives each the newer states of the others
  };
  struct Member {
    Step step = Step::kFence;
    TimePoint due = TimePoint::min();  // of the next call, or of the next fill
    range::Attempt attempt = 0;        // of the call under way
    TimePoint progress{};              // the last success
    TimePoint wrote{};                 // the last success of a write
    // Since when:
    std::optional<TimePoint> busy;
    std::optional<TimePoint> dirty;
    std::optional<TimePoint> probed;  // without success
    std::optional<TimePoint> lagging;
    std::optional<TimePoint> refused;
    std::optional<TimePoint> unwanted;
    bool lost = false;
    bool restarted = false;     // and lost for that reason alone
    Mark mark;                  // that it had at the take-over
    std::string incarnation{};  // of the store that was fenced
    Duration pause{};           // before the next fill, because a key failed
    bool tried = false;         // a fill failed, and its store has not come back since
  };

  void FindWanted();
  [[nodiscard]] MemberMask Find(const std::vector<std::string>& datalets);
  void Advance(TimePoint now);
  void Prove(MemberIndex m, TimePoint now);
  void TakeOver(TimePoint now);
  MemberMask Revert();
  void EndTakeOver(MemberMask ready, TimePoint now);
  static void SetSince(std::optional<TimePoint>& since, bool on, TimePoint now);
  void ForgiveDelay(TimePoint now);
  /// Silence is measured: a delay of our own is noticed, if it is longer than this tick.
  void TickSoon(TimePoint now) {
    (void)IsDue(SaturatingAdd(now, options_.member_timeout / 4), now);
  }
  /// The members that fail, by reason.
  struct Failures {
    MemberMask lost = 0;      // without all data
    MemberMask failing = 0;   // silent, lagging, refusing or unwanted
    MemberMask silent = 0;    // those that have owed an answer for member_timeout
    MemberMask hopeless = 0;  // those that have owed it for twice that
    std::array<TimePoint, kMaxMembers> since{};  // when those that fail began to
  };
  [[nodiscard]] Failures FindFailures(TimePoint now);
  void DropMembers(TimePoint now);
  void DropFollowers(TimePoint now);
  void Shut(MemberIndex member);
  [[nodiscard]] MemberMask LeaveOne(MemberMask failing, MemberMask answering);
  [[nodiscard]] bool Fills() const {
    return job_ == Job::kOpen || job_ == Job::kCopy || job_ == Job::kEnter;
  }
  /// Returns true while target_ names a member. Otherwise it is that of an earlier fill.
  [[nodiscard]] bool HasTarget() const { return Fills() || job_ == Job::kFence; }
  /// Returns true while a lazy member is filled. Any other job comes first.
  [[nodiscard]] bool FillsLazy() const { return fills_lazy_ && HasTarget(); }
  /// The members that are in and shall leave, once all wanted ones are in.
  [[nodiscard]] MemberMask Unwanted() const;
  void StartMark(TimePoint now);
  void OnMark(Errc errc, TimePoint now);
  void OnMarkChanged(Errc errc, TimePoint now);
  void Work(TimePoint now);
  [[nodiscard]] bool HasMoreUrgentJob(TimePoint now);
  void ChooseJob(TimePoint now);
  /// A wanted datalet cannot be added because of members that are neither in nor wanted.
  [[nodiscard]] bool HasNoRoom() const;
  [[nodiscard]] std::optional<MemberIndex> NextToFill(TimePoint now);
  void StartSweep(TimePoint now);
  void StartFill(MemberIndex target);
  void OnTargetFenced(TimePoint now);
  void OnWalkFailed(const RangeWalk::Failure& failure, bool sweeps, TimePoint now);
  void StartCopy(TimePoint now);
  void EndJob(TimePoint now);
  void StopJob(TimePoint now);
  void AwaitBarrier(Job job);
  ReplyId AskBarrier(const Need& need);
  // A shared range.
  void WriteShared(TimePoint now);
  void OwnShared(TimePoint now);
  void ReadAwaited(TimePoint now);
  void CloseEngines(TimePoint now);
  [[nodiscard]] bool MustEndSharing(TimePoint now);
  void Merge(TimePoint now);
  void EndMerge(bool done, TimePoint now);
  [[nodiscard]] bool IsMerged() const;
  void Propose(RangeRecord record);
  void SendCommit();
  void OnAgreed(TimePoint now);
  void Lose(GivenUp cause);

  void CheckProof(MemberIndex member, const ReadResult& result);
  [[nodiscard]] std::optional<MemberIndex> CalledMember(range::Attempt attempt) const;
  void Probe(MemberMask members, TimePoint now);
  /// Since when the member owes an answer.
  [[nodiscard]] std::optional<TimePoint> SilentSince(MemberIndex member) const;
  /// Returns true if the member has owed an answer for member_timeout. If it owes one, the keeper
  /// looks again soon.
  [[nodiscard]] bool IsStalled(MemberIndex member, TimePoint now);
  /// Forgets what is known of the member, and calls it again after the pause.
  void PauseMember(MemberIndex member, Duration pause, TimePoint now);
  /// All wanted members are in.
  [[nodiscard]] bool IsComplete() const { return !lacks_ && (wanted_ & ~set_.in()) == 0; }
  [[nodiscard]] bool SweepIsDue() const { return !set_.swept(); }
  [[nodiscard]] RangeRecord Without(MemberMask members, TimePoint now) const;
  /// Returns true if the time has come; otherwise NextTick is not later.
  bool IsDue(TimePoint due, TimePoint now);

  const RangeId range_;
  ReplicaSet& set_;
  RangeKeeperOptions options_;
  Stage stage_ = Stage::kNew;
  RangeRecord record_;                   // in force
  Revision revision_;                    // of record_
  std::optional<RangeRecord> proposed_;  // a transaction is under way
  RangeRecord sent_;                     // by it
  range::Attempt commit_ = 0;            // its call, 0 while it waits to be repeated
  TimePoint commit_due_{};
  std::vector<std::string> wanted_datalets_;
  std::vector<std::string> followers_;
  MemberMask wanted_ = 0;  // the wanted datalets that the record has
  MemberMask lazy_ = 0;    // the followers that the record has
  bool lacks_ = false;     // the record lacks a wanted datalet or a follower
  MemberMask silent_ = 0;
  bool want_strong_ = true;
  bool want_shared_ = false;
  std::vector<Member> members_;
  TimePoint started_{};

  Job job_ = Job::kNone;
  MemberIndex target_ = 0;
  bool fills_lazy_ = false;  // the fill goes without what the target refuses
  Version fill_since_ = 0;   // the newest version when the target began to get all changes
  std::uint64_t fill_ = 0;   // grows with each
  std::optional<RangeWalk> walk_;
  ReplyId job_barrier_ = 0;
  bool barrier_failed_ = false;  // of a walk that is done: it is repeated at job_due_
  bool barrier_done_ = false;
  bool job_proposed_ = false;  // the transaction under way ends the job
  TimePoint job_due_ = TimePoint::min();
  TimePoint sweep_due_ = TimePoint::min();
  std::size_t failed_sweeps_ = 0;

  bool writes_shared_ = false;  // to as many members as writes need, or to those that came in time
  TimePoint shared_since_{};    // for this owner
  TimePoint merge_began_{};
  TimePoint merge_due_ = TimePoint::min();
  MemberMask merging_ = 0;   // by the merge under way
  MemberMask merged_ = 0;    // by the last full one; 0 if the last one failed
  TimePoint merged_at_{};    // as RangeRecord::merged, before it is committed
  bool merges_new_ = false;  // the merge under way leaves out states up to merged_stamp_
  Stamp merged_stamp_;       // since the last full merge all members have what is not newer
  TimePoint full_merge_due_{};

  TimePoint mark_due_{};
  ReplyId mark_barrier_ = 0;
  range::Attempt mark_change_ = 0;
  Version marking_ = 0;
  TimePoint marking_at_{};
  bool refresh_mark_ = false;
  Mark mark_;

  std::uint64_t last_attempt_ = 0;
  TimePoint next_tick_ = kNever;
  std::vector<range::Action> actions_;
};

}  // namespace stout::internal
