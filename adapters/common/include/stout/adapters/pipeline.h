#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stout/adapters/connection_pool.h"
#include "stout/adapters/waiting_requests.h"
#include "stout/require.h"
#include "stout/unique_function.h"

namespace stout {

/// Requests to one server. While all connections are at work, requests wait. The next connection
/// that is free sends the requests that wait in one round trip. The ranges of a node have many
/// small batches, which cost less together.
///
/// `Request`: as WaitingRequests needs it.
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

  Pipeline(std::shared_ptr<Pool> pool, Run run, const Options& options)
      : state_(std::make_shared<State>(std::move(pool), std::move(run), options)) {}
  Pipeline(Pipeline&&) noexcept = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    if (state_) (void)state_->waiting.TakeAll();
  }

  /// `handler` is destroyed without a call if the pool is closed, or this is destroyed, before the
  /// request is sent.
  void Submit(Request request, Handler handler) {
    if (!state_->waiting.Add(request, handler)) return handler(state_->options.not_sent);
    SubmitJob(state_);
  }

 private:
  using Waiting = WaitingRequests<Request, Answer>;

  /// A guess: larger round trips save little.
  static constexpr std::size_t kMaxBytes = 65536;

  struct State {
    State(std::shared_ptr<Pool> used, Run sends, const Options& chosen)
        : pool(std::move(used)),
          run(std::move(sends)),
          options(chosen),
          waiting({chosen.max_queue, kMaxBytes, chosen.not_sent}) {}

    const std::shared_ptr<Pool> pool;
    const Run run;
    const Options options;
    Waiting waiting;
  };

  /// For the requests that wait, unless there is a job already.
  static void SubmitJob(const std::shared_ptr<State>& state) {
    if (!state->waiting.NeedsWorker()) return;
    bool taken = false;
    std::exception_ptr thrown;
    try {
      // The job is weak: requests need not be sent after the store has ended.
      taken = state->pool->Submit(
          [weak = std::weak_ptr(state)](Connection* with) { return Send(weak, with); });
    } catch (...) {
      thrown = std::current_exception();
    }
    if (!taken) state->waiting.AnswerAll(state->waiting.TakeAll(), thrown);
  }

  static boost::asio::awaitable<void> Send(std::weak_ptr<State> weak, Connection* with) {
    const std::shared_ptr<State> state = weak.lock();
    if (state == nullptr) co_return;
    // Only one, if another connection is free for the next.
    const bool one = with != nullptr && state->pool->HasIdle();
    typename Waiting::List sent = state->waiting.Take(one);
    if (sent.empty()) co_return;
    const auto strand = co_await boost::asio::this_coro::executor;
    std::exception_ptr thrown;
    try {
      // The next job begins after this one, so that requests are sent in their order.
      if (state->waiting.Any()) boost::asio::post(strand, [state] { SubmitJob(state); });
      if (with != nullptr) {
        std::vector<const Request*> requests;
        for (auto& each : sent) {
          each.answer = state->options.unknown;
          requests.push_back(&each.request);
        }
        std::vector<Answer> answers = co_await state->run(*with, requests);
        internal::Require(answers.size() == sent.size(), "a pipeline needs all answers");
        auto answer = answers.begin();
        for (auto& each : sent) each.answer = std::move(*answer++);
      }
    } catch (...) {
      thrown = std::current_exception();
    }
    state->waiting.AnswerAll(std::move(sent), thrown);
  }

  std::shared_ptr<State> state_;
};

}  // namespace stout
