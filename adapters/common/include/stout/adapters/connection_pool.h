#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stout/adapters/reconnection.h"
#include "stout/unique_function.h"

namespace stout {

/// Calls a function when it is destroyed.
template <typename F>
class AtExit {
 public:
  explicit AtExit(F f) : f_(std::move(f)) {}
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;
  ~AtExit() { f_(); }

 private:
  F f_;
};

/// Connections of a store to one server, opened when they are needed, and the calls that wait for
/// one. Each connection has a worker that takes calls from one queue. The worker that was idle last
/// comes first, so no more connections are open than the load needs. While there is no connection
/// at all, waiting calls fail at once.
///
/// `Connection` has these members, all on the strand:
///
///     asio::awaitable<std::string> Connect();  // empty, or what is wrong
///     bool Usable();                           // as far as is known
///     void Drop();                             // ends it; nothing of it is running
///     void Close();                            // for good: ends what is running, too
///
/// Owner: shared; it lives until its coroutines have ended, which Close() ensures.
/// Threads: Submit() and Close() any; other members are used on the strand.
/// Errors: a job or a Connect() that throws costs its connection, and is logged.
template <typename Connection>
class ConnectionPool : public std::enable_shared_from_this<ConnectionPool<Connection>> {
 public:
  /// Work that a call does with a connection; null: there is none.
  using Job = UniqueFunction<boost::asio::awaitable<void>(Connection*)>;
  using MakeConnection = UniqueFunction<std::unique_ptr<Connection>()>;

  struct Options {
    std::size_t connections;  ///< At most.
    std::size_t max_queue;    ///< Calls waiting or running, at most.
  };

  /// `reconnection` may be shared by pools of one strand that reach the same server.
  ConnectionPool(const boost::asio::any_io_executor& strand, Options options,
                 std::shared_ptr<Reconnection> reconnection, MakeConnection make)
      : strand_(strand),
        options_(options),
        reconnection_(std::move(reconnection)),
        make_(std::move(make)) {}

  /// Returns false if too many calls wait already; then the job is not run. If this thread may run
  /// the strand, the job begins within this call.
  [[nodiscard]] bool Submit(Job job) {
    if (calls_.fetch_add(1, std::memory_order_relaxed) >= options_.max_queue) {
      calls_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    boost::asio::dispatch(strand_,
                          [self = this->shared_from_this(), job = std::move(job)]() mutable {
                            self->Admit(std::move(job));
                          });
    return true;
  }

  /// Returns true if one more job could begin now. On the strand.
  [[nodiscard]] bool HasIdle() const { return at_work_.size() < options_.connections; }

  /// Returns another number after a connection was made, or one was found broken while it was idle:
  /// the server may be another one, or may have been restarted. On the strand.
  [[nodiscard]] std::uint64_t Generation() {
    generation_ += std::erase_if(idle_, IsBroken);
    return generation_;
  }

  /// Ends all connections. Jobs that wait are dropped.
  void Close() {
    boost::asio::post(strand_, [self = this->shared_from_this()] {
      self->closed_ = true;
      self->waiting_.clear();
      self->idle_.clear();
      for (Connection* connection : self->at_work_) connection->Close();
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  using ConnectionPtr = std::unique_ptr<Connection>;

  /// Text of the exception that is being handled.
  static std::string WhatWasThrown() {
    try {
      throw;
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "an exception of an unknown type";
    }
  }

  static bool IsBroken(const ConnectionPtr& idle) { return !idle->Usable(); }

  void Admit(Job job) {
    if (closed_) return;
    waiting_.push_back(std::move(job));
    if (at_work_.size() == options_.connections) return;
    ConnectionPtr connection;
    if (idle_.empty()) {
      connection = make_();
    } else {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
    at_work_.push_back(connection.get());
    boost::asio::co_spawn(
        strand_,
        [self = this->shared_from_this(), connection = std::move(connection)]() mutable {
          return self->Work(std::move(connection));
        },
        boost::asio::detached);
  }

  /// Until nothing waits.
  boost::asio::awaitable<void> Work(ConnectionPtr connection) {
    bool keep = true;
    {
      // Close() must not find a connection that an exception has destroyed.
      const AtExit leave([this, at = connection.get()] { std::erase(at_work_, at); });
      while (keep && !closed_ && !waiting_.empty()) keep = co_await TakeJob(*connection);
    }
    if (keep && !closed_) idle_.push_back(std::move(connection));
  }

  /// False: there is no connection, but another worker has one and will come to what waits.
  boost::asio::awaitable<bool> TakeJob(Connection& connection) {
    bool usable = connection.Usable();
    if (!usable) {
      // The server may have ended all. No call may come to the idle ones again.
      std::erase_if(idle_, IsBroken);
      usable = co_await Connect(connection);
    }
    if (!usable && running_ > 0) co_return false;
    if (closed_ || waiting_.empty()) co_return true;
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    const AtExit end([this] {
      --running_;
      calls_.fetch_sub(1, std::memory_order_relaxed);
    });
    try {
      co_await job(usable ? &connection : nullptr);
    } catch (...) {  // out of memory, or a handler that throws
      connection.Drop();
      reconnection_->Log(WhatWasThrown());
    }
    co_return true;
  }

  boost::asio::awaitable<bool> Connect(Connection& connection) {
    if (!reconnection_->MayTry(Clock::now())) co_return false;
    std::string error;
    try {
      error = co_await connection.Connect();
    } catch (...) {
      connection.Drop();
      error = WhatWasThrown();
    }
    if (closed_) co_return false;
    const bool connected = error.empty();
    if (connected) {
      ++generation_;
      reconnection_->Succeeded();
    } else {
      reconnection_->Failed(Clock::now(), std::move(error));
    }
    co_return connected;
  }

  const boost::asio::any_io_executor strand_;
  const Options options_;
  const std::shared_ptr<Reconnection> reconnection_;
  MakeConnection make_;
  std::atomic<std::size_t> calls_{0};  // Waiting or running.

  // On the strand. A connection is idle or at work; those at work are `options_.connections` at
  // most.
  std::deque<Job> waiting_;
  std::vector<ConnectionPtr> idle_;
  std::vector<Connection*> at_work_;
  std::size_t running_ = 0;  // Jobs.
  std::uint64_t generation_ = 0;
  bool closed_ = false;
};

}  // namespace stout
