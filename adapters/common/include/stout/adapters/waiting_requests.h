#pragma once

#include <cstddef>
#include <exception>
#include <list>
#include <mutex>
#include <utility>

#include "stout/unique_function.h"

namespace stout {

/// Requests that wait for one of several workers, in their order. A worker is a connection, or a
/// thread. It takes all requests that may go together, because they cost less together.
///
/// `Request` has these members:
///
///     std::size_t bytes;  // approximate size of the request and its answer
///     bool alone;         // it must not go together with others
///
/// At most one worker is called and has not taken requests yet. With a call for each request, most
/// workers would find nothing to take. If NeedsWorker() returned true and no worker can be called,
/// the caller must answer TakeAll().
///
/// Owner: handlers of requests that are never taken are destroyed without a call.
/// Threads: any. Handlers run in AnswerAll(), without the mutex.
template <typename Request, typename Answer>
class WaitingRequests {
 public:
  using Handler = UniqueFunction<void(Answer)>;
  struct Waiting {
    Request request;
    Handler handler;
    Answer answer;  ///< not_sent at first
  };
  using List = std::list<Waiting>;
  struct Options {
    std::size_t max_queue;  ///< requests that wait, or are taken and not answered, at most
    std::size_t max_bytes;  ///< of requests that go together; a larger request goes alone
    Answer not_sent;        ///< the answer of a request until another is set
  };

  explicit WaitingRequests(Options options) : options_(std::move(options)) {}

  /// Takes both and returns true. Returns false and takes nothing if there are too many.
  [[nodiscard]] bool Add(Request& request, Handler& handler) {
    const std::lock_guard lock(mutex_);
    if (count_ >= options_.max_queue) return false;
    waiting_.push_back({std::move(request), std::move(handler), options_.not_sent});
    ++count_;
    return true;
  }

  [[nodiscard]] bool Any() {
    const std::lock_guard lock(mutex_);
    return !waiting_.empty();
  }

  /// Returns true if the caller must call a worker, which then uses Take().
  [[nodiscard]] bool NeedsWorker() {
    const std::lock_guard lock(mutex_);
    return !waiting_.empty() && !std::exchange(called_, true);
  }

  /// Takes the oldest requests: all that may go together, or only `one`.
  [[nodiscard]] List Take(bool one = false) {
    const std::lock_guard lock(mutex_);
    List taken;
    std::size_t bytes = 0;
    while (!waiting_.empty()) {
      const Request& next = waiting_.front().request;
      const bool joins = !one && !next.alone && bytes + next.bytes <= options_.max_bytes;
      if (!taken.empty() && (!joins || taken.front().request.alone)) break;
      bytes += next.bytes;
      taken.splice(taken.end(), waiting_, waiting_.begin());
    }
    called_ = false;
    return taken;
  }

  [[nodiscard]] List TakeAll() {
    const std::lock_guard lock(mutex_);
    called_ = false;
    return std::exchange(waiting_, {});
  }

  /// Calls the handlers of requests that were taken, with their answers. If one throws, the others
  /// are called nevertheless. Then throws the last exception of a handler. If there is none, throws
  /// `thrown`, if it is set.
  void AnswerAll(List requests, std::exception_ptr thrown = {}) {
    Done(requests.size());
    for (Waiting& each : requests) {
      try {
        each.handler(std::move(each.answer));
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  void Done(std::size_t requests) {
    const std::lock_guard lock(mutex_);
    count_ -= requests;
  }

  const Options options_;
  std::mutex mutex_;  // guards the rest
  List waiting_;
  bool called_ = false;    // a worker that has taken nothing yet
  std::size_t count_ = 0;  // requests that wait or were taken
};

}  // namespace stout
