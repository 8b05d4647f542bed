#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "connection_parameters.h"
#include "libpq.h"
#include "stout/adapters/error_log.h"
#include "stout/adapters/postgres_store.h"
#include "stout/adapters/time_limit.h"

namespace stout::postgres {

// The outcome of a round trip.
struct Outcome {
  // kOk: committed. kRefused: rolled back, because the server will never take one of the rows.
  // kTransient: rolled back, or never sent. kUnknown: the connection was lost before the answer.
  Errc errc = Errc::kOk;
  std::string message{};
  std::string sqlstate{};            // of the first query that failed
  std::vector<ResultPtr> results{};  // one per query, up to the first that failed
};

// A process of the server. A later process may have the same pid, but not the same start time.
struct ServerProcess {
  std::int64_t pid = 0;
  std::int64_t started_us = 0;
};

// Server processes that may still run a lost connection's queries and hold its locks. The next new
// connection ends them. All connections that share this list are on one strand.
using FormerProcesses = std::vector<ServerProcess>;

// The state that the connections of a pool share, on one strand. All pools of a store share one
// error log.
struct SharedState {
  FormerProcesses former;
  std::shared_ptr<ErrorLog> errors = std::make_shared<ErrorLog>();
};

// A connection to a primary, in libpq's pipeline mode.
//
// Threads: its coroutines run one at a time, on the executor's strand, and must have ended before
// it is destroyed.
class Connection {
 public:
  // Connect() prepares `statements`. They and `options` must outlive the connection.
  // `lock_timeout`: the longest wait of a query for a lock; <= options.timeout.
  Connection(const PostgresOptions& options, Duration lock_timeout,
             std::vector<const Statement*> statements, const boost::asio::any_io_executor& strand,
             std::shared_ptr<SharedState> shared = std::make_shared<SharedState>());

  // Connects, prepares the statements and the session, and ends former processes. Returns an empty
  // string, or the error. It is also an error if the server is a standby, or if
  // PostgresOptions::connections commits of former processes still wait for a synchronous standby,
  // because each new connection could add one.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();
  // Returns false if there is no connection or it has broken, possibly while it was idle.
  [[nodiscard]] bool Usable();

  // Sends all queries together and waits for all answers. This takes one round trip. It is one
  // transaction, unless the queries begin or end one themselves. If PostgresOptions::prepare is
  // false, each transaction makes the settings that a session would have.
  [[nodiscard]] boost::asio::awaitable<Outcome> Run(std::span<const Query> queries);
  // As Run(), in the transaction that an earlier Run() began.
  [[nodiscard]] boost::asio::awaitable<Outcome> Continue(std::span<const Query> queries);
  // As Run(), but asks first whether the server is a standby. If so, it ignores the other answers,
  // drops the connection and returns kTransient. Behind a pooler a connection may reach a standby
  // at any time. The question comes first, because a standby may be promoted during the queries.
  [[nodiscard]] boost::asio::awaitable<Outcome> RunOnPrimary(std::vector<Query> queries);

  // The largest epoch that the server is known to remember. It is 0 after Connect(), because the
  // server may have lost data, or be another one. If PostgresOptions::prepare is false, it is
  // always 0, because a pooler may exchange the server at any time.
  [[nodiscard]] Epoch noted_epoch() const { return options_.prepare ? noted_epoch_ : 0; }
  void Noted(Epoch epoch) { noted_epoch_ = std::max(noted_epoch_, epoch); }

  // Ends the connection; Connect() makes a new one. Requires that no query is running.
  void Drop();

  // Ends the connection for good. Coroutines that wait end as if the connection was lost.
  void Close();

 private:
  using WaitType = boost::asio::posix::stream_descriptor::wait_type;

  [[nodiscard]] boost::asio::awaitable<std::string> ConnectTo(Target target);
  [[nodiscard]] boost::asio::awaitable<std::string> Handshake();
  [[nodiscard]] boost::asio::awaitable<Outcome> Prepare();
  // Finds out which server process is ours, and ends the former ones. Returns an empty string, or
  // the error.
  [[nodiscard]] boost::asio::awaitable<std::string> Introduce();
  [[nodiscard]] bool Send(const Query& query);
  // Reads all answers up to the end of the transaction.
  [[nodiscard]] boost::asio::awaitable<Outcome> Receive(std::size_t commands);
  // Sends unsent data and waits until PQgetResult() does not block. Returns false if no answer can
  // come any more.
  [[nodiscard]] boost::asio::awaitable<bool> AwaitAnswer(const TimeLimit& limit);
  // Return false if the time limit has passed or Close() was called.
  [[nodiscard]] boost::asio::awaitable<bool> Wait(WaitType type, const TimeLimit& limit);
  [[nodiscard]] boost::asio::awaitable<bool> WaitBoth(const TimeLimit& limit);
  // When the time is over, the waits for the socket end.
  [[nodiscard]] TimeLimit Limit(Duration timeout);
  [[nodiscard]] Outcome Lost();
  // Decides the outcome once all answers have arrived.
  [[nodiscard]] Outcome Settle(Outcome outcome);
  void Log(std::string_view sqlstate, std::string_view message);
  void LogLate();
  static void OnNotice(void* self, const PGresult* notice);
  [[nodiscard]] bool WatchSocket();

  const PostgresOptions& options_;
  const std::string lock_timeout_ms_;  // in binary format
  const std::vector<const Statement*> statements_;
  boost::asio::posix::stream_descriptor socket_;  // a duplicate: libpq closes its own
  ConnectionPtr connection_;
  const std::shared_ptr<SharedState> shared_;
  ServerProcess process_;     // pid 0: unknown, for example behind a pooler
  std::string unreplicated_;  // the server's warning since the last outcome
  Epoch noted_epoch_ = 0;
  bool closed_ = false;
};

}  // namespace stout::postgres
