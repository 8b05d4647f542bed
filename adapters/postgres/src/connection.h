#pragma once

#include <libpq-fe.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array.h"
#include "sql_errors.h"
#include "stout/adapters/error_log.h"
#include "stout/adapters/postgres_store.h"
#include "stout/adapters/time_limit.h"

namespace stout::postgres {

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, FreeResult>;

struct FreeConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, FreeConnection>;

// One SQL command, prepared under its name; without a name each time anew. No SQL: there is none.
struct Statement {
  std::string name;
  std::string sql;
  std::vector<Type> parameters;
};

// One statement with its parameters.
struct Query {
  const Statement* statement;
  std::vector<std::string> parameters = {};  // In binary format.
};

// The outcome of a round trip.
struct Outcome {
  // kOk: committed. kRefused: rolled back, because the server never takes a row. kTransient: rolled
  // back, or never sent. kUnknown: the connection was lost on the way.
  Errc errc = Errc::kOk;
  std::string message{};
  std::string sqlstate{};            // of the first query that failed
  std::vector<ResultPtr> results{};  // One a query, up to the first that failed.
};

// Returns the error in PostgresOptions::connection that shows without a server, or an empty string.
[[nodiscard]] std::string WhyNoConnection(const std::string& connection);

// Returns kBadUrl if the server refused the connection for good, and kTransient otherwise.
[[nodiscard]] Errc ClassifyRefusal(std::string_view error);

// Rows inserted, updated or deleted by a query.
[[nodiscard]] std::size_t RowsTouched(const ResultPtr& result);

// How a connection finds a primary. By libpq, which passes over standbys where a host has several
// addresses, by what a server reports at login; or by our own question later. A pooler repeats what
// its server reported long ago, so a server that was promoted since is a standby to libpq.
enum class Target { kByLogin, kByQuestion };

// libpq's error: no server takes writes, by what they reported at login.
[[nodiscard]] bool FoundNoPrimary(std::string_view error);

// The parameters of a libpq connection that all of a store's have: blocking and asynchronous.
class ConnectionParameters {
 public:
  ConnectionParameters(const PostgresOptions& options, Target target);
  ConnectionParameters(const ConnectionParameters&) = delete;
  ConnectionParameters& operator=(const ConnectionParameters&) = delete;
  [[nodiscard]] const char* const* keywords() const { return keywords_.data(); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }

 private:
  std::string connection_;
  std::string timeout_;
  std::vector<const char*> keywords_;
  std::vector<const char*> values_;
};

// A process of the server. Its number may come again, but not with the same time of its start.
struct ServerProcess {
  std::int64_t pid = 0;
  std::int64_t started_us = 0;
};

// Processes of the server that may still run what a lost connection had sent, and hold its locks.
// The next connection that is made ends them. All connections that share this are on one strand.
using FormerProcesses = std::vector<ServerProcess>;

// The state that the connections of a pool share, on one strand. The pools of a store share its log
// of errors.
struct SharedState {
  FormerProcesses former;
  std::shared_ptr<ErrorLog> errors = std::make_shared<ErrorLog>();
};

// A connection to a primary in pipeline mode. Its coroutines run one at a time, on the executor's
// strand, and must have ended before it is destroyed.
class Connection {
 public:
  // `options` and `statements`, which Connect() prepares, must outlive it. `lock_timeout`: how long
  // a query waits for a lock; <= options.timeout.
  Connection(const PostgresOptions& options, Duration lock_timeout,
             std::vector<const Statement*> statements, const boost::asio::any_io_executor& strand,
             std::shared_ptr<SharedState> shared = std::make_shared<SharedState>());

  // Connects, prepares the statements and the session, and ends former processes. Empty, or what is
  // wrong. A standby is wrong, and so are `connections` commits of former processes that still wait
  // for a synchronous standby: more of them would pile up.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();
  // False: nothing has been connected, or it broke, perhaps while nobody used it.
  [[nodiscard]] bool Usable();

  // Sends the queries at once and waits for all answers: one round trip, and one transaction unless
  // the queries begin or end one themselves. If nothing is prepared, each transaction sets what a
  // session would be set to.
  [[nodiscard]] boost::asio::awaitable<Outcome> Run(std::span<const Query> queries);
  // As Run(), within the transaction that an earlier Run() began.
  [[nodiscard]] boost::asio::awaitable<Outcome> Continue(std::span<const Query> queries);
  // As Run(), after the question whether the server is a standby. If it is, the answers are not
  // used: the connection is dropped, and the outcome is kTransient. Behind a pooler a connection
  // may reach a standby at any time. The question comes first, because a standby may be promoted.
  [[nodiscard]] boost::asio::awaitable<Outcome> RunOnPrimary(std::vector<Query> queries);

  // Ends the connection, of which nothing may be running; Connect() makes a new one.
  void Drop();

  // For good: ends what waits, which then finds the connection lost.
  void Close();

 private:
  using WaitType = boost::asio::posix::stream_descriptor::wait_type;

  [[nodiscard]] boost::asio::awaitable<std::string> ConnectTo(Target target);
  [[nodiscard]] boost::asio::awaitable<std::string> Handshake();
  [[nodiscard]] boost::asio::awaitable<Outcome> Prepare();
  // Learns which process of the server is ours, and ends the former ones. Empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Introduce();
  [[nodiscard]] bool Send(const Query& query);
  // Reads all answers up to the end of the transaction.
  [[nodiscard]] boost::asio::awaitable<Outcome> Receive(std::size_t commands);
  // Sends what is left and waits until PQgetResult() does not block. False: there will be nothing.
  [[nodiscard]] boost::asio::awaitable<bool> AwaitAnswer(const TimeLimit& limit);
  // False: the time is over, or Close() was called.
  [[nodiscard]] boost::asio::awaitable<bool> Wait(WaitType type, const TimeLimit& limit);
  [[nodiscard]] boost::asio::awaitable<bool> WaitBoth(const TimeLimit& limit);
  // Ends what waits for the socket when the time is over.
  [[nodiscard]] TimeLimit Limit(Duration timeout);
  [[nodiscard]] Outcome Lost();
  // Decides the outcome once all answers are there.
  [[nodiscard]] Outcome Settle(Outcome outcome);
  void Log(std::string_view sqlstate, std::string_view message);
  static void OnNotice(void* self, const PGresult* notice);
  [[nodiscard]] bool WatchSocket();

  const PostgresOptions& options_;
  const std::string lock_timeout_ms_;  // In binary format.
  const std::vector<const Statement*> statements_;
  boost::asio::posix::stream_descriptor socket_;  // a duplicate: libpq closes its own
  ConnectionPtr connection_;
  const std::shared_ptr<SharedState> shared_;
  ServerProcess process_;     // pid 0: not known, as behind a pooler
  std::string unreplicated_;  // the server's warning since the last outcome
  bool closed_ = false;
};

}  // namespace stout::postgres
