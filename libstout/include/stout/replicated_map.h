#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stout/completion.h"
#include "stout/core/errc.h"
#include "stout/core/lease_table.h"
#include "stout/core/options.h"
#include "stout/core/range_record.h"
#include "stout/core/registry_table.h"
#include "stout/core/stats.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/key_map.h"
#include "stout/node_clock.h"
#include "stout/store.h"
#include "stout/tenants.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// A store that may be a member of a range.
struct Replica {
  std::string datalet;  ///< its name in the deployment, as in RangeRecord::Member
  /// Must outlive the map, even if another store takes its place. Null: there is no store now. A
  /// store that does not compare stamps, or does not fence or scan, counts as none.
  Store* store = nullptr;
  bool silent = false;  ///< it has no store because it does not answer
  /// It is to get every change of the range without being in: no answer waits for it, and it may be
  /// silent until its engine has no room for more changes. The range needs other members.
  bool lazy = false;
};

/// A range that a ReplicatedMap takes over, as the owner under a lease's epoch. Or a shared range
/// (RangeRecord::shared): its owner merges the members, and serves nothing; without a lease, the
/// map serves and writes.
struct ReplicatedRange {
  using CommitHandler = UniqueFunction<void(ErrorCode, ChangeAnswer)>;
  /// Registry::Change, or what does the same. It is called on the map's strand, and answers on any
  /// thread. A change that fails or is not answered is repeated. kChanged, kNotOwner and the error
  /// kFenced end the range.
  using Commit = UniqueFunction<void(RegistryChange change, CommitHandler handler)>;

  RangeId range = 0;
  /// The record that the coordinator has; at least one member is in. Revision 0: the range is new.
  /// Then name one member that is in. Its store may have older data, and the others are filled from
  /// it.
  Recorded<RangeRecord> record;
  Epoch epoch = 0;                ///< of the lease; 0: none, the range is shared
  Scope scope;                    ///< of the range, at each store
  std::vector<Replica> replicas;  ///< as in ReplicatedMap::Want
  std::vector<std::string> want;  ///< likewise; empty: the members that are in at the start
  /// Returns true for the keys of this range. The map ignores keys of other ranges in a store. May
  /// be empty: then all keys of the stores are of this range. It is called on any thread.
  KeyFilter contains{};
  Commit commit;
  /// Called if a wanted member cannot be filled: its store refuses the state of this key for ever
  /// (kRefused, kTooLarge), or the state cannot be read (kCorrupt). After a take-over, kCorrupt may
  /// concern any member. An empty key: the member cannot list its keys. It leaves if it is corrupt
  /// and not the only one that is in. The map tries again after a pause, at most 5 minutes, and
  /// calls this each time. Runs on the strand. May be empty.
  using UnfillableHandler = std::function<void(const std::string& datalet, KeyView key, Errc errc)>;
  UnfillableHandler on_unfillable{};
  /// Called if all members that are in were restarted and may have lost data. The range continues
  /// with the data of this member. Runs on the strand. May be empty.
  std::function<void(const std::string& datalet)> on_reverted{};
  /// Called once on the strand if the map loses the range by itself: give the lease back. May be
  /// empty.
  UniqueFunction<void(GivenUp cause)> on_given_up{};
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
  /// A store that may forget a delete sooner cannot be a member. > 0. The default is that of all
  /// stores.
  Duration tombstone_ttl = std::chrono::hours(1);
  /// The datalet on this machine: reads prefer it if no other member has a shorter queue. May be
  /// empty.
  std::string local;
  /// The mode: sc if true, ec otherwise. nullopt: as in the record.
  std::optional<bool> strong;
  /// All nodes are to write: mode aa+ec. Requires that `strong` is false.
  bool shared = false;
  /// Versions of a map without a lease, which refuses changes with kTransient if none is reserved.
  std::shared_ptr<NodeClock> clock;
  /// Shares and weights by hand of the tenants that share the memory. May be null.
  std::shared_ptr<const Tenants> tenants;
};

struct ReplicatedMapStats {
  std::vector<MemberStats> members;
  bool serving = false;
  bool strong = false;   ///< mode sc
  bool shared = false;   ///< mode aa+ec
  bool settled = false;  ///< all wanted members are in, and all states are equal at them
  Version version = 0;   ///< of the newest change
  Version mark = 0;      ///< versions up to this one are at all members that are in
  std::size_t replies_waiting = 0;
};

/// A WriteBackMap over several stores, the members of one range, which it keeps equal.
///
///     ReplicatedMap map(executor, {.range = 7, .record = {record, found}, .epoch = epoch,
///                                  .scope = "ranges/7", .replicas = {{"a", &a}, {"b", &b}},
///                                  .want = {"a", "b"}, .commit = Commit});
///     co_await map.AsyncOpen(asio::use_awaitable);             // fences the former owner
///     auto stamp = map.Put(key, value);                        // in memory, dirty at all members
///     co_await map.AsyncSafeReply(key, asio::use_awaitable);   // durable at all that are in
///
/// A member that does not answer leaves, and is filled when it returns. An answer waits for the
/// members that are in at present. In mode sc each key is linearizable, if the caller checks that
/// it owns the range as a request begins. In mode ec writes are answered when `ack` members have
/// them.
///
/// In mode aa+ec each node has such a map without a lease, and the newest stamp wins. A read of
/// a key that is not in memory asks all members that the node reaches, and states are kept in
/// memory only until they are durable. A member that fails is closed without the changes that it
/// lacks, until it answers again: the owner's map merges the members.
///
/// Owner, threads: as stout::Interposer. All handlers run on the strand.
/// Errors: as WriteBackMap. kTooFewMembers: fewer than `min_in` members are in; nothing was done.
///   kFenced is final: another owner has the range, or the map gave it up because no member
///   answered.
/// Paper: BespoKV (TPDS'20). Rules: docs/decisions/0023-replica-sets.md.
class ReplicatedMap final : public KeyMap {
 public:
  ReplicatedMap(const boost::asio::any_io_executor& executor, ReplicatedRange range,
                ReplicatedMapOptions options = {});
  ~ReplicatedMap() override;

  [[nodiscard]] Executor get_executor() const override;
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

  /// `want`: the datalets that should be in; if empty, as before. The map adds them to the record,
  /// while it has fewer than kMaxMembers. If former members take the place of one, the map gives
  /// the range up, and the next owner forgets them. When all are in, other members leave.
  /// `replicas`: the stores, by name. A member without a store is not called. One whose store is
  /// named as null leaves at once. One that gets another store than before leaves and is filled,
  /// because that store may have lost all.
  void Want(std::vector<std::string> want, const std::vector<Replica>& replicas);
  /// Changes the mode that ReplicatedMapOptions::strong set.
  void WantStrong(bool strong);
  /// Likewise ReplicatedMapOptions::shared.
  void WantShared(bool shared);

  /// Put and Delete: kClosed until the map is open, kTooFewMembers while fewer than `min_in`
  /// members are in.
  Result<Stamp> Put(KeyView key, std::string value) override;
  Result<Stamp> Delete(KeyView key) override;
  using KeyMap::Get;
  using KeyMap::Peek;
  void Get(KeyView key, const FetchOptions& options, GetHandler handler) override;
  [[nodiscard]] std::optional<Entry> Peek(KeyView key, const FetchOptions& options) override;
  [[nodiscard]] bool Holds(KeyView key) const override;
  void Prefetch(std::span<const KeyView> keys) const override;
  [[nodiscard]] bool HasReplyRoom() const override;
  [[nodiscard]] bool Takes(const AnswerLevel& level) const override;
  void Count(std::uint32_t members, Duration timeout, CountHandler handler) override;
  Mark RefreshMark() override;
  void Flush(Reply done) override;
  void Drain(Reply done) override;
  void Close() override;
  void Fence() override;
  [[nodiscard]] bool IsDirty(KeyView key) const override;
  [[nodiscard]] std::vector<MemberStats> Members() const override { return Stats().members; }

  [[nodiscard]] Epoch epoch() const;
  /// The record in force, as this owner knows it, and the members that it adds.
  [[nodiscard]] const RangeRecord& record() const;
  [[nodiscard]] ReplicatedMapStats Stats() const;

  [[nodiscard]] std::shared_ptr<const std::string> Lend(std::string value) override;
  [[nodiscard]] std::size_t cached_bytes() const override;
  [[nodiscard]] std::size_t lent_bytes() const override;
  [[nodiscard]] std::vector<TenantStats> CachedByTenant() const override;

 private:
  class State;

  UniqueFunction<void()> WithdrawableReply(std::span<const KeyView> keys, Reply reply,
                                           const AnswerLevel& level) override;
  void ScanStore(std::string cursor, std::size_t limit, Store::ScanHandler handler) override;
  [[nodiscard]] bool Renew(ScannedKey& key) const override;

  std::shared_ptr<State> state_;  // shared with the pending handlers of stores and the timer
};

}  // namespace stout::inline v1
