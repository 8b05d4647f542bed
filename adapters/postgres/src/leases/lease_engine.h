#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "lease_schema.h"
#include "stout/adapters/error_log.h"
#include "stout/adapters/lease_pool.h"
#include "stout/adapters/postgres_leases.h"
#include "stout/feed.h"

namespace stout {

// The connections of a lease service, and its watch. All of it runs on a strand; it outlives the
// service until its coroutines have ended.
class PostgresLeases::Engine : public std::enable_shared_from_this<Engine> {
 public:
  using Handler = std::function<void(const postgres::Outcome&)>;
  // Each kind has a connection of its own, so that renewals wait for nothing. Changes wait for each
  // other's locks. Reads include the watch.
  enum class Kind { kRenewal, kChange, kRead };

  Engine(postgres::LeaseSchema schema, const postgres::TableNames& names,
         const PostgresLeasesOptions& options, const boost::asio::any_io_executor& executor);

  // All from any thread.
  // One transaction, durable if it is answered kOk. kTransient: no connection, or too much waits
  // already.
  void Submit(Kind kind, std::vector<postgres::Query> queries, const Handler& handler);
  // As Submit, for queries that change nothing.
  void Ask(std::vector<postgres::Query> queries, const Handler& handler);
  [[nodiscard]] LeaseService::Watch WatchTable(LeaseService::TableHandler handler);
  [[nodiscard]] LeaseService::Watch WatchRecords(Registry::TableHandler handler);
  // The records that the rows of `schema().records` have.
  [[nodiscard]] RegistryTable ReadRecords(const PGresult* rows) const;
  void Close();

  [[nodiscard]] const postgres::LeaseSchema& schema() const { return settings_->schema; }
  [[nodiscard]] const postgres::TableNames& names() const { return names_; }
  [[nodiscard]] const PostgresOptions& options() const { return settings_->options; }
  [[nodiscard]] const PostgresLeasesOptions& lease_options() const { return lease_options_; }
  [[nodiscard]] const boost::asio::any_io_executor& executor() const { return executor_; }

 private:
  using Pool = ConnectionPool<postgres::Connection>;
  // Connections refer to it.
  struct Settings {
    postgres::LeaseSchema schema;
    PostgresOptions options;
  };

  // Returns true if `queries` need the next number, and it is lost. They then granted nothing, and
  // changed no record.
  [[nodiscard]] bool LacksNumber(const std::vector<postgres::Query>& queries,
                                 const postgres::Outcome& outcome);
  // False: too much waits already, and `handler` is not called.
  [[nodiscard]] bool Run(Kind kind, std::vector<postgres::Query> queries, Handler handler);
  void Poll();
  void PollLater(Duration pause);

  const std::shared_ptr<const Settings> settings_;
  const postgres::TableNames names_;
  const PostgresLeasesOptions lease_options_;
  const boost::asio::any_io_executor executor_;
  const boost::asio::any_io_executor strand_;
  std::shared_ptr<Pool> renewals_;
  std::shared_ptr<Pool> changes_;
  std::shared_ptr<Pool> reads_;
  Feed<LeaseTable> leases_;
  Feed<RegistryTable> records_;

  // On the strand.
  ErrorLog errors_;
  boost::asio::steady_timer timer_;
  bool watched_ = false;          // true since the first watch
  bool records_watched_ = false;  // the same, of records
  bool polling_ = false;          // A look at the table is on its way.
  bool again_ = false;            // Something was changed since it was sent.
  bool closed_ = false;
};

}  // namespace stout
