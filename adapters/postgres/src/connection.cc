#include "connection.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <string_view>
#include <utility>

#include "array.h"
#include "sql_errors.h"
#include "stout/adapters/no_throw.h"

namespace stout::postgres {
namespace {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;

constexpr int kBinary = 1;

// The settings of kSession for one transaction, because behind a pooler a session is not ours.
// kIsolation must come before any SELECT. SET LOCAL would warn outside of BEGIN. SET TRANSACTION
// does not, and later transactions do not keep its setting either.
const Statement kIsolation = {"", "SET transaction_isolation = 'read committed'", {}};
const Statement kLockTimeout = {"",
                                "SELECT set_config('lock_timeout', $1::int8 || 'ms', true), "
                                "set_config('client_min_messages', 'warning', true)",
                                {Type::kInt8}};

const Statement kInRecovery = {"stout_in_recovery", "SELECT pg_is_in_recovery()::int4::int8", {}};

// The SQLSTATE of a write to a standby, or under a role or database that is set to read only.
constexpr std::string_view kReadOnly = "25006";

// SQLSTATEs of operator intervention that ends the connection: shutdown, crash, dropped database.
bool EndsConnection(std::string_view sqlstate) { return sqlstate.starts_with("57P"); }

std::vector<const Statement*> AndInRecovery(std::vector<const Statement*> statements) {
  statements.push_back(&kInRecovery);
  return statements;
}

std::string Milliseconds(Duration duration) {
  return Int8(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Connection::Connection(const PostgresOptions& options, Duration lock_timeout,
                       std::vector<const Statement*> statements,
                       const asio::any_io_executor& strand, std::shared_ptr<SharedState> shared)
    : options_(options),
      lock_timeout_ms_(Milliseconds(lock_timeout)),
      statements_(AndInRecovery(std::move(statements))),
      socket_(strand),
      shared_(std::move(shared)) {}

bool Connection::Usable() {
  // A server that shuts down sends a message first. The second read then finds the end of the
  // stream.
  PGconn* const connection = connection_.get();
  return connection != nullptr && PQconsumeInput(connection) == 1 && PQisBusy(connection) == 0 &&
         PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK;
}

void Connection::Close() {
  closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<Outcome> Connection::RunOnPrimary(std::vector<Query> queries) {
  queries.insert(queries.begin(), Query{&kInRecovery});
  Outcome outcome = co_await Run(queries);
  if (outcome.results.empty()) co_return outcome;
  if (DecodeInt8(PQgetvalue(outcome.results[0].get(), 0, 0)) == 1) {
    Drop();
    co_return Outcome{.errc = Errc::kTransient, .message = "the server is a standby"};
  }
  outcome.results.erase(outcome.results.begin());
  co_return outcome;
}

asio::awaitable<Outcome> Connection::Run(std::span<const Query> queries) {
  if (options_.prepare) co_return co_await Continue(queries);
  constexpr std::size_t kSettings = 2;
  std::vector<Query> with_settings(kSettings, Query{&kIsolation});
  with_settings[1] = {&kLockTimeout, {lock_timeout_ms_}};
  with_settings.insert(with_settings.end(), queries.begin(), queries.end());
  Outcome outcome = co_await Continue(with_settings);
  const auto end = outcome.results.begin() +
                   static_cast<std::ptrdiff_t>(std::min(kSettings, outcome.results.size()));
  outcome.results.erase(outcome.results.begin(), end);
  co_return outcome;
}

asio::awaitable<Outcome> Connection::Continue(std::span<const Query> queries) {
  const bool sent = std::all_of(queries.begin(), queries.end(),
                                [this](const Query& query) { return Send(query); });
  if (!sent || PQpipelineSync(connection_.get()) != 1) co_return Lost();
  co_return co_await Receive(queries.size());
}

bool Connection::Send(const Query& query) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const std::string& parameter : query.parameters) {
    values.push_back(parameter.data());
    lengths.push_back(static_cast<int>(parameter.size()));
  }
  const std::vector<int> formats(values.size(), kBinary);
  const int count = static_cast<int>(values.size());
  const Statement& statement = *query.statement;
  if (options_.prepare && !statement.name.empty()) {
    return PQsendQueryPrepared(connection_.get(), statement.name.c_str(), count, values.data(),
                               lengths.data(), formats.data(), kBinary) == 1;
  }
  const std::vector<Oid> types = TypesOf(statement);
  return PQsendQueryParams(connection_.get(), statement.sql.c_str(), count, types.data(),
                           values.data(), lengths.data(), formats.data(), kBinary) == 1;
}

// libpq returns the results of each command, then a null pointer. The answer to PQpipelineSync()
// comes last. After a command that failed, each later one answers PGRES_PIPELINE_ABORTED.
asio::awaitable<Outcome> Connection::Receive(std::size_t commands) {
  const TimeLimit limit = Limit(options_.timeout);
  bool separated = false;  // by the null pointer after a command's results
  Outcome outcome;
  outcome.results.reserve(commands);
  while (true) {
    if (!co_await AwaitAnswer(limit)) {
      if (limit.passed() && !closed_) LogLate();
      co_return Lost();
    }
    ResultPtr result(PQgetResult(connection_.get()));
    if (result == nullptr) {
      if (separated || PQstatus(connection_.get()) != CONNECTION_OK) co_return Lost();
      separated = true;
      continue;
    }
    separated = false;
    switch (PQresultStatus(result.get())) {
      case PGRES_PIPELINE_SYNC:
        co_return Settle(std::move(outcome));
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        outcome.results.push_back(std::move(result));
        break;
      case PGRES_PIPELINE_ABORTED:
        break;
      default:
        outcome.sqlstate = SqlstateOf(result);
        outcome.errc = ExplainSqlstate(outcome.sqlstate).blame == Blame::kRow ? Errc::kRefused
                                                                              : Errc::kTransient;
        outcome.message = MessageOf(result);
        Log(outcome.sqlstate, PrimaryMessageOf(result));
        if (EndsConnection(outcome.sqlstate)) co_return Settle(std::move(outcome));
        break;
    }
  }
}

// libpq may still hold data that it has not sent to the server.
asio::awaitable<bool> Connection::AwaitAnswer(const TimeLimit& limit) {
  while (true) {
    const int unsent = PQflush(connection_.get());
    if (unsent < 0) co_return false;
    if (unsent == 0 && PQisBusy(connection_.get()) == 0) co_return true;
    bool ready = false;
    if (unsent > 0) {
      ready = co_await WaitBoth(limit);
    } else {
      ready = co_await Wait(WaitType::wait_read, limit);
    }
    if (!ready || PQconsumeInput(connection_.get()) != 1) co_return false;
  }
}

asio::awaitable<bool> Connection::Wait(WaitType type, const TimeLimit& limit) {
  if (closed_ || limit.passed()) co_return false;
  const auto [ec] = co_await socket_.async_wait(type, kNoThrow);
  co_return !closed_ && !ec;
}

asio::awaitable<bool> Connection::WaitBoth(const TimeLimit& limit) {
  if (closed_ || limit.passed()) co_return false;
  co_await (socket_.async_wait(WaitType::wait_read, kNoThrow) ||
            socket_.async_wait(WaitType::wait_write, kNoThrow));
  co_return !closed_ && !limit.passed();
}

TimeLimit Connection::Limit(Duration timeout) {
  return TimeLimit(socket_.get_executor(), timeout, [this] {
    boost::system::error_code ignored;
    socket_.cancel(ignored);
  });
}

Outcome Connection::Settle(Outcome outcome) {
  std::string warning = std::exchange(unreplicated_, {});
  if (EndsConnection(outcome.sqlstate)) {
    // The connection may have ended between a commit and its answer.
    outcome.errc = Errc::kUnknown;
    Drop();
  } else if (outcome.sqlstate == kReadOnly) {
    Drop();
  } else if (outcome.errc == Errc::kOk && !warning.empty()) {
    outcome.errc = Errc::kUnknown;
    outcome.message = std::move(warning);
    outcome.sqlstate = "01000";
    Log(outcome.sqlstate, outcome.message);
  }
  return outcome;
}

void Connection::Log(std::string_view sqlstate, std::string_view message) {
  if (message.find(kFencedBy) != message.npos) return;  // not an error: see fence.h
  const auto line = shared_->errors->Line(sqlstate,
                                          fmt::format("postgres: SQLSTATE {}: {}: {}", sqlstate,
                                                      message, ExplainSqlstate(sqlstate).remedy),
                                          std::chrono::steady_clock::now());
  if (line) spdlog::warn("{}", *line);
}

void Connection::LogLate() {
  const auto line =
      shared_->errors->Line("late",
                            fmt::format("postgres: no answer within {} ms",
                                        options_.timeout / std::chrono::milliseconds(1)),
                            std::chrono::steady_clock::now());
  if (line) spdlog::warn("{}", *line);
}

// If the wait of a commit for a synchronous standby is cancelled, the server sends a warning and
// then reports success. The text of the warning is localised, and its SQLSTATE is that of any
// warning. It is recognised by the name of the server function that sends it.
void Connection::OnNotice(void* self, const PGresult* notice) {
  const char* const function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (function == nullptr || std::string_view(function) != "SyncRepWaitForLSN") return;
  const char* const message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  static_cast<Connection*>(self)->unreplicated_ = message == nullptr ? "no text" : message;
}

Outcome Connection::Lost() {
  Outcome outcome{.errc = Errc::kUnknown, .message = LatestError(connection_.get())};
  if (process_.pid != 0) shared_->former.push_back(process_);
  Drop();
  return outcome;
}

// The server notices the end only when the duplicate of the socket is closed, too.
void Connection::Drop() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  connection_.reset();
  process_ = {};
  unreplicated_.clear();
}

}  // namespace stout::postgres
