#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stout/completion.h"
#include "stout/core/options.h"
#include "stout/core/range_record.h"
#include "stout/core/stats.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/key_list.h"
#include "stout/store.h"
#include "stout/unique_function.h"
#include "stout/write_back_map.h"

namespace stout::inline v1 {

/// A range that a ReplicatedMap takes over, as the owner under a lease's epoch.
struct ReplicatedRange {
  using CommitHandler = UniqueFunction<void(ErrorCode, RangeRecord found)>;
  /// The transaction of the coordinator: if the lease's epoch still holds the range and the stored
  /// revision is `record.revision - 1`, stores the record. Answers, on any thread:
  /// - kOk: stored;
  /// - kRefused: another revision is stored, which is `found`;
  /// - kFenced: another owner has the range;
  /// - other errors: not known; it is repeated. So is a call without an answer.
  /// It is called on the map's strand.
  using Commit = UniqueFunction<void(const RangeRecord& record, CommitHandler handler)>;

  /// The stores of the record's members, by index. They outlive the map. Each compares stamps,
  /// fences and scans. Null: there is no such store now.
  std::vector<Store*> stores;
  /// As the coordinator has it; at least one member is in. Revision 0: the range is new. Then name
  /// one member that is in, whose store may have older data; the others are filled from it.
  RangeRecord record;
  Epoch epoch = 0;
  Scope scope;  ///< of the range, at each store
  Commit commit;
  /// Called once on the strand if the map loses the range by itself: give the lease back. May be
  /// empty.
  UniqueFunction<void()> on_given_up{};
};

struct ReplicatedMapOptions {
  EngineOptions engine;  ///< of each member's interposer
  /// As in WriteBackMapOptions.
  std::size_t cache_bytes = std::size_t{256} << 20;
  std::shared_ptr<std::atomic<std::size_t>> lent_bytes;
  /// Writes are refused with kTooFewMembers while fewer members are in. >= 1.
  std::uint32_t min_in = 1;
  /// Members that must have a write before it is answered in mode ec. >= 1.
  std::uint32_t ack = 1;
  /// A member that has work and answers nothing for this time leaves. It must be longer than the
  /// intervals of the write policy. > 0.
  Duration member_timeout = std::chrono::seconds(2);
  /// The stores forget deletes after this time. > 0.
  Duration tombstone_ttl = std::chrono::hours(24);
  /// The members that are to be in. 0: those that are in at the start.
  MemberMask want = 0;
  /// The member on this machine: reads prefer it if no other member has a shorter queue.
  std::optional<MemberIndex> local;
  /// The mode: sc if true, ec otherwise. nullopt: as in the record.
  std::optional<bool> strong;
};

/// The condition under which an answer leaves.
struct AnswerLevel {
  /// The number of members that have what the answer reveals; 0: all that are in. nullopt: what the
  /// mode requires.
  std::optional<std::uint32_t> members;
  /// The answer confirms a write, so `min_in` holds for it, too.
  bool write = true;
};

struct ReplicatedMapStats {
  struct Member {
    std::string datalet;
    bool in = false;           ///< it has every acknowledged write
    bool filling = false;      ///< it gets every change, and older states are copied to it
    std::uint64_t copied = 0;  ///< states that fills have copied to it
    EngineStats engine;        ///< its lag is the sum of LaneStats::dirty_keys and dirty_bytes
  };
  std::vector<Member> members;
  bool serving = false;
  bool strong = false;   ///< mode sc
  bool settled = false;  ///< all wanted members are in, and all states are equal at them
  Version version = 0;   ///< of the newest change
  Version mark = 0;      ///< versions up to this one are at all members that are in
  std::size_t replies_waiting = 0;
};

/// A WriteBackMap over several stores, the members of one range, which it keeps equal.
///
///     ReplicatedMap map(executor, {.stores = {&a, &b}, .record = record, .epoch = epoch,
///                                  .scope = "ranges/7", .commit = Commit});
///     co_await map.AsyncOpen(asio::use_awaitable);             // fences the former owner
///     auto stamp = map.Put(key, value);                        // in memory, dirty at all members
///     co_await map.AsyncSafeReply(key, asio::use_awaitable);   // durable at all that are in
///
/// A member that does not answer leaves, and is filled when it returns. An answer waits for the
/// members that are in at present. In mode sc each key is linearizable, if the caller checks that
/// it owns the range as a request begins. In mode ec writes are answered when `ack` members have
/// them.
///
/// Owner, threads: as stout::Interposer. All handlers run on the strand.
/// Errors: as WriteBackMap. kTooFewMembers: fewer than `min_in` members are in; nothing was done.
///   kFenced is final: another owner has the range, or the map gave it up because no member
///   answered.
/// Paper: BespoKV (TPDS'20). Rules: docs/decisions/0023-replica-sets.md.
class ReplicatedMap {
 public:
  using Executor = Interposer::Executor;
  using Reply = Interposer::Reply;
  using Entry = WriteBackMap::Entry;
  using GetHandler = WriteBackMap::GetHandler;

  ReplicatedMap(const boost::asio::any_io_executor& executor, ReplicatedRange range,
                ReplicatedMapOptions options = {});
  ReplicatedMap(const ReplicatedMap&) = delete;
  ReplicatedMap& operator=(const ReplicatedMap&) = delete;
  ~ReplicatedMap();

  [[nodiscard]] Executor get_executor() const;
  /// Returns nullopt if this map can be opened, otherwise one line with the cause and the remedy.
  /// Any thread.
  [[nodiscard]] const std::optional<std::string>& trouble() const;

  /// Takes the range over: fences all members that are in, and commits. Requests are served when it
  /// completes: `void(ErrorCode)`. Errors: kBadOptions, kFenced, kClosed; all are final. Any
  /// thread.
  template <typename Token>
  auto AsyncOpen(Token&& token) {
    return Initiate<void(ErrorCode)>([this](Reply done) { Open(std::move(done)); }, get_executor(),
                                     std::forward<Token>(token));
  }
  void Open(Reply done);

  /// Changes what ReplicatedMapOptions::want and strong say.
  void Want(MemberMask members);
  void WantStrong(bool strong);

  /// As WriteBackMap. Errors: also kTooFewMembers, and kClosed until the map is open.
  Result<Stamp> Put(KeyView key, std::string value);
  Result<Stamp> Delete(KeyView key);

  /// Gets the newest state, from a member if it is not in memory: `void(ErrorCode, Entry)`.
  /// It may not be durable yet, so answer through SafeReply, called in the same turn.
  template <typename Token>
  auto AsyncGet(KeyView key, Token&& token) {
    return Initiate<void(ErrorCode, Entry)>(
        [this, key = std::string(key)](GetHandler handler) { Get(key, std::move(handler)); },
        get_executor(), std::forward<Token>(token));
  }
  void Get(KeyView key, GetHandler handler);

  /// Returns the newest state if it is in memory, without waiting.
  [[nodiscard]] std::optional<Entry> Peek(KeyView key);

  /// Runs `reply` exactly once: when the keys' newest states are durable as `level` requires, or
  /// when that cannot be. It has the deadline of EngineOptions::reply_deadline.
  void SafeReply(std::span<const KeyView> keys, Reply reply, const AnswerLevel& level = {}) {
    (void)WithdrawableReply(keys, std::move(reply), level);
  }
  template <typename Token>
  auto AsyncSafeReply(KeyList keys, Token&& token) {
    return AsyncSafeReply(std::move(keys), AnswerLevel(), std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncSafeReply(KeyList keys, AnswerLevel level, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, keys = std::move(keys), level](Reply reply) {
          return WithdrawableReply(keys.views(), std::move(reply), level);
        },
        get_executor(), std::forward<Token>(token));
  }

  /// Sends all dirty keys without further delay. Completes when all members that are in have them:
  /// `void(ErrorCode)`.
  template <typename Token>
  auto AsyncFlush(Token&& token) {
    return Initiate<void(ErrorCode)>([this](Reply done) { Flush(std::move(done)); }, get_executor(),
                                     std::forward<Token>(token));
  }
  void Flush(Reply done);
  /// Takes no new change, and flushes: `void(ErrorCode)`.
  template <typename Token>
  auto AsyncDrain(Token&& token) {
    return Initiate<void(ErrorCode)>([this](Reply done) { Drain(std::move(done)); }, get_executor(),
                                     std::forward<Token>(token));
  }
  void Drain(Reply done);

  /// Sends nothing more; every waiting reply fails with kClosed. Idempotent.
  void Close();
  /// Call it when the lease is lost: as Close, but with kFenced.
  void Fence();

  /// Returns true while a change of this key is not durable at some member.
  [[nodiscard]] bool IsDirty(KeyView key) const;
  [[nodiscard]] Epoch epoch() const;
  /// The record in force, as this owner knows it.
  [[nodiscard]] const RangeRecord& record() const;
  [[nodiscard]] ReplicatedMapStats Stats() const;

  /// As WriteBackMap.
  [[nodiscard]] std::shared_ptr<const std::string> Lend(std::string value);
  [[nodiscard]] std::size_t cached_bytes() const;
  [[nodiscard]] std::size_t lent_bytes() const;

 private:
  class State;

  UniqueFunction<void()> WithdrawableReply(std::span<const KeyView> keys, Reply reply,
                                           const AnswerLevel& level);

  std::shared_ptr<State> state_;  // shared with the pending handlers of stores and the timer
};

}  // namespace stout::inline v1
