#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "context_watch.h"
#include "due_handlers.h"
#include "stout/core/range_actions.h"
#include "stout/core/range_keeper.h"
#include "stout/core/replica_set.h"
#include "stout/core/strong_reads.h"
#include "stout/interposer.h"
#include "stout/replicated_map.h"
#include "stout/require.h"
#include "value_cache.h"
#include "wake_timer.h"

namespace stout::inline v1 {

/// The driver of a RangeKeeper, a ReplicaSet and StrongReads. It has one interposer for each member
/// that is not out, all on one strand, and the values.
///
/// A *pump* reports the observations to the keeper, and carries out the requests of the parts. It
/// runs in its own turn, after calls of the user, after answers of stores, and when the timer
/// expires. Therefore it may destroy interposers.
/// Invariant: the keeper learns the members' progress before it learns anything else.
class ReplicatedMap::State final : public std::enable_shared_from_this<State>,
                                   public internal::HandlerKeeper {
 public:
  State(const Executor& strand, ReplicatedRange range, ReplicatedMapOptions options);

  static std::shared_ptr<State> Make(const Executor& strand, ReplicatedRange range,
                                     ReplicatedMapOptions options) {
    auto state = std::make_shared<State>(strand, std::move(range), std::move(options));
    state->watch_.emplace(strand, state);
    return state;
  }

  [[nodiscard]] const Executor& strand() const { return strand_; }
  [[nodiscard]] const std::optional<std::string>& trouble() const { return trouble_; }

  void Open(Reply done);
  void Want(std::vector<std::string> want, const std::vector<Replica>& replicas);
  void WantStrong(bool strong);
  void WantShared(bool shared);
  void Stop(Errc why) {
    RequireStrand();
    End(why);
  }
  /// Records that the map is destroyed. From now on only handlers that still wait may be called.
  void Abandon() { abandoned_ = true; }
  void Detach();
  void Forget() noexcept override;

  Result<Stamp> Write(KeyView key, std::shared_ptr<const std::string> value);
  void Get(KeyView key, const FetchOptions& options, GetHandler handler);
  std::optional<Entry> Peek(KeyView key, const FetchOptions& options);
  [[nodiscard]] bool Holds(KeyView key) const;
  void Prefetch(std::span<const KeyView> keys) const;
  UniqueFunction<void()> SafeReply(std::span<const KeyView> keys, Reply reply,
                                   const AnswerLevel& level);
  [[nodiscard]] bool HasReplyRoom() const {
    RequireStrand();
    return asked_.size() < engine_.max_replies && MembersHaveReplyRoom();
  }
  [[nodiscard]] bool Takes(const AnswerLevel& level) const {
    return !serving() || set_.TakesWrites(level.members.value_or(1));
  }
  void Count(std::uint32_t members, Duration timeout, CountHandler handler);
  Mark RefreshMark();
  void Flush(Reply done);
  void Drain(Reply done);
  void Scan(ScanRequest request, Store::ScanHandler handler);
  [[nodiscard]] bool Renew(ScannedKey& key) const;

  /// `except`: members that are not asked.
  [[nodiscard]] bool IsDirty(KeyView key, MemberMask except = 0) const;
  /// Returns true if the state in memory may be shown. Other nodes change the keys of a shared
  /// range, so a clean state is for the request that has read it.
  [[nodiscard]] bool Shows(KeyView key, bool read = false) const {
    return clock_ == nullptr || read || IsDirty(key);
  }
  /// The next change must be newer than this state of a shared range.
  void See(Stamp stamp) {
    if (clock_ && stamp.epoch == epoch()) clock_->Observe(stamp.version);
  }
  [[nodiscard]] Epoch epoch() const { return set_.epoch(); }
  [[nodiscard]] const RangeRecord& record() const { return keeper_.record(); }
  [[nodiscard]] ReplicatedMapStats Stats() const;
  [[nodiscard]] const internal::ValueCache& values() const { return values_; }

 private:
  using Action = internal::range::Action;
  using Attempt = internal::range::Attempt;
  using Keeper = internal::RangeKeeper;

  struct Handle {
    Store* store = nullptr;
    std::weak_ptr<const void> lifetime;  // of the store
  };
  struct Member {
    Handle handle;                           // the store that was fenced
    std::unique_ptr<Interposer> interposer;  // unless the member is out
    std::uint64_t opened = 0;                // grows as an interposer comes or goes
    TimePoint read{};                        // the last read that succeeded
    TimePoint write{};                       // the last write
    std::uint64_t copied = 0;
    std::vector<internal::ReplyId> barrier{};       // the answers that wait for the one under way
    std::vector<internal::ReplyId> next_barrier{};  // and for the next one
    bool next_refused = false;  // a change was refused after that one had been asked
  };
  struct Asked {
    Reply reply;
    TimePoint deadline;
  };
  struct Counting {
    CountHandler handler;
    TimePoint deadline;
  };
  /// A call of the keeper, which is answered at the latest at the deadline.
  struct Call {
    TimePoint deadline;
    UniqueFunction<void()> time_out;
  };
  /// The Gets that wait for one read.
  struct Reading {
    std::string key;
    FetchOptions options;  // of the first Get; ahead if any Get is, yields if all Gets do
    std::vector<GetHandler> gets;
    MemberMask asked = 0;
  };
  /// A member's answer to a read. The pump passes it to the parts and acts on it at once, because
  /// the parts would not notice a change in between.
  struct Fetched {
    internal::FetchId token;
    MemberIndex member;
    Errc errc;
    StoredState state;
  };
  /// A key with a change that a member's store will never take: see JudgeRefusal.
  struct Refusal {
    std::uint64_t serial = 0;  // callbacks for another one are too late
    MemberMask refused = 0;    // members that refused the present change
    MemberMask awaited = 0;    // members that will report the end of their write
    MemberMask unread = 0;     // members whose states are being read
    MemberMask doubtful = 0;   // members that may still take what they refused
    std::vector<std::pair<MemberIndex, StoredState>> read{};
    std::optional<StoredState> older{};  // what was put back, under this stamp. Some members may
    Stamp restored{};                    // not have taken it
    bool restores = false;               // the present change puts it back
    using Gets = std::vector<std::pair<FetchOptions, GetHandler>>;
    Gets gets{};
  };
  using Refusals = std::map<std::string, Refusal, std::less<>>;

  void RequireStrand() const {
    internal::Require(strand_.running_in_this_thread(),
                      "a ReplicatedMap is used outside its strand: post the call to "
                      "get_executor()");
  }
  [[nodiscard]] TimePoint Now() const { return timer_.Now(); }
  [[nodiscard]] bool serving() const { return ended_ == Errc::kOk && keeper_.serving(); }
  [[nodiscard]] Errc NotServing() const { return ended_ == Errc::kOk ? Errc::kClosed : ended_; }
  Interposer& interposer(MemberIndex m) { return *members_[m].interposer; }

  void TakeStores(const std::vector<Replica>& replicas);
  [[nodiscard]] MemberMask SilentMembers() const;
  void SyncMembers();
  /// Ends the range for this map, with this error.
  void End(Errc why);

  // Requests.
  Result<Stamp> Change(KeyView key, std::shared_ptr<const std::string> value,
                       MemberMask members = 0);
  std::shared_ptr<const std::string> ValueOf(StoredState state);
  /// Keeps an answer in `kept`, which is asked_ or counting_, until set_ gives it back. Calls
  /// `ask_member(id, member)` for each member to ask. Returns the id of the answer.
  template <typename Answer, typename AskMember>
  internal::ReplyId Ask(std::map<internal::ReplyId, Answer>& kept, Answer answer,
                        const internal::Need& need, const AskMember& ask_member);
  UniqueFunction<void(ErrorCode)> ReplyOf(internal::ReplyId id, MemberIndex m);
  /// Room in a member's interposer for a drain, and for barriers of marks, scans and modes.
  static constexpr std::size_t kOwnReplies = 16;
  [[nodiscard]] bool MembersHaveReplyRoom() const;
  void Later(Reply reply, ErrorCode ec);
  void Later(GetHandler handler, ErrorCode ec, Entry entry);
  void GetLater(KeyView key, FetchOptions options, GetHandler handler);
  void Later(CountHandler handler, Errc errc, std::uint32_t members);
  /// Returns true if a member has refused the key's present change, and it is not undone yet.
  [[nodiscard]] bool IsRefused(KeyView key) const {
    const auto found = refusals_.find(key);
    return found != refusals_.end() && found->second.refused != 0 && !found->second.restores;
  }
  void OnRefused(MemberIndex m, KeyView key, bool doubtful);
  void JudgeRefusal(KeyView key);
  void AwaitWrites(const std::string& key, Refusal& refusal, MemberMask members);
  void OnAwaited(MemberIndex m, const std::string& key, std::uint64_t serial, ErrorCode ec);
  void ReadOlder(MemberIndex m, const std::string& key, std::uint64_t serial);
  void OnOlderRead(MemberIndex m, const std::string& key, std::uint64_t serial, ErrorCode ec,
                   StoredState state);
  [[nodiscard]] const StoredState* ChooseState(const Refusal& refusal) const;
  void PutBack(Refusals::iterator found);
  void OverrideRefusal(KeyView key);
  void EndRefusal(Refusals::iterator found, MemberMask leaving);
  void GetAgain(KeyView key, Refusal::Gets gets);
  void AwaitBarrier(MemberIndex m, internal::ReplyId id);
  void StartBarrier(MemberIndex m);
  void ScanMember(MemberIndex m, const ScanRequest& request, Store::ScanHandler handler);

  // The pump.
  void SchedulePump();
  void Pump();
  void Observe();
  bool Turn();
  void TakeReads(internal::reads::Effects effects);
  void Fetch(const internal::reads::Fetch& fetch);
  void Hasten(Reading& reading, const FetchOptions& options);
  void OnRead(internal::reads::Done& done);
  void Expire();
  void Arm();

  // The keeper's actions.
  template <typename Answer, typename Parameter>
  auto AnswerTo(MemberIndex m, Attempt attempt, void (Keeper::*on)(Attempt, Parameter, TimePoint),
                Answer unknown);
  [[nodiscard]] WriteBatch BatchOf(std::vector<WriteItem> items) const;
  void Identify(MemberIndex m, ReadBatch read, Store::ReadHandler answer);
  void Do(internal::range::Fence& fence);
  void Do(internal::range::Read& read);
  void Do(internal::range::Scan& scan);
  void Do(internal::range::Copy& copy);
  void Do(internal::range::Commit& commit);
  void Do(internal::range::Open& open);
  void Do(internal::range::Shut& shut);
  void Do(internal::range::Barrier& barrier);
  void Do(internal::range::Settle& settle);
  void Do(internal::range::Change& change);
  void Do(internal::range::Serve& serve);
  void Do(internal::range::Unfillable& failed);
  void Do(internal::range::Revert& reverted);
  void Do(internal::range::GiveUp& given_up);
  void Report(UniqueFunction<void()> report);
  [[nodiscard]] Store& StoreOf(MemberIndex m) const;

  const Executor strand_;
  internal::WakeTimer timer_;
  const std::optional<std::string> trouble_;
  const Scope scope_;
  const EngineOptions engine_;
  const Duration tombstone_ttl_;
  const std::string identity_key_;
  const std::shared_ptr<NodeClock> clock_;  // of a shared range, without the lease
  const std::string local_;
  const bool is_new_;                                // no owner has committed yet
  const std::shared_ptr<const KeyFilter> contains_;  // null: all keys
  ReplicatedRange::Commit commit_;
  const ReplicatedRange::UnfillableHandler on_unfillable_;
  const std::function<void(const std::string& datalet)> on_reverted_;
  UniqueFunction<void(GivenUp)> on_given_up_;
  internal::ReplicaSet set_;
  Keeper keeper_;
  internal::StrongReads reads_;
  internal::ValueCache values_;
  std::map<std::string, Handle> stores_;  // as they are now, by datalet
  std::set<std::string> silent_;          // datalets
  std::vector<Member> members_;           // of record()

  Errc ended_ = Errc::kOk;  // or kClosed or kFenced
  bool draining_ = false;
  std::atomic<bool> abandoned_ = false;
  bool forgotten_ = false;
  bool pump_scheduled_ = false;
  MemberMask known_readers_ = 0;  // the members that reads ask, as reads_ knows
  // To tell the keeper.
  MemberMask lagging_ = 0;
  MemberMask refused_ = 0;
  MemberMask lost_ = 0;
  MemberMask fenced_out_ = 0;
  std::uint64_t last_id_ = 0;

  std::vector<Reply> opens_;
  std::map<internal::ReplyId, Asked> asked_;
  std::map<internal::ReplyId, Counting> counting_;
  std::map<Attempt, Call> calls_;
  std::unordered_map<internal::FetchId, Reading> reading_;
  std::unordered_map<std::string, internal::FetchId> fetch_of_;  // of reading_, by key
  std::size_t waiting_gets_ = 0;
  std::vector<Fetched> fetched_;
  Refusals refusals_;
  /// Requests that an interposer has pushed back. The pump repeats them, because it follows each
  /// answer that makes room.
  std::vector<UniqueFunction<void()>> when_room_;
  std::vector<internal::Due> due_;
  std::optional<internal::ContextWatch> watch_;
};

template <typename Answer, typename AskMember>
internal::ReplyId ReplicatedMap::State::Ask(std::map<internal::ReplyId, Answer>& kept,
                                            Answer answer, const internal::Need& need,
                                            const AskMember& ask_member) {
  SchedulePump();
  const internal::ReplyId id = ++last_id_;
  const auto added = kept.emplace_hint(kept.end(), id, std::move(answer));
  try {
    ForEachMember(set_.Ask(id, need), [&](MemberIndex m) { ask_member(id, m); });
  } catch (const std::bad_alloc&) {
    (void)set_.Withdraw(id);  // answers of members that were asked count for nothing
    kept.erase(added);
    throw;
  }
  return id;
}

}  // namespace stout::inline v1
