#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>

#include "connection.h"
#include "row_faults.h"
#include "schema.h"
#include "stout/adapters/connection_pool.h"
#include "stout/adapters/postgres_store.h"

namespace stout {

// The state that a store's calls need until they have ended, which may be after the store. It has
// connections that write and connections that read, on one strand, and the collection of
// tombstones.
class PostgresStore::Engine : public std::enable_shared_from_this<Engine> {
 public:
  using Pool = ConnectionPool<postgres::Connection>;
  using Job = Pool::Job;
  enum class Kind { kWrite, kRead };

  Engine(PostgresOptions options, postgres::Schema schema,
         const boost::asio::any_io_executor& executor);

  // From any thread. False: too much waits already, and the job is not run.
  [[nodiscard]] bool Submit(Kind kind, Job job);
  // From any thread: ends all connections. Jobs that wait are dropped.
  void Close();

  [[nodiscard]] const postgres::Schema& schema() const { return settings_->schema; }
  [[nodiscard]] Duration timeout() const { return settings_->options.timeout; }

  // On the strand.
  postgres::RowFaults faults;
  // On the strand: the fences that this store has raised, by scope.
  std::map<Scope, Epoch> fences;

 private:
  // Connections refer to it.
  struct Settings {
    PostgresOptions options;
    postgres::Schema schema;
  };

  void StartCollecting();
  boost::asio::awaitable<void> CollectTombstones();

  const std::shared_ptr<const Settings> settings_;
  const boost::asio::any_io_executor strand_;
  std::shared_ptr<Pool> writers_;
  std::shared_ptr<Pool> readers_;

  // On the strand.
  boost::asio::steady_timer collect_timer_;
  bool collecting_ = false;
  bool closed_ = false;
};

}  // namespace stout
