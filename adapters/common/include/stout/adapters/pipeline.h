#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "stout/adapters/connection_pool.h"
#include "stout/require.h"
#include "stout/unique_function.h"

namespace stout {

/// Requests to one server. While all connections are at work, requests wait. The next connection
/// that is free sends the requests that wait in one round trip. The ranges of a node have many
/// small batches, which cost less together.
///
/// `Request` has these members:
///
///     std::size_t bytes;  // about what it adds to a round trip, with its answer
///     bool alone;         // its round trip must have no other requests
///
/// Owner: refers to the pool, which may be used for other calls as well.
/// Threads: Submit() any. Handlers run on the pool's strand, or in a Submit() that the pool
/// refuses.
///
/// Errors: a request that was not sent gets the answer `not_sent`. If `run` throws, the answer is
/// `unknown`. If a handler throws, the other handlers run nevertheless.
template <typename Connection, typename Request, typename Answer>
class Pipeline {
 public:
  using Pool = ConnectionPool<Connection>;
  using Requests = std::span<const Request* const>;
  /// Sends requests in one round trip, and returns an answer for each.
  using Run =
      std::function<boost::asio::awaitable<std::vector<Answer>>(Connection&, Requests requests)>;
  using Handler = UniqueFunction<void(Answer)>;

  struct Options {
    std::size_t max_queue;  ///< requests that wait or run, at most
    Answer not_sent;
    Answer unknown;
  };

  Pipeline(std::shared_ptr<Pool> pool, Run run, Options options)
      : state_(std::make_shared<State>(std::move(pool), std::move(run), std::move(options))) {}
  Pipeline(Pipeline&&) noexcept = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    if (state_) (void)state_->TakeAll();
  }

  /// `handler` is destroyed without a call if the pool is closed, or this is destroyed, before the
  /// request is sent.
  void Submit(Request request, Handler handler) {
    if (!state_->Add(request, handler)) return handler(state_->options.not_sent);
    SubmitJob(state_);
  }

 private:
  struct Waiting {
    Request request;
    Handler handler;
    Answer answer;
  };

  /// A guess: larger round trips save little.
  static constexpr std::size_t kMostBytes = 65536;

  class State {
   public:
    State(std::shared_ptr<Pool> pool, Run run, Options options)
        : pool(std::move(pool)), run(std::move(run)), options(std::move(options)) {}

    /// Takes both, unless too much waits.
    [[nodiscard]] bool Add(Request& request, Handler& handler) {
      const std::lock_guard lock(mutex_);
      if (count_ >= options.max_queue) return false;
      waiting_.push_back({std::move(request), std::move(handler), options.not_sent});
      ++count_;
      return true;
    }
    [[nodiscard]] bool Waits() {
      const std::lock_guard lock(mutex_);
      return !waiting_.empty();
    }
    /// Returns true if a job must be submitted.
    [[nodiscard]] bool NeedsJob() {
      const std::lock_guard lock(mutex_);
      return !waiting_.empty() && !std::exchange(has_job_, true);
    }
    /// A job has begun. Takes the oldest requests: all that may go together, or one if there is
    /// another connection for the next.
    [[nodiscard]] std::list<Waiting> Take(bool one) {
      const std::lock_guard lock(mutex_);
      std::list<Waiting> taken;
      std::size_t bytes = 0;
      while (!waiting_.empty()) {
        const Request& next = waiting_.front().request;
        const bool joins = !one && !next.alone && bytes + next.bytes <= kMostBytes;
        if (!taken.empty() && (!joins || taken.front().request.alone)) break;
        bytes += next.bytes;
        taken.splice(taken.end(), waiting_, waiting_.begin());
      }
      has_job_ = false;
      return taken;
    }
    [[nodiscard]] std::list<Waiting> TakeAll() {
      const std::lock_guard lock(mutex_);
      has_job_ = false;
      return std::exchange(waiting_, {});
    }
    void Done(std::size_t requests) {
      const std::lock_guard lock(mutex_);
      count_ -= requests;
    }

    const std::shared_ptr<Pool> pool;
    const Run run;
    const Options options;

   private:
    std::mutex mutex_;  // guards the rest
    std::list<Waiting> waiting_;
    bool has_job_ = false;   // the pool has a job that has not begun
    std::size_t count_ = 0;  // requests that wait or run
  };

  /// For the requests that wait, unless there is a job already.
  static void SubmitJob(const std::shared_ptr<State>& state) {
    if (!state->NeedsJob()) return;
    bool taken = false;
    std::exception_ptr thrown;
    try {
      // The job is weak: requests need not be sent after the store has ended.
      taken = state->pool->Submit(
          [weak = std::weak_ptr(state)](Connection* with) { return Send(weak, with); });
    } catch (...) {
      thrown = std::current_exception();
    }
    if (!taken) AnswerAll(*state, state->TakeAll(), thrown);
  }

  static boost::asio::awaitable<void> Send(std::weak_ptr<State> weak, Connection* with) {
    const std::shared_ptr<State> state = weak.lock();
    if (state == nullptr) co_return;
    std::list<Waiting> sent = state->Take(with != nullptr && state->pool->HasIdle());
    if (sent.empty()) co_return;
    const auto strand = co_await boost::asio::this_coro::executor;
    std::exception_ptr thrown;
    try {
      // The next job begins after this one, so that requests are sent in their order.
      if (state->Waits()) boost::asio::post(strand, [state] { SubmitJob(state); });
      if (with != nullptr) {
        std::vector<const Request*> requests;
        for (Waiting& each : sent) {
          each.answer = state->options.unknown;
          requests.push_back(&each.request);
        }
        std::vector<Answer> answers = co_await state->run(*with, requests);
        internal::Require(answers.size() == sent.size(), "a pipeline needs all answers");
        auto answer = answers.begin();
        for (Waiting& each : sent) each.answer = std::move(*answer++);
      }
    } catch (...) {
      thrown = std::current_exception();
    }
    AnswerAll(*state, std::move(sent), thrown);
  }

  /// Throws what a handler throws, or else `thrown`.
  static void AnswerAll(State& state, std::list<Waiting> requests, std::exception_ptr thrown) {
    state.Done(requests.size());
    for (Waiting& each : requests) {
      try {
        each.handler(std::move(each.answer));
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  std::shared_ptr<State> state_;
};

}  // namespace stout
