#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <vector>

#include "lease_schema.h"
#include "stout/adapters/postgres_leases.h"
#include "stout/lease_feed.h"
#include "transaction_queue.h"

namespace stout {

// The connections of a lease service, and its watch. All of it runs on a strand; it outlives the
// service until its coroutines have ended.
class PostgresLeases::Engine : public std::enable_shared_from_this<Engine> {
 public:
  using Handler = postgres::TransactionQueue::Handler;
  // Changes wait for each other's locks, on a connection of their own.
  enum class Kind { kRenewal, kChange };

  Engine(postgres::LeaseSchema schema, const PostgresLeasesOptions& options,
         const boost::asio::any_io_executor& executor);

  // All from any thread.
  void Start();
  // Durable if it is answered kOk.
  void Submit(Kind kind, std::vector<postgres::Query> queries, Handler handler);
  [[nodiscard]] LeaseService::Watch WatchTable(LeaseService::TableHandler handler);
  void Close();

  [[nodiscard]] const postgres::LeaseSchema& schema() const { return schema_; }
  [[nodiscard]] const PostgresOptions& options() const { return options_; }

 private:
  void Poll();
  void PollLater(Duration pause);

  const postgres::LeaseSchema schema_;
  const PostgresOptions options_;
  const Duration poll_;
  const boost::asio::any_io_executor strand_;
  postgres::TransactionQueue renewals_;  // And the watch.
  postgres::TransactionQueue changes_;
  LeaseFeed feed_;

  // On the strand.
  boost::asio::steady_timer timer_;
  bool watched_ = false;  // Since somebody watched.
  bool polling_ = false;  // A look at the table is on its way.
  bool again_ = false;    // Something was changed since it was sent.
  bool closed_ = false;
};

}  // namespace stout
