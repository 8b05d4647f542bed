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

/// A function that receives each refused key: `(KeyView, ErrorCode)`, or
/// `(KeyView, ErrorCode, const Diagnostics&)`, where the message gives the reason as text.
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
  /// Writes the newest state of a key to `value`, or reports that the key is gone. It runs when a
  /// batch is formed, once for any number of changes, and for a fetch of a dirty key. Must not call
  /// the interposer. If it throws, the key is refused with kNotSerialized, and on_refused gets the
  /// exception's text. Required: opening fails without it.
  UniqueFunction<Serialized(KeyView key, std::string& value)> serialize{};
  /// Runs when the store will never take this state of this key. Restore the durable state, unless
  /// IsDirty() is true: then a newer change waits and may still succeed. It runs before the replies
  /// that fail because of this key. The code is kUnknown if an earlier attempt got no answer: the
  /// store may have the state, or may still get it. May be empty.
  RefusedHandler on_refused{};
  /// Runs when another server owns the keys of a lane. Drop all state of the lane. May be empty.
  UniqueFunction<void(LaneId)> on_fenced{};
  /// Runs when the store answered kLost: it may lack writes that it acknowledged. The interposer
  /// has stopped for good. Open the store anew, and make a new interposer. It runs once, before the
  /// replies that fail with kLost. May be empty.
  UniqueFunction<void()> on_lost{};
};

/// Writes an application's state in memory back to a store, and holds replies until it is durable.
///
///     Interposer interposer(executor, store, MakeApplication(), options);
///     ...
///     if (interposer.MarkDirty(key)) state[key] += 1;              // mark, change, in one turn
///     interposer.SafeReply(key, [](ErrorCode ec) { Answer(ec); }); // answer once it is durable
///
/// Any number of changes of a key before its batch cost one write. A reply runs once each key that
/// it names is durable, at least at the version that the key had when SafeReply was called.
///
/// Units: stout::Duration. Policies see Unix time: the interposer reads the system clock once, when
///   it is made, and then follows the steady clock. See TimePoint.
/// Owner: an Asio I/O object, neither copied nor moved. `store` must outlive it; otherwise the next
///   use aborts with one line. The executor's context must outlive the store. The destructor calls
///   Close(): destroy the interposer on get_executor(), or while the context does not run. The
///   thread that destroys the context destroys the handlers that still wait; they do not run.
/// Threads: call the members on get_executor(), which is a strand. AsyncOpen, AsyncOpenOwned,
///   AsyncOpenScope, trouble() and get_executor() may be called from any thread. Changes, replies,
///   fetches, flushes, drains, closing and IsDirty abort with one line if called off the strand.
///   Handlers run on their own executor, by default the strand, and never inside the call that
///   registered them.
/// Errors: codes of stout::Errc. The only exception is std::bad_alloc. Changes, replies, fetches,
///   flushes and drains that throw it have done nothing.
/// Cancellation: `terminal` and `partial` complete each Async call at once with operation_aborted,
///   see completion.h. A cancelled reply or flush leaves the engine. A cancelled fetch, drain or
///   opening releases its handler at once; its other memory stays until the store answers.
/// Paper: Stout (ATC'10), "Overlapped Request Processing", "Staying Safe: Consistency".
class Interposer {
 public:
  using Executor = boost::asio::strand<boost::asio::any_io_executor>;
  using Reply = UniqueFunction<void(ErrorCode)>;
  using FetchHandler = UniqueFunction<void(ErrorCode, StoredState)>;

  /// Requires options that suit the store (see Check) and Application::serialize. Otherwise opening
  /// fails with kBadOptions, and trouble() returns the reason.
  Interposer(const boost::asio::any_io_executor& executor, Store& store, Application application,
             EngineOptions options = {});
  /// As above, on the caller's strand, so that several interposers can share one.
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

  /// Takes a fresh epoch from the store. Call it first. `void(ErrorCode)`.
  /// Errors: kBadOptions, which is final; the store's error; kUnknown if the store does not answer
  /// within LaneOptions::attempt_timeout. After the last two, the call may be repeated, except
  /// after kLost.
  template <typename Token>
  auto AsyncOpen(Token&& token) {
    return Async<void(ErrorCode)>(&Interposer::Open, std::forward<Token>(token));
  }
  void Open(Reply done);
  /// Opens as the owner of `scope` under a lease's fencing token: Store::Fence, then OpenWithEpoch.
  /// From then on no write of a former owner takes effect, even if it was sent earlier.
  /// `scope` must not be empty. `void(ErrorCode)`.
  /// Errors: as AsyncOpen; kFenced, which is final, if there is a newer owner; kBadOptions if the
  /// interposer is open, or is being opened, under another scope or epoch.
  /// If the store has no fences (StoreTraits::fences), a late write of a former owner can still
  /// reach a key that this owner has not written.
  template <typename Token>
  auto AsyncOpenOwned(Scope scope, Epoch epoch, Token&& token) {
    return Initiate<void(ErrorCode)>([this, scope = std::move(scope), epoch](
                                         Reply done) { OpenOwned(scope, epoch, std::move(done)); },
                                     get_executor(), std::forward<Token>(token));
  }
  void OpenOwned(Scope scope, Epoch epoch, Reply done);
  /// Opens as the owner of `scope` under a fresh epoch of the store: AsyncOpen, then
  /// AsyncOpenOwned, with their errors. Use it if no lease service decides which server owns the
  /// scope. The last server that opens a scope owns it, and batches of the former owner end with
  /// kFenced.
  template <typename Token>
  auto AsyncOpenScope(Scope scope, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, scope = std::move(scope)](Reply done) { OpenScope(scope, std::move(done)); },
        get_executor(), std::forward<Token>(token));
  }
  void OpenScope(Scope scope, Reply done);
  /// Opens under the caller's epoch, for example one that several shards share. Requires a new
  /// epoch, because versions begin at 1 again: under an epoch that was used before, the store would
  /// take changes for repetitions and drop them.
  /// Errors: kBadOptions, also if it is open under another epoch or scope; kClosed or kFenced after
  /// Close() or Fence().
  ErrorCode OpenWithEpoch(Epoch epoch);
  /// As OpenWithEpoch, and as the owner of `scope`. Requires that the caller has fenced the scope
  /// under this epoch.
  ErrorCode OpenFenced(Scope scope, Epoch epoch);

  /// Records that `key` changes in this turn of the strand. `bytes` is the size of its state, for
  /// the limits. Returns the stamp under which the change will be durable.
  /// Errors: kPushedBack, kTooLarge beyond max_dirty_bytes, kDraining, kClosed, kFenced, kLost.
  /// After an error nothing was recorded: mark before you change, or undo the change.
  /// Cost: no allocation in the steady state, except one small one of Asio per turn.
  Result<Stamp> MarkDirty(KeyView key, std::size_t bytes = 0);
  /// As MarkDirty, under a version from a counter that several interposers share. Requires a
  /// version larger than every earlier one of the key's lane.
  Result<Stamp> MarkDirtyAs(KeyView key, std::size_t bytes, Version version);
  /// Returns the error that MarkDirty would return, or kOk.
  [[nodiscard]] Errc Admits(KeyView key, std::size_t bytes) const;

  /// Returns false if SafeReply would be pushed back, because max_replies wait. Ask before you
  /// change: a change without a reply cannot be confirmed. `reserved`: room that is kept for other
  /// replies.
  [[nodiscard]] bool HasReplyRoom(std::size_t reserved = 0) const;

  /// Runs `reply` exactly once: when the keys are durable, or when one of them cannot become
  /// durable. The error of a refused state is kUnknown if an attempt that got no answer may have
  /// written it. If none of the keys is dirty, the reply runs at once, but not inside this call.
  /// Call it in the turn of the change: by a later turn the store may have refused the state, and
  /// then only on_refused reports it.
  void SafeReply(KeyView key, Reply reply);
  void SafeReply(std::span<const KeyView> keys, Reply reply);
  /// As SafeReply. The returned function withdraws the reply: it then does not run, unless it is
  /// already due. Call the function on any thread while the context exists. It is empty if there is
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
  /// The state may not be durable yet, so answer through SafeReply. SafeReply does not wait for a
  /// state that the store refuses before the call; Application::on_refused reports it.
  /// Errors: kPushedBack beyond LaneOptions::max_pending_reads, kDeadline, kNotSerialized,
  /// kCorrupt; kClosed, kFenced or kLost.
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
  /// As Flush, but does not make the lanes send earlier.
  void Barrier(Reply done);

  /// Refuses new changes, flushes, and completes when no key is dirty and no reply waits.
  /// `void(ErrorCode)`: kFenced or kLost if changes may have been dropped meanwhile. A refused
  /// state is no error. To limit the time, call Close() from a timer: the drain ends with kClosed.
  template <typename Token>
  auto AsyncDrain(Token&& token) {
    return Async<void(ErrorCode)>(&Interposer::Drain, std::forward<Token>(token));
  }
  void Drain(Reply done);

  /// Sends nothing more and fails every waiting reply with kClosed. Idempotent.
  void Close();

  /// As Close, but with kFenced. Call it when another server owns the keys.
  void Fence();

  /// Returns true while a change of this key is not yet durable.
  [[nodiscard]] bool IsDirty(KeyView key) const;
  /// Returns true if any key is dirty.
  [[nodiscard]] bool HasDirtyKeys() const;
  /// Returns true if no key is dirty and no fetch waits.
  [[nodiscard]] bool IsIdle() const;
  /// Return the time since the store last answered a batch of reads (writes) with success, or since
  /// the opening.
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
