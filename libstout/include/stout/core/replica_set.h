#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "stout/core/effects.h"
#include "stout/core/errc.h"
#include "stout/core/range_record.h"
#include "stout/core/types.h"

namespace stout::internal {

enum class MemberState : std::uint8_t {
  kOut,       ///< gets nothing
  kSource,    ///< gets nothing, but reads and sweeps ask it: see RangeRecord's IsAwaited
  kFilling,   ///< gets every change, and counts for no level
  kLazy,      ///< gets every change, has all older states, counts for no level, and stays so
  kEntering,  ///< has all older states; answers wait for it, but the record does not name it yet
  kIn,        ///< the record names it
};

struct ReplicaOptions {
  /// Members that must have a write before it is answered, also at level `all`. >= 1.
  std::uint32_t min_in = 1;
  /// Members that must have a write before it is answered in mode ec. >= 1.
  std::uint32_t ack = 1;
};

/// The condition under which an answer may be given.
struct Need {
  /// The number of members that must be durable at what the answer reveals. 0: all.
  std::uint32_t members = 0;
  /// A write also needs `min_in` members. Its outcome is kUnknown if fewer are left and all have
  /// it.
  bool write = false;
  /// As ReplicaOptions::min_in, for this answer.
  std::uint32_t min_in = 0;
  /// The reply has RunReply::members.
  bool counts = false;
  /// If not zero, exactly these members are asked and counted. The answer fails if one leaves.
  MemberMask only = 0;
};

/// The members of one range under one epoch, and the answers that wait for them.
///
/// The driver keeps one engine for each member that is not out. A change goes to the engines of all
/// writers() under one version. An answer is asked at all of them, too:
///
///     const Version version = replicas.NextVersion();
///     ForEachMember(replicas.writers(), [&](MemberIndex m) {
///       engines[m].MarkDirty(ref, bytes, version, now);
///     });
///     const MemberMask asked = replicas.Ask(reply_id, replicas.NeedOfWrite());
///     ForEachMember(asked, [&](MemberIndex m) {
///       engines[m].SafeReply({&ref, 1}, reply_id, now);    // Barrier works as well
///     });
///     ...
///     replicas.OnReply(reply_id, member, errc);    // for each reply that an engine runs
///     for (const RunReply& reply : replicas.TakeReplies()) Run(reply);
///
/// Invariants:
/// 1. An answer waits for the members that are required at present, not when it was asked. A member
///    that leaves thus releases the answers that waited for it alone.
/// 2. A member that enters has everything that was asked before its engine was opened, because the
///    fill copied it. So these answers do not wait for it. In a shared range no fill has copied it,
///    and these answers do not count the member.
///
/// Owner: the driver of a range.   Threads: none of its own.   Errors: cannot fail.
/// Paper: BespoKV (TPDS'20). Design: docs/decisions/0023.
class ReplicaSet {
 public:
  ReplicaSet(Epoch epoch, const ReplicaOptions& options) : epoch_(epoch), options_(options) {}

  // --- Members ----------------------------------------------------------------------------------

  /// Takes over a record that is in force. Its members are in; other members that were in are out.
  /// If the range is shared, the states of members stay as they are.
  void Adopt(const RangeRecord& record);
  void SetState(MemberIndex member, MemberState state);
  /// Records that the member's store has lost its data. Until the member is out, it gets no change
  /// and no read if another one is in. Answers that count it wait until it is out. Does nothing if
  /// the member is out already.
  void SetLost(MemberIndex member);
  /// Records that the member lacks a change that another one may have, because it has refused it.
  /// It is read and filled from only if no other member is in, and WAIT does not count it.
  void SetLacking(MemberIndex member, bool lacks) {
    lacking_ = lacks ? lacking_ | MaskOf(member) : lacking_ & ~MaskOf(member);
  }
  /// Mode sc if true, ec otherwise.
  void SetStrong(bool strong) { strong_ = strong; }

  [[nodiscard]] MemberState state(MemberIndex member) const { return states_[member]; }
  /// The members that are in.
  [[nodiscard]] MemberMask in() const { return in_; }
  /// The members that level `all` waits for: in or entering.
  [[nodiscard]] MemberMask required() const { return required_; }
  /// The members that get every change.
  [[nodiscard]] MemberMask writers() const { return writers_; }
  /// The members that have lost their data, and leave soon.
  [[nodiscard]] MemberMask lost() const { return lost_; }
  /// The writers that no answer asks.
  [[nodiscard]] MemberMask lazy() const { return lazy_; }
  [[nodiscard]] bool strong() const { return strong_; }
  /// The members that are only read.
  [[nodiscard]] MemberMask sources() const { return sources_; }
  /// The members that a read of all members asks.
  [[nodiscard]] MemberMask readers() const { return in_ | sources_; }
  /// The members that the sweep waits for and cannot read yet: see IsAwaited.
  [[nodiscard]] MemberMask missing() const { return awaited_ & ~sources_; }
  [[nodiscard]] MemberMask awaited() const { return awaited_; }
  /// False: too few members are in; refuse writes.
  [[nodiscard]] bool takes_writes() const;
  /// As takes_writes, for writes that need this number of members; 0: all.
  [[nodiscard]] bool TakesWrites(std::uint32_t members) const;

  // --- Versions and settled states --------------------------------------------------------------

  [[nodiscard]] Epoch epoch() const { return epoch_; }
  /// The version of the next change, at all members.
  Version NextVersion() { return ++version_; }
  [[nodiscard]] Version version() const { return version_; }
  /// All nodes write to the range: see RangeRecord::shared.
  [[nodiscard]] bool shared() const { return shared_; }
  /// Every state of a former owner is at all members that are in. Before that, one member may have
  /// an unacknowledged state that the others lack.
  [[nodiscard]] bool swept() const { return swept_ + 1 >= epoch_; }
  /// A read asks all members, because each may lack what others have.
  [[nodiscard]] bool differ() const { return shared_ || !swept(); }
  /// Returns true if the newest state of a key may be written again under our epoch. A state of the
  /// epoch that was shared may not while a member is missing, which may have a newer one.
  [[nodiscard]] bool MayRewrite(Stamp newest) const {
    return missing() == 0 || newest.epoch > swept_ + 1;
  }
  /// Returns true if a state with this stamp is at all members that are in, so that it may be
  /// shown. Requires that its key is not dirty.
  [[nodiscard]] bool IsSettled(Stamp stamp) const;

  // --- Answers ----------------------------------------------------------------------------------

  [[nodiscard]] Need NeedOfWrite() const {
    return {.members = strong_ ? 0 : options_.ack, .write = true};
  }
  /// The need of a change at this level, if `write`, or of a read: see AnswerLevel::members. In a
  /// shared range, all are those of the record, also if this node does not reach them.
  [[nodiscard]] Need NeedAt(std::uint32_t members, bool write) const {
    return {.members = Number(members), .write = write, .min_in = Number(members)};
  }
  [[nodiscard]] Need NeedOfRead() const { return {.members = strong_ ? 0 : options_.ack}; }

  /// Registers an answer. Ids are unique and grow. Returns the members to ask, each of which must
  /// answer with OnReply.
  MemberMask Ask(ReplyId id, const Need& need);
  /// The member has everything that the answer reveals (kOk), or will not have it. kClosed and
  /// kLost are ignored: the engine of a member that has left, or leaves soon, reports them.
  void OnReply(ReplyId id, MemberIndex member, Errc errc);
  /// Forgets an answer whose client has given up. Returns the number of members that are in and
  /// have what it reveals.
  std::uint32_t Withdraw(ReplyId id);
  /// The range is lost: fails all answers.
  void FailAll(Errc errc);
  [[nodiscard]] std::vector<RunReply> TakeReplies() { return std::exchange(replies_, {}); }

  // --- Reads ------------------------------------------------------------------------------------

  /// Chooses by join-the-shortest-queue a member that is in and among `clean`: those at which the
  /// key is clean. Ties go to the local member, then by `random`. Requires that there is one.
  [[nodiscard]] MemberIndex ChooseReader(MemberMask clean, std::uint64_t random) const;
  /// kMaxMembers: no member is local.
  void SetLocal(MemberIndex member) { local_ = MaskOf(member); }
  void OnReadSent(MemberIndex member);
  /// Does nothing if the member has left since the read was sent.
  void OnReadAnswered(MemberIndex member) {
    if (queues_[member].own > 0) --queues_[member].own;
  }
  /// The length of the member's queue, in its last answer. Each read that goes elsewhere meanwhile
  /// counts as one that has left this queue. Otherwise the member would not be asked again.
  void OnQueueLength(MemberIndex member, std::size_t length) { queues_[member].theirs = length; }

 private:
  struct Answer {
    Need need;
    MemberMask asked = 0;
    MemberMask have = 0;
    MemberMask failed = 0;
    Errc errc = Errc::kOk;  // a failure
  };
  struct Queue {
    std::size_t own = 0;
    std::size_t theirs = 0;
  };
  enum class Fate : std::uint8_t { kWaits, kDone, kFails, kTooFew };

  [[nodiscard]] std::uint32_t Number(std::uint32_t members) const {
    return members == 0 ? all_shared_ : members;
  }
  [[nodiscard]] std::uint32_t CountHave(const Answer& answer) const;
  [[nodiscard]] Fate Judge(const Answer& answer) const;
  [[nodiscard]] bool TryRelease(ReplyId id, const Answer& answer);
  void ReleaseAll();

  const Epoch epoch_;
  const ReplicaOptions options_;
  std::array<MemberState, kMaxMembers> states_{};
  MemberMask in_ = 0;
  MemberMask required_ = 0;
  MemberMask writers_ = 0;
  MemberMask lazy_ = 0;
  MemberMask sources_ = 0;
  MemberMask lost_ = 0;
  MemberMask lacking_ = 0;
  MemberMask awaited_ = 0;
  MemberMask local_ = 0;
  bool strong_ = true;
  Version version_ = 0;
  std::map<Epoch, Version> closed_;
  Epoch swept_ = 0;
  bool shared_ = false;
  std::uint32_t all_shared_ = 0;  // the members of a shared range; otherwise 0
  std::map<ReplyId, Answer> answers_;
  std::vector<RunReply> replies_;
  std::array<Queue, kMaxMembers> queues_{};
};

}  // namespace stout::internal
