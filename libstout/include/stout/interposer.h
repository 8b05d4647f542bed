#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "stout/completion.h"
#include "stout/core/batch.h"
#include "stout/core/options.h"
#include "stout/core/state_source.h"
#include "stout/core/stats.h"
#include "stout/error.h"
#include "stout/key_list.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// Receives each key that is refused. It is a function of `(KeyView, ErrorCode)` or of
/// `(KeyView, ErrorCode, const Diagnostics&)`, whose message gives the reason as text.
class RefusedHandler : public UniqueFunction<void(KeyView, ErrorCode, const Diagnostics&)> {
 public:
  RefusedHandler() = default;
  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, RefusedHandler> &&
           std::is_invocable_v<std::decay_t<F>&, KeyView, ErrorCode, const Diagnostics&>)
      RefusedHandler(F&& f)  // NOLINT(google-explicit-constructor): a lambda is a function
      : UniqueFunction(std::forward<F>(f)) {}
  template <typename F>
  requires(std::is_invocable_v<std::decay_t<F>&, KeyView, ErrorCode> &&
           !std::is_invocable_v<std::decay_t<F>&, KeyView, ErrorCode, const Diagnostics&>)
      RefusedHandler(F&& f)  // NOLINT(google-explicit-constructor): a lambda is a function
      : UniqueFunction([f = std::forward<F>(f)](KeyView key, ErrorCode ec,
                                                const Diagnostics&) mutable { f(key, ec); }) {}
};

/// The functions that an application gives to its interposer. All run on the interposer's strand.
struct Application {
  /// Writes the newest state of a key, or reports that it is gone. It is called when a batch is
  /// formed, once for any number of changes. Must not call the interposer. An exception refuses the
  /// key with kNotSerialized, and on_refused gets its text. Required: opening fails without it.
  UniqueFunction<Serialized(KeyView key, std::string& value)> serialize{};
  /// The store will never take this state of this key: restore the durable one. Do not restore it
  /// if IsDirty() is true, because then a newer change waits and may still succeed. It runs before
  /// the replies that fail because of this key. May be empty.
  RefusedHandler on_refused{};
  /// Another server owns the keys of a lane: drop all state of it. May be empty.
  UniqueFunction<void(LaneId)> on_fenced{};
  /// The store answered kLost: it may lack writes that it acknowledged. The interposer has stopped
  /// for good: open the store anew, and make another. Runs once, before the replies that fail with
  /// kLost. May be empty.
  UniqueFunction<void()> on_lost{};
};

/// Stands between an application's state in memory and its store.
///
///     Interposer interposer(executor, store, MakeApplication(), options);
///     ...
///     if (interposer.MarkDirty(key)) state[key] += 1;              // mark, change, in one turn
///     interposer.SafeReply(key, [](ErrorCode ec) { Answer(ec); }); // answer once it is durable
///
/// Changes are collapsed and written in batches. A reply runs once each key that it names is
/// durable, at least at the version that it had when SafeReply was called.
///
/// Units: stout::Duration. Policies see a TimePoint of Unix time. It is read from the system clock
///   once, when the interposer is made, and then follows the steady clock: see types.h.
/// Owner: an Asio I/O object, neither copied nor moved. It refers to `store`, which must outlive
///   it; otherwise the next use aborts with one line. The executor's context must outlive the
///   store. Its destructor calls Close(): destroy it on get_executor(), or while the context does
///   not run. Handlers that still wait when the context is destroyed do not run. The thread that
///   destroys the context destroys them.
/// Threads: call the members on get_executor(), which is a strand. AsyncOpen, AsyncOpenOwned,
///   AsyncOpenScope, trouble() and get_executor() may be called from any thread. Changes, replies,
///   fetches, flushes, drains, closing and IsDirty abort with one line if called off the strand.
///   Handlers run on their own executor, by default the strand, never inside the call that took
///   them.
/// Errors: codes of stout::Errc. The only exception is std::bad_alloc.
/// Cancellation: `terminal` and `partial` complete each Async call at once with operation_aborted,
///   see completion.h. A cancelled reply or flush leaves the engine. A cancelled fetch, drain or
///   opening releases its handler at once; the rest of it stays until the store answers.
/// Paper: Stout (ATC'10), "Overlapped Request Processing", "Staying Safe: Consistency".
class Interposer {
 public:
  using Executor = boost::asio::strand<boost::asio::any_io_executor>;
  using Reply = UniqueFunction<void(ErrorCode)>;
  using FetchHandler = UniqueFunction<void(ErrorCode, StoredState)>;

  /// Requires options that suit the store, see Check(), and Application::serialize. Otherwise
  /// opening fails with kBadOptions, and trouble() is the reason.
  Interposer(const boost::asio::any_io_executor& executor, Store& store, Application application,
             EngineOptions options = {});
  /// As above, on the user's strand: several interposers then share it.
  struct OnStrand {};
  Interposer(OnStrand, const Executor& strand, Store& store, Application application,
             EngineOptions options = {});
  Interposer(const Interposer&) = delete;
  Interposer& operator=(const Interposer&) = delete;
  ~Interposer();

  /// Returns nullopt if `options` suit a store of these traits, otherwise one line with the remedy.
  [[nodiscard]] static std::optional<std::string> Check(const EngineOptions& options,
                                                        const StoreTraits& traits);

  [[nodiscard]] Executor get_executor() const;

  /// Returns nullopt if this interposer can be opened, otherwise one line with the cause and the
  /// remedy. Any thread.
  [[nodiscard]] const std::optional<std::string>& trouble() const;

  /// Takes a fresh epoch from the store; call it first. `void(ErrorCode)`.
  /// Errors: kBadOptions, which is final; the store's error; kUnknown if the store does not answer
  /// within LaneOptions::attempt_timeout. After the last two, the call may be repeated, except
  /// after kLost.
  template <typename Token>
  auto AsyncOpen(Token&& token) {
    return Async<void(ErrorCode)>(&Interposer::Open, std::forward<Token>(token));
  }
  void Open(Reply done);
  /// Opens as the owner of `scope`, not empty, under a lease's fencing token: Store::Fence, then
  /// OpenWithEpoch. From then on no write of a former owner takes effect, also if it was sent
  /// earlier. `void(ErrorCode)`.
  /// Errors: as AsyncOpen; kFenced, which is final, if there is a newer owner. Also kBadOptions if
  /// it is open, or is being opened, under another scope or epoch.
  /// If the store has no fences (StoreTraits::fences), a late write of a former owner can still
  /// reach a key that this owner has not written.
  template <typename Token>
  auto AsyncOpenOwned(Scope scope, Epoch epoch, Token&& token) {
    return Initiate<void(ErrorCode)>([this, scope = std::move(scope), epoch](
                                         Reply done) { OpenOwned(scope, epoch, std::move(done)); },
                                     get_executor(), std::forward<Token>(token));
  }
  void OpenOwned(Scope scope, Epoch epoch, Reply done);
  /// Opens as the owner of `scope`, not empty, under a fresh epoch of the store: AsyncOpen and then
  /// AsyncOpenOwned, with their errors. Use it if no lease service decides which server owns the
  /// scope. The last server that opens it is the owner; batches of the former owner end with
  /// kFenced.
  template <typename Token>
  auto AsyncOpenScope(Scope scope, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, scope = std::move(scope)](Reply done) { OpenScope(scope, std::move(done)); },
        get_executor(), std::forward<Token>(token));
  }
  void OpenScope(Scope scope, Reply done);
  /// Opens under the caller's epoch, for example one that several shards share. The epoch must be
  /// new, because versions begin at 1 again. Under an epoch that an earlier incarnation used, the
  /// store would take changes for repetitions and drop them.
  /// Errors: kBadOptions; kClosed or kFenced after Close() or Fence().
  ErrorCode OpenWithEpoch(Epoch epoch);
  /// As OpenWithEpoch, as the owner of `scope`, which the caller has fenced under this epoch.
  ErrorCode OpenFenced(Scope scope, Epoch epoch);

  /// Records that `key` changes in this turn. `bytes` is the size of its state for the limits.
  /// Returns the stamp under which the change will be durable.
  /// Errors: kPushedBack, kTooLarge beyond max_dirty_bytes, kDraining, kClosed, kFenced,
  /// kLost. After an error nothing was recorded: mark before you change, or undo the change.
  /// The call allocates nothing in the steady state. The turn that it schedules costs one small
  /// allocation in Asio, for any number of calls.
  Result<Stamp> MarkDirty(KeyView key, std::size_t bytes = 0);
  /// As MarkDirty, under a version of the caller's counter, which several interposers share. It
  /// must be larger than every earlier version of the key's lane.
  Result<Stamp> MarkDirtyAs(KeyView key, std::size_t bytes, Version version);
  /// Returns the error that MarkDirty would return, or kOk.
  [[nodiscard]] Errc Admits(KeyView key, std::size_t bytes) const;

  /// Runs `reply` exactly once: when the keys are durable, or when one of them cannot become
  /// durable. If none of the keys is dirty it runs at once, but not inside this call.
  void SafeReply(KeyView key, Reply reply);
  void SafeReply(std::span<const KeyView> keys, Reply reply);
  /// As SafeReply. The returned function withdraws the reply, which then does not run unless it is
  /// about to. Call that function on any thread while the context exists. It is empty if there is
  /// no reply to withdraw.
  UniqueFunction<void()> WithdrawableReply(std::span<const KeyView> keys, Reply reply);

  /// SafeReply with a completion token: `void(ErrorCode)`.
  template <typename Token>
  auto AsyncSafeReply(KeyList keys, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, keys = std::move(keys)](Reply reply) {
          return WithdrawableReply(keys.views(), std::move(reply));
        },
        get_executor(), std::forward<Token>(token));
  }

  /// Fetches the newest state of a key: the application's own while it is not durable, otherwise
  /// the store's. Fetches of one key share a read, and reads are batched.
  /// `void(ErrorCode, StoredState)`.
  /// The state may not be durable yet, so answer through SafeReply, called in the same turn. In a
  /// later turn the state may have been refused, and SafeReply would not wait for it.
  template <typename Token>
  auto AsyncFetch(KeyView key, const FetchOptions& options, Token&& token);
  template <typename Token>
  auto AsyncFetch(KeyView key, Token&& token) {
    return AsyncFetch(key, FetchOptions(), std::forward<Token>(token));
  }
  void Fetch(KeyView key, const FetchOptions& options, FetchHandler handler);
  void Fetch(KeyView key, FetchHandler handler) { Fetch(key, FetchOptions(), std::move(handler)); }

  /// Sends all dirty keys without further delay, keys in retry included. Completes when they are
  /// durable or cannot become durable. `void(ErrorCode)`.
  template <typename Token>
  auto AsyncFlush(Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this](Reply done) { return WithdrawableFlush(std::move(done)); }, get_executor(),
        std::forward<Token>(token));
  }
  void Flush(Reply done);
  /// As Flush, but sends nothing earlier than without it.
  void Barrier(Reply done);

  /// Takes no new change, flushes, and completes when nothing is dirty and no reply waits.
  /// `void(ErrorCode)`. To bound it, call Close() from a timer: the drain then ends with kClosed.
  template <typename Token>
  auto AsyncDrain(Token&& token) {
    return Async<void(ErrorCode)>(&Interposer::Drain, std::forward<Token>(token));
  }
  void Drain(Reply done);

  /// Sends nothing more; every waiting reply fails with kClosed. Idempotent.
  void Close();

  /// Call it when another server owns the keys: sends nothing more, fails every reply with kFenced.
  void Fence();

  /// Returns true while a change of this key is not yet durable.
  [[nodiscard]] bool IsDirty(KeyView key) const;
  /// Returns true if any key is dirty.
  [[nodiscard]] bool HasDirtyKeys() const;
  /// Returns true if no key is dirty and no fetch waits.
  [[nodiscard]] bool IsIdle() const;
  /// Returns the time since the store last answered a batch of reads or writes with success, or
  /// since the opening.
  [[nodiscard]] Duration SinceRead() const;
  [[nodiscard]] Duration SinceWrite() const;
  /// Returns ReadResult::queue of the last batch of reads that succeeded.
  [[nodiscard]] std::size_t ReadQueue() const;

  [[nodiscard]] Epoch epoch() const;
  [[nodiscard]] EngineStats Stats() const;

 private:
  class Impl;

  UniqueFunction<void()> WithdrawableFlush(Reply done);

  template <typename Signature, typename Token>
  auto Async(void (Interposer::*start)(UniqueFunction<Signature>), Token&& token) {
    return Initiate<Signature>(
        [this, start](UniqueFunction<Signature> done) { (this->*start)(std::move(done)); },
        get_executor(), std::forward<Token>(token));
  }

  std::shared_ptr<Impl> impl_;  // shared with the store's and the timer's pending handlers
};

template <typename Token>
auto Interposer::AsyncFetch(KeyView key, const FetchOptions& options, Token&& token) {
  return Initiate<void(ErrorCode, StoredState)>(
      [this, key = std::string(key), options](FetchHandler handler) {
        Fetch(key, options, std::move(handler));
      },
      get_executor(), std::forward<Token>(token));
}

}  // namespace stout::inline v1
