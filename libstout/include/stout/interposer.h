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

/// What an application is told of a key that is refused: a function of `(KeyView, ErrorCode)` or of
/// `(KeyView, ErrorCode, const Diagnostics&)`, whose message is the reason in words.
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

/// What an interposer asks of its application. All are called on the interposer's strand.
struct Application {
  /// Writes the newest state of a key, or reports that it is gone. Called when a batch is formed,
  /// once for any number of changes. Must not call the interposer. An exception refuses the key
  /// with kNotSerialized, and on_refused gets its text. Required: without it opening fails.
  UniqueFunction<Serialized(KeyView key, std::string& value)> serialize{};
  /// The store will never take this state of this key: restore what was durable, unless IsDirty()
  /// says that a newer change, which may fare better, waits. Runs before the replies that fail for
  /// it. May be empty.
  RefusedHandler on_refused{};
  /// Another server owns the keys of a lane: drop all state of it. May be empty.
  UniqueFunction<void(LaneId)> on_fenced{};
};

/// Stands between an application's state in memory and its store.
///
///     Interposer interposer(executor, store, MakeApplication(), options);
///     ...
///     if (interposer.MarkDirty(key)) state[key] += 1;              // mark, change, in one turn
///     interposer.SafeReply(key, [](ErrorCode ec) { Answer(ec); }); // answer once it is durable
///
/// Changes are collapsed and written in batches; a reply runs once each key that it names is
/// durable at least at the version that it had when SafeReply was called.
///
/// Units: stout::Duration. What policies see as TimePoint is Unix time as the system's clock had it
///   when the interposer was made, carried on by the steady clock: see types.h.
/// Owner: value semantics of an Asio I/O object, neither copied nor moved. Refers to `store`, which
///   must outlive it (otherwise the next use aborts with one line); the executor's context must
///   outlive the store. Destroying it is Close(): do it on get_executor(), or while the context
///   does not run. Handlers that still wait when the context is destroyed are destroyed with it,
///   unrun, by the thread that does so.
/// Threads: all members except AsyncOpen, AsyncOpenOwned, AsyncOpenScope, trouble() and
///   get_executor() must be called on get_executor(), a strand. Changes, replies, fetches and what
///   ends them abort with one line if they are not. Handlers run on their own executor, by default
///   that strand, never inside the call that took them.
/// Errors: codes of stout::Errc; nothing throws but std::bad_alloc.
/// Cancellation: `terminal` and `partial` complete each Async call at once with operation_aborted,
///   see completion.h. A reply or a flush that is abandoned leaves the engine. An abandoned fetch,
///   drain or opening has released its handler, and the rest stays until the store answers.
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
  Interposer(const Interposer&) = delete;
  Interposer& operator=(const Interposer&) = delete;
  ~Interposer();

  /// Nothing if `options` suit a store of these traits, else one line that says what to change.
  [[nodiscard]] static std::optional<std::string> Check(const EngineOptions& options,
                                                        const StoreTraits& traits);

  [[nodiscard]] Executor get_executor() const;

  /// One line that says why this interposer can never be opened and what to change; nullopt if it
  /// can. Any thread.
  [[nodiscard]] const std::optional<std::string>& trouble() const;

  /// Takes a fresh epoch from the store; the first thing to do. `void(ErrorCode)`. Fails with
  /// kBadOptions (for good), with what the store answers, or with kUnknown if that is nothing
  /// within LaneOptions::attempt_timeout; then it may be tried again.
  template <typename Token>
  auto AsyncOpen(Token&& token) {
    return Async<void(ErrorCode)>(&Interposer::Open, std::forward<Token>(token));
  }
  void Open(Reply done);
  /// Opens as the owner of `scope`, not empty, under a lease's fencing token: OpenWithEpoch after
  /// the store has shut former owners out, so that nothing that they send, or have sent, takes
  /// effect any more. `void(ErrorCode)`, as AsyncOpen; also kFenced (for good) if there is a newer
  /// owner, and kBadOptions if it is open otherwise, or about to be. Where the store has no fences
  /// (StoreTraits::fences), a late write of a former owner can still reach a key that this one has
  /// not written.
  template <typename Token>
  auto AsyncOpenOwned(Scope scope, Epoch epoch, Token&& token) {
    return Initiate<void(ErrorCode)>([this, scope = std::move(scope), epoch](
                                         Reply done) { OpenOwned(scope, epoch, std::move(done)); },
                                     get_executor(), std::forward<Token>(token));
  }
  void OpenOwned(Scope scope, Epoch epoch, Reply done);
  /// Opens as the owner of `scope`, not empty, under a fresh epoch of the store: AsyncOpen and then
  /// AsyncOpenOwned, with their errors. Use it where no lease service decides who owns the scope:
  /// the last server that opens it is the owner, and batches of the former owner end with kFenced.
  template <typename Token>
  auto AsyncOpenScope(Scope scope, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, scope = std::move(scope)](Reply done) { OpenScope(scope, std::move(done)); },
        get_executor(), std::forward<Token>(token));
  }
  void OpenScope(Scope scope, Reply done);
  /// Opens under an epoch that the caller has, say one shared by shards. It must be new: versions
  /// begin at 1 again, and under an epoch that an earlier incarnation used the store would take
  /// changes for repetitions and drop them.
  /// kBadOptions, or kClosed or kFenced if that has happened.
  ErrorCode OpenWithEpoch(Epoch epoch);

  /// Says that `key` changes in this turn. `bytes` is the size of its state for the limits.
  /// Answers the stamp under which the change will be durable. On an error (kPushedBack, kTooLarge
  /// beyond max_dirty_bytes, kDraining, kClosed, kFenced) nothing was recorded: mark before you
  /// change, or undo the change.
  /// The call allocates nothing in the steady state; the turn that it schedules costs one small
  /// allocation in Asio, whatever the number of calls before it.
  Result<Stamp> MarkDirty(KeyView key, std::size_t bytes = 0);

  /// Runs `reply` once all that it reveals is durable, or cannot be. At once (but not inside this
  /// call) if none of the keys is dirty. Exactly once.
  void SafeReply(KeyView key, Reply reply);
  void SafeReply(std::span<const KeyView> keys, Reply reply);
  /// SafeReply; the function that it returns forgets the reply, which then does not run, unless it
  /// is about to. Call that on any thread while the context exists. Empty if there is none to
  /// forget.
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

  /// The newest state of a key: the application's own while it is not durable, else the store's.
  /// Fetches of one key share a read, and reads are batched. `void(ErrorCode, StoredState)`.
  /// What it shows may not be durable: answer through SafeReply, called in the same turn, for a
  /// state that is refused later is forgotten and waits for nothing.
  template <typename Token>
  auto AsyncFetch(KeyView key, Token&& token);
  void Fetch(KeyView key, FetchHandler handler);

  /// Sends what is dirty now without further delay, keys in retry included, and completes once it
  /// is durable or cannot be. `void(ErrorCode)`.
  template <typename Token>
  auto AsyncFlush(Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this](Reply done) { return WithdrawableFlush(std::move(done)); }, get_executor(),
        std::forward<Token>(token));
  }
  void Flush(Reply done);

  /// Takes no new change, flushes, and completes when nothing is dirty and no reply waits.
  /// `void(ErrorCode)`. To bound it, Close() from a timer: the drain then ends with kClosed.
  template <typename Token>
  auto AsyncDrain(Token&& token) {
    return Async<void(ErrorCode)>(&Interposer::Drain, std::forward<Token>(token));
  }
  void Drain(Reply done);

  /// Sends nothing more; every waiting reply fails with kClosed. Idempotent.
  void Close();

  /// Another server owns the keys: sends nothing more, fails every reply with kFenced.
  void Fence();

  /// Whether a change of this key is not yet durable.
  [[nodiscard]] bool IsDirty(KeyView key) const;

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
auto Interposer::AsyncFetch(KeyView key, Token&& token) {
  return Initiate<void(ErrorCode, StoredState)>(
      [this, key = std::string(key)](FetchHandler handler) { Fetch(key, std::move(handler)); },
      get_executor(), std::forward<Token>(token));
}

}  // namespace stout::inline v1
