#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "../connection.h"
#include "stout/unique_function.h"

namespace stout::postgres {

// Runs transactions one after the other, on a connection that is made when it is needed. All of it
// on a strand.
class TransactionQueue {
 public:
  using Handler = UniqueFunction<void(Outcome)>;

  // `options` and `statements` must outlive it.
  TransactionQueue(const PostgresOptions& options, std::vector<const Statement*> statements,
                   const boost::asio::any_io_executor& strand);

  // From any thread. `owner` lives until the queue has ended.
  void Start(std::shared_ptr<void> owner);
  // Each query is durable with the others or not done at all. kTransient: no connection, or too
  // much waits already.
  void Submit(std::vector<Query> queries, Handler handler);
  // Ends the connection. What waits is dropped.
  void Close();

 private:
  struct Transaction {
    std::vector<Query> queries;
    Handler handler;
  };

  boost::asio::awaitable<void> Work();
  boost::asio::awaitable<bool> Connect();
  void FailAll();

  const boost::asio::any_io_executor strand_;
  Connection connection_;
  boost::asio::steady_timer idle_;
  std::deque<Transaction> waiting_;
  std::string last_error_;  // What the log has been told.
  bool closed_ = false;
};

}  // namespace stout::postgres
