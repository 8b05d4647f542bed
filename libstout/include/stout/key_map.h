#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stout/completion.h"
#include "stout/core/admission.h"
#include "stout/core/batch.h"
#include "stout/core/range_record.h"
#include "stout/core/stats.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/interposer.h"
#include "stout/key_list.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// The condition under which an answer may leave a KeyMap over several stores. For a single store,
/// the condition is always that the states which the answer reveals are durable.
struct AnswerLevel {
  /// The number of members that must have the states which the answer reveals. 0: all members that
  /// are in. nullopt: the number that the mode requires. If fewer members are in, the answer is
  /// kUnknown.
  std::optional<std::uint32_t> members;
  /// True if the answer confirms a write. ReplicatedMapOptions::min_in then applies, too.
  bool write = true;
};

/// One of the stores of a KeyMap.
struct MemberStats {
  std::string datalet;       ///< its name in the deployment; empty for a WriteBackMap
  bool in = true;            ///< it has every acknowledged write
  bool filling = false;      ///< it gets every change, while older states are copied to it
  bool lazy = false;         ///< it has all older states and gets every change; no answer waits
  std::uint64_t copied = 0;  ///< states that fills have copied to it
  EngineStats engine;        ///< DirtyKeys() is the lag of the member
};

/// An interval of keys, and how much of it is read.
struct KeyScan {
  std::string first{};               ///< the first key that may be in it
  std::optional<std::string> end{};  ///< the first key behind it; nullopt: there is none
  std::size_t limit = 1000;          ///< maximum keys that are read from the store; >= 1
  KeyFilter wanted{};                ///< other keys are left out; may be empty
  TenantId tenant = 0;               ///< as FetchOptions::tenant
};

/// The answer to a KeyScan.
struct KeyPage {
  std::vector<ScannedKey> keys;     ///< in byte order. Some may not exist, see StoredState::found
  std::optional<std::string> next;  ///< KeyScan::first of the next page; nullopt: this is the last
};

/// The newest states of keys, in memory. Changes are written back to one store (WriteBackMap) or to
/// several (ReplicatedMap).
///
/// Owner, threads, errors: as stout::Interposer. All handlers run on the strand. But a Put or
/// Delete that throws std::bad_alloc may leave its key dirty. Then the key's former state is
/// written again, or the key is refused with kNotSerialized. In mode ec a member may then leave,
/// and is filled again.
class KeyMap {
 public:
  using Executor = Interposer::Executor;
  using Reply = Interposer::Reply;

  /// The newest state of one key, durable or not.
  struct Entry {
    std::shared_ptr<const std::string> value;  ///< null if the key does not exist
    Stamp stamp;                               ///< of the change to this state; zero if none

    /// Returns a copy of it, as stores have it.
    [[nodiscard]] StoredState stored() const {
      return {.found = value != nullptr, .value = value ? *value : std::string(), .stamp = stamp};
    }
  };
  using GetHandler = UniqueFunction<void(ErrorCode, Entry)>;

  KeyMap() = default;
  KeyMap(const KeyMap&) = delete;
  KeyMap& operator=(const KeyMap&) = delete;
  virtual ~KeyMap() = default;

  [[nodiscard]] virtual Executor get_executor() const = 0;

  /// Sets the key's value and marks the key dirty. Returns the change's stamp, which grows with
  /// each change of the key, even across restarts. After an error nothing has changed. Errors:
  /// kPushedBack, kTooLarge, kDraining, kClosed, kFenced, kLost; of a ReplicatedMap also
  /// kTooFewMembers, kTransient while its members change, and kRefused for a key that begins with
  /// "stout:".
  virtual Result<Stamp> Put(KeyView key, std::string value) = 0;
  /// Deletes the key and marks it dirty. Errors: as Put.
  virtual Result<Stamp> Delete(KeyView key) = 0;

  /// Gets the newest state, from a store if it is not in memory. `void(ErrorCode, Entry)`.
  /// The state may not be durable yet, and a store may refuse it before the caller resumes. So
  /// answer from Peek, with FetchOptions::counted, and SafeReply, called in one turn.
  /// Sharded::AsyncGet does all of this.
  template <typename Token>
  auto AsyncGet(KeyView key, const FetchOptions& options, Token&& token) {
    return Initiate<void(ErrorCode, Entry)>(
        [this, key = std::string(key), options](GetHandler handler) {
          Get(key, options, std::move(handler));
        },
        get_executor(), std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncGet(KeyView key, Token&& token) {
    return AsyncGet(key, FetchOptions(), std::forward<Token>(token));
  }
  virtual void Get(KeyView key, const FetchOptions& options, GetHandler handler) = 0;
  void Get(KeyView key, GetHandler handler) { Get(key, FetchOptions(), std::move(handler)); }

  /// Returns the newest state if it is in memory, without waiting. Use it to read and change a key
  /// in one turn.
  [[nodiscard]] virtual std::optional<Entry> Peek(KeyView key, const FetchOptions& options) = 0;
  [[nodiscard]] std::optional<Entry> Peek(KeyView key) { return Peek(key, FetchOptions()); }
  /// Returns true if Peek would return a state. Does not count as a use of the key.
  [[nodiscard]] virtual bool Holds(KeyView key) const = 0;
  /// Loads the states of these keys that are in memory into the processor's caches. Call it before
  /// a turn uses several keys, because their cache misses then overlap. Does not count as a use.
  virtual void Prefetch(std::span<const KeyView> keys) const = 0;

  /// Runs `reply` exactly once: when the keys' newest states are durable as `level` requires, or
  /// when one of them cannot become so. Its deadline is EngineOptions::reply_deadline.
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

  /// Returns false if SafeReply would be pushed back, because max_replies wait. Ask before you
  /// change: a change without a reply cannot be confirmed.
  [[nodiscard]] virtual bool HasReplyRoom() const = 0;

  /// Reads a page of an interval of keys from a store that scans in byte order. The page has every
  /// key with a change that was answered before the call. Each state was the newest one at some
  /// time during the call; it may not be durable yet, so answer through SafeReply, called in the
  /// same turn, also over the keys that do not exist. In mode aa+ec a page has the keys of one
  /// member, which may lack some. The map must outlive the call. Errors: kRefused if no store scans
  /// in byte order; not_enough_memory if there is no memory for the states; otherwise as Get.
  using ScanHandler = UniqueFunction<void(ErrorCode, KeyPage)>;
  void Scan(KeyScan scan, ScanHandler handler);

  /// Returns false if writes at this level would be refused, because fewer members are in.
  [[nodiscard]] virtual bool Takes(const AnswerLevel& level) const {
    return level.members.value_or(0) <= 1;
  }
  /// Reports the number of stores at which all changes are durable that were answered before the
  /// call. Completes when this number is `members`, when it is all that are in, or after `timeout`.
  /// It does not let changes be sent earlier. Errors: kPushedBack if max_replies calls wait.
  using CountHandler = UniqueFunction<void(ErrorCode, std::uint32_t members)>;
  virtual void Count(std::uint32_t members, Duration timeout, CountHandler handler) = 0;
  /// Writes a mark to the members soon, by which readers of a member see how new its states are.
  /// Returns the last mark. A map without marks returns an empty one.
  virtual Mark RefreshMark() { return {}; }

  /// Sends all dirty keys without further delay. Completes when they are durable at all members
  /// that are in. `void(ErrorCode)`.
  template <typename Token>
  auto AsyncFlush(Token&& token) {
    return Initiate<void(ErrorCode)>([this](Reply done) { Flush(std::move(done)); }, get_executor(),
                                     std::forward<Token>(token));
  }
  virtual void Flush(Reply done) = 0;
  /// Refuses new changes, and flushes. `void(ErrorCode)`; a refused state is no error.
  template <typename Token>
  auto AsyncDrain(Token&& token) {
    return Initiate<void(ErrorCode)>([this](Reply done) { Drain(std::move(done)); }, get_executor(),
                                     std::forward<Token>(token));
  }
  virtual void Drain(Reply done) = 0;

  /// Sends nothing more and fails every waiting reply with kClosed. Idempotent.
  virtual void Close() = 0;
  /// As Close, but with kFenced. Call it when the lease is lost.
  virtual void Fence() = 0;

  /// Returns true while a change of this key is not yet durable at some store.
  [[nodiscard]] virtual bool IsDirty(KeyView key) const = 0;
  [[nodiscard]] virtual std::vector<MemberStats> Members() const = 0;

  /// Wraps a value of the caller, so that it counts in lent_bytes() until its last reference is
  /// gone.
  [[nodiscard]] virtual std::shared_ptr<const std::string> Lend(std::string value) = 0;
  /// Returns the bytes of memory for the map's keys (dirty, clean and absent) and values, with the
  /// overhead of the map and the allocator. It is an estimate for libstdc++ and glibc.
  [[nodiscard]] virtual std::size_t cached_bytes() const = 0;
  /// Returns the bytes of the values that callers still hold after the map replaced or dropped
  /// them. Any thread.
  [[nodiscard]] virtual std::size_t lent_bytes() const = 0;

  /// Returns each tenant's use of the memory, by TenantId; see Admission.
  [[nodiscard]] virtual std::vector<TenantStats> CachedByTenant() const = 0;

 protected:
  /// As SafeReply. The returned function withdraws the reply, on any thread. It may be empty.
  virtual UniqueFunction<void()> WithdrawableReply(std::span<const KeyView> keys, Reply reply,
                                                   const AnswerLevel& level) = 0;

  /// For Scan. Reads a page of a store that scans in byte order and has every change that was
  /// answered. Answers on the strand, after the call has returned.
  virtual void ScanStore(std::string cursor, std::size_t limit, Store::ScanHandler handler) = 0;
  /// For Scan. Replaces the state that a store has by the one in memory, if there is one. Returns
  /// false if it may not be shown, so that Get must find the newest one.
  [[nodiscard]] virtual bool Renew(ScannedKey& key) const = 0;

 private:
  struct Scanning;
  void ScanFrom(std::shared_ptr<Scanning> scanning, std::string cursor);
  void OnScanned(std::shared_ptr<Scanning> scanning, ScanResult result);
  void Finish(std::shared_ptr<Scanning> scanning);
  void OnGot(const std::shared_ptr<Scanning>& scanning, std::size_t index, ErrorCode ec,
             const Entry& entry);
};

}  // namespace stout::inline v1
