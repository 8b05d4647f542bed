#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "connection.h"
#include "schema.h"
#include "stout/adapters/postgres_store.h"
#include "stout/unique_function.h"

namespace stout {

// The connections of a store, and the calls that wait for one. All of it runs on a strand; it
// outlives its store until the coroutines have ended.
class PostgresStore::Engine : public std::enable_shared_from_this<Engine> {
 public:
  // What a call does with a connection; null: there is none.
  using Job = UniqueFunction<boost::asio::awaitable<void>(postgres::Connection*)>;
  enum class Kind { kWrite, kRead };

  Engine(PostgresOptions options, postgres::Schema schema,
         const boost::asio::any_io_executor& executor);

  // From any thread. False: too much waits already, and the job is not run.
  [[nodiscard]] bool Submit(Kind kind, Job job);
  // From any thread: ends all connections. Jobs that wait are dropped.
  void Close();

  [[nodiscard]] const postgres::Schema& schema() const { return schema_; }
  [[nodiscard]] Duration timeout() const { return options_.timeout; }

  // On the strand: the largest epoch that the server is known to remember.
  Epoch noted_epoch = 0;

 private:
  // Workers take jobs in turn, the one that was idle last first, so that as few connections are
  // open as the load needs.
  struct Pool {
    std::size_t most;
    std::size_t workers = 0;
    std::size_t working = 0;  // Of them, those with a connection that are at a job.
    std::deque<Job> waiting{};
    std::vector<boost::asio::steady_timer*> idle{};
  };

  void Admit(Pool& pool, Job job);
  boost::asio::awaitable<void> Work(Pool& pool);
  boost::asio::awaitable<bool> Connect(postgres::Connection& connection);
  boost::asio::awaitable<void> CollectTombstones();

  const PostgresOptions options_;
  const postgres::Schema schema_;
  const boost::asio::any_io_executor strand_;
  std::atomic<std::size_t> calls_{0};  // Waiting or running.

  // On the strand.
  Pool writers_;
  Pool readers_;
  std::vector<postgres::Connection*> connections_;
  boost::asio::steady_timer collect_timer_;
  bool collecting_ = false;
  bool closed_ = false;
  std::size_t failures_ = 0;  // To connect, in a row.
  std::chrono::steady_clock::time_point retry_at_{};
  std::string last_error_;  // What the log has been told.
};

}  // namespace stout
