#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "stout/completion.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::docstore {

/// Bounds how long a server answers from memory after another server has taken its scope over.
///
/// A write or a fence that succeeded proves that the scope was still ours when it was sent. An
/// answer from memory needs a proof that is at most `max_age` older than its decision. If no write
/// has given one for half of that time, the fence is repeated.
///
///     if (!proof->Covers(read_at)) co_await proof->AsyncAwait(read_at, kAwait);
///
/// Units: `max_age` is the longest time for which another server may have owned the scope when an
///   answer was decided. Time for which the machine was suspended does not count.
/// Bounds: `max_waiters` answers wait at most; another one is refused.
/// Owner: shared; refers to the store, which outlives it until Stop.
/// Threads: any. `on_lost` runs on the executor, once.
/// Errors: AsyncAwait ends with kFenced if another server owns the scope, and with kClosed after
///   Stop. It ends with kUnknown if the store has proved nothing within `patience`, and with
///   kPushedBack if too many wait.
class ScopeProof : public std::enable_shared_from_this<ScopeProof> {
 public:
  using Clock = std::chrono::steady_clock;

  ScopeProof(const boost::asio::any_io_executor& executor, Duration max_age, Duration patience,
             std::size_t max_waiters);

  /// Begins to repeat the fence of `scope` under `epoch` at `store`, which has fences. Once.
  void Start(Store& store, Scope scope, Epoch epoch, UniqueFunction<void()> on_lost);
  /// Asks the store no more, and ends all that wait.
  void Stop();

  /// Notes the end of a write or a fence under the scope, which was sent at `sent`. Has no effect
  /// if `epoch` is not the one of Start. Earlier attempts to open had epochs of their own, and the
  /// last attempt fenced the others.
  void OnDone(Epoch epoch, Clock::time_point sent, ErrorCode ec);

  /// Returns true if the scope is known to have been ours at most max_age before `read`.
  [[nodiscard]] bool Covers(Clock::time_point read) const {
    return Clock::duration(proven_.load(std::memory_order_acquire)) + max_age_ >=
           read.time_since_epoch();
  }
  /// Waits until Covers(read): `void(ErrorCode)`.
  template <typename Token>
  auto AsyncAwait(Clock::time_point read, Token&& token) {
    return Initiate<void(ErrorCode)>([this, read](Done done) { Await(read, std::move(done)); },
                                     std::forward<Token>(token));
  }

 private:
  using Done = UniqueFunction<void(ErrorCode)>;
  struct Waiter {
    Clock::time_point read;
    Clock::time_point give_up;
    Done done;
  };

  void Await(Clock::time_point read, Done done);
  void Tick();
  void Ask();
  /// Ends those that are covered, late, or in vain.
  void EndWaiters(Clock::time_point now);
  /// Requires mutex_. Returns nullopt if the waiter has to wait.
  [[nodiscard]] std::optional<ErrorCode> OutcomeOf(const Waiter& waiter,
                                                   Clock::time_point now) const;

  const boost::asio::strand<boost::asio::any_io_executor> strand_;
  boost::asio::steady_timer timer_;  // on the strand
  const Clock::duration max_age_;
  const Clock::duration patience_;
  const std::size_t max_waiters_;

  std::atomic<Clock::rep> proven_ = Clock::duration::min().count() / 2;  // of the newest proof
  std::atomic<bool> waited_for_ = false;  // whether waiters_ may have any

  std::mutex mutex_;
  std::vector<Waiter> waiters_;
  std::optional<ErrorCode> over_;  // kFenced or kClosed: there will be no proof
  Store* store_ = nullptr;
  Scope scope_;
  std::atomic<Epoch> epoch_ = 0;  // 0 until Start
  Clock::time_point asked_{};
  UniqueFunction<void()> on_lost_;
};

}  // namespace stout::docstore
