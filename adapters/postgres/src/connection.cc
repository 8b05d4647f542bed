#include "connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "stout/adapters/no_throw.h"

namespace stout::postgres {
namespace {

namespace asio = boost::asio;
using asio::experimental::awaitable_operators::operator||;

constexpr int kBinary = 1;

// $1 int8: milliseconds. A client that has given up, or has died without a word, is to hold no
// locks for long, nor wait for any. A fence is not seen by transactions that see the past. Without
// warnings an unreplicated commit looks like success: see OnNotice().
const Statement kSession = {"",
                            "SELECT set_config('lock_timeout', $1::int8 || 'ms', false), "
                            "set_config('default_transaction_isolation', 'read committed', false), "
                            "set_config('client_min_messages', 'warning', false), "
                            "set_config('tcp_keepalives_idle', '10', false), "
                            "set_config('tcp_keepalives_interval', '5', false), "
                            "set_config('tcp_keepalives_count', '3', false)",
                            {Type::kInt8}};

// The same behind a pooler, for one transaction. The first must come before any SELECT. It is no
// SET LOCAL, which warns outside of BEGIN, and yet no later transaction keeps what it sets.
const Statement kIsolation = {"", "SET transaction_isolation = 'read committed'", {}};
const Statement kLockTimeout = {"",
                                "SELECT set_config('lock_timeout', $1::int8 || 'ms', true), "
                                "set_config('client_min_messages', 'warning', true)",
                                {Type::kInt8}};

const Statement kInRecovery = {"stout_in_recovery", "SELECT pg_is_in_recovery()::int4::int8", {}};

// $1 int8[], $2 int8[]: former processes, by number and start. Returns a row for each that waits
// for a standby, and ends the others: an ended wait would show rows that no standby has. A last row
// has this process. A process of another role shows no start, and so cannot be ended by mistake.
const Statement kIntroduce = {
    "",
    R"(SELECT a.pid::int8, f.us FROM unnest($1::int8[], $2::int8[]) AS f (pid, us)
CROSS JOIN LATERAL pg_stat_get_activity(f.pid::int4) AS a
CROSS JOIN LATERAL pg_stat_get_activity(pg_backend_pid()) AS mine
WHERE a.usesysid = mine.usesysid AND (extract(epoch FROM a.backend_start) * 1000000)::int8 = f.us
AND CASE WHEN a.wait_event = 'SyncRep' THEN true ELSE NOT pg_terminate_backend(a.pid) END
UNION ALL SELECT pg_backend_pid()::int8, (extract(epoch FROM mine.backend_start) * 1000000)::int8
FROM pg_stat_get_activity(pg_backend_pid()) AS mine)",
    {Type::kInt8Array, Type::kInt8Array}};

// A write was asked of a standby, or of a role or database that is set to read only.
constexpr std::string_view kReadOnly = "25006";

// Operator intervention that ends the connection: shutdown, crash, a dropped database.
bool EndsConnection(std::string_view sqlstate) { return sqlstate.starts_with("57P"); }

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

std::string ErrorOf(const PGconn* connection) {
  const std::string_view text = TrimRight(PQerrorMessage(connection));
  return text.empty() ? "no answer" : std::string(text);
}

std::vector<Oid> OidsOf(const Statement& statement) {
  std::vector<Oid> oids;
  for (const Type type : statement.parameters) oids.push_back(static_cast<Oid>(type));
  return oids;
}

std::vector<const Statement*> AndInRecovery(std::vector<const Statement*> statements) {
  statements.push_back(&kInRecovery);
  return statements;
}

struct FreeParsed {
  void operator()(PQconninfoOption* parsed) const { PQconninfoFree(parsed); }
};

// Without the detail, which may show the values of a row.
std::string_view PrimaryMessage(const ResultPtr& result) {
  const char* const message = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
  return message == nullptr ? "" : message;
}

std::string SqlstateOf(const ResultPtr& result) {
  const char* const state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  return state == nullptr ? "" : state;
}

std::string Milliseconds(Duration duration) {
  return Int8(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Errc ClassifyRefusal(std::string_view error) {
  // A server that is there and will not have us says FATAL; libpq gives no number for it.
  const auto says = [error](std::string_view text) { return error.find(text) != error.npos; };
  // The last four are pgbouncer's.
  constexpr std::array<std::string_view, 7> kForNow = {
      "database system is", "too many",           "remaining connection slots",
      "server_login_retry", "query_wait_timeout", "cannot connect to server",
      "no more connections"};
  const bool for_good = says("FATAL") && std::none_of(kForNow.begin(), kForNow.end(), says);
  return for_good ? Errc::kBadUrl : Errc::kTransient;
}

std::string WhyNoConnection(const std::string& connection) {
  constexpr std::array<std::string_view, 3> kTargets = {"read-write", "primary", "any"};
  char* why = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeParsed> parsed(
      PQconninfoParse(connection.c_str(), &why));
  const std::string error = why == nullptr ? "" : why;
  PQfreemem(why);
  if (parsed == nullptr) return error.empty() ? "out of memory" : error;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (std::string_view(option->keyword) != "target_session_attrs") continue;
    if (option->val == nullptr || std::count(kTargets.begin(), kTargets.end(), option->val) > 0) {
      continue;
    }
    return fmt::format(
        "target_session_attrs is {}: a standby may lack acknowledged writes; use read-write",
        option->val);
  }
  return {};
}

std::size_t RowsTouched(const ResultPtr& result) {
  const std::string_view count = PQcmdTuples(result.get());
  std::size_t rows = 0;
  std::from_chars(count.data(), count.data() + count.size(), rows);
  return rows;
}

bool FoundNoPrimary(std::string_view error) {
  return error.find("session is read-only") != error.npos ||
         error.find("server is in hot standby mode") != error.npos;
}

ConnectionParameters::ConnectionParameters(const PostgresOptions& options, Target target)
    : connection_(options.connection),
      timeout_(fmt::format(
          "{}",
          std::max<std::int64_t>(2, std::chrono::ceil<std::chrono::seconds>(options.connect_timeout)
                                        .count()))),  // libpq takes less for 2 s, too
      keywords_{"target_session_attrs", "connect_timeout", "fallback_application_name",
                "client_encoding",      "dbname",          nullptr},
      values_{"read-write", timeout_.c_str(), "libstout", "UTF8", connection_.c_str(), nullptr} {
  if (target == Target::kByLogin) return;
  // The URL may have a value too. The last one counts.
  keywords_.insert(keywords_.end() - 1, "target_session_attrs");
  values_.insert(values_.end() - 1, "any");
}

Connection::Connection(const PostgresOptions& options, Duration lock_timeout,
                       std::vector<const Statement*> statements,
                       const asio::any_io_executor& strand, std::shared_ptr<SharedState> shared)
    : options_(options),
      lock_timeout_ms_(Milliseconds(lock_timeout)),
      statements_(AndInRecovery(std::move(statements))),
      socket_(strand),
      shared_(std::move(shared)) {}

bool Connection::Usable() {
  // A server that ends sends a message first. The next look finds the end itself.
  PGconn* const connection = connection_.get();
  return connection != nullptr && PQconsumeInput(connection) == 1 && PQisBusy(connection) == 0 &&
         PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK;
}

void Connection::Close() {
  closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

asio::awaitable<std::string> Connection::Connect() {
  std::string error = co_await ConnectTo(Target::kByLogin);
  if (FoundNoPrimary(error)) error = co_await ConnectTo(Target::kByQuestion);
  co_return error;
}

asio::awaitable<std::string> Connection::ConnectTo(Target target) {
  const ConnectionParameters parameters(options_, target);
  connection_.reset(PQconnectStartParams(parameters.keywords(), parameters.values(), 1));
  if (connection_ == nullptr) co_return "out of memory";
  PQsetNoticeReceiver(connection_.get(), OnNotice, this);
  std::string error = co_await Handshake();
  if (error.empty() && (PQsetnonblocking(connection_.get(), 1) != 0 ||
                        PQenterPipelineMode(connection_.get()) != 1)) {
    error = "libpq cannot pipeline";
  }
  if (error.empty() && options_.prepare) error = (co_await Prepare()).message;
  if (error.empty()) error = co_await Introduce();
  if (!error.empty()) Drop();
  co_return error;
}

asio::awaitable<std::string> Connection::Handshake() {
  const TimeLimit limit = Limit(options_.connect_timeout);
  auto phase = PGRES_POLLING_WRITING;
  while (phase != PGRES_POLLING_OK) {
    if (phase == PGRES_POLLING_FAILED || PQstatus(connection_.get()) == CONNECTION_BAD) {
      co_return ErrorOf(connection_.get());
    }
    // The socket changes where a host has several addresses.
    const auto type = phase == PGRES_POLLING_READING ? WaitType::wait_read : WaitType::wait_write;
    if (!WatchSocket() || !co_await Wait(type, limit)) {
      co_return fmt::format("no connection within {} ms",
                            options_.connect_timeout / std::chrono::milliseconds(1));
    }
    phase = PQconnectPoll(connection_.get());
  }
  co_return WatchSocket() ? std::string() : "no file descriptor is left";
}

asio::awaitable<Outcome> Connection::Prepare() {
  for (const Statement* statement : statements_) {
    const std::vector<Oid> types = OidsOf(*statement);
    if (PQsendPrepare(connection_.get(), statement->name.c_str(), statement->sql.c_str(),
                      static_cast<int>(types.size()), types.data()) != 1) {
      co_return Lost();
    }
  }
  const Query session{&kSession, {lock_timeout_ms_}};
  if (!Send(session) || PQpipelineSync(connection_.get()) != 1) co_return Lost();
  co_return co_await Receive(statements_.size() + 1);
}

asio::awaitable<std::string> Connection::Introduce() {
  FormerProcesses former = std::exchange(shared_->former, {});
  Array pids(Type::kInt8);
  Array starts(Type::kInt8);
  pids.Add(std::int64_t{0});  // An array that is sent is not empty.
  starts.Add(std::int64_t{0});
  for (const ServerProcess& process : former) {
    pids.Add(process.pid);
    starts.Add(process.started_us);
  }
  std::vector<Query> queries(1, Query{&kIntroduce});
  queries[0].parameters = {pids.Slice(0, pids.size()), starts.Slice(0, starts.size())};
  const Outcome outcome = co_await RunOnPrimary(std::move(queries));
  if (connection_ == nullptr) {
    shared_->former.insert(shared_->former.end(), former.begin(), former.end());
    co_return outcome.message;
  }
  // If the server does not show its processes to this role, none is ended.
  if (outcome.errc != Errc::kOk) co_return "";
  const PGresult* const rows = outcome.results[0].get();
  const int mine = PQntuples(rows) - 1;
  for (int row = 0; row < mine; ++row) {
    shared_->former.push_back(
        {DecodeInt8(PQgetvalue(rows, row, 0)), DecodeInt8(PQgetvalue(rows, row, 1))});
  }
  if (shared_->former.size() >= options_.connections) {
    co_return fmt::format("{} abandoned commits still wait for a synchronous standby",
                          shared_->former.size());
  }
  if (mine < 0) co_return "";
  const std::int64_t pid = DecodeInt8(PQgetvalue(rows, mine, 0));
  // A pooler has numbers of its own. Its server processes are not ours to end.
  if (pid == PQbackendPID(connection_.get()) && PQgetisnull(rows, mine, 1) == 0) {
    process_ = {pid, DecodeInt8(PQgetvalue(rows, mine, 1))};
  }
  co_return "";
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
  const std::vector<Oid> types = OidsOf(statement);
  return PQsendQueryParams(connection_.get(), statement.sql.c_str(), count, types.data(),
                           values.data(), lengths.data(), formats.data(), kBinary) == 1;
}

// Each command is answered with its results and a null pointer. The answer to PQpipelineSync()
// comes last. Behind a command that failed, all others answer that they were passed over.
asio::awaitable<Outcome> Connection::Receive(std::size_t commands) {
  const TimeLimit limit = Limit(options_.timeout);
  bool separated = false;  // By the null pointer behind a command's results.
  Outcome outcome;
  outcome.results.reserve(commands);
  while (true) {
    if (!co_await AwaitAnswer(limit)) co_return Lost();
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
        outcome.message = TrimRight(PQresultErrorMessage(result.get()));
        Log(outcome.sqlstate, PrimaryMessage(result));
        if (EndsConnection(outcome.sqlstate)) co_return Settle(std::move(outcome));
        break;
    }
  }
}

// libpq may not yet have sent to the server all that it was given.
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
    // It may have come between a commit and its answer.
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
  if (message.find(kFencedBy) != message.npos) return;  // no error: see fence.h
  const auto line = shared_->errors->Line(sqlstate,
                                          fmt::format("postgres: SQLSTATE {}: {}: {}", sqlstate,
                                                      message, ExplainSqlstate(sqlstate).remedy),
                                          std::chrono::steady_clock::now());
  if (line) spdlog::warn("{}", *line);
}

// A commit whose wait for a synchronous standby was cancelled is answered with success, after a
// warning. Its text is localised and its SQLSTATE is that of any warning; the function that sends
// it is neither.
void Connection::OnNotice(void* self, const PGresult* notice) {
  const char* const function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (function == nullptr || std::string_view(function) != "SyncRepWaitForLSN") return;
  const char* const message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  static_cast<Connection*>(self)->unreplicated_ = message == nullptr ? "no text" : message;
}

Outcome Connection::Lost() {
  Outcome outcome{.errc = Errc::kUnknown, .message = ErrorOf(connection_.get())};
  if (process_.pid != 0) shared_->former.push_back(process_);
  Drop();
  return outcome;
}

// The server learns that it is alone only when the duplicate is closed, too.
void Connection::Drop() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  connection_.reset();
  process_ = {};
  unreplicated_.clear();
}

bool Connection::WatchSocket() {
  boost::system::error_code ec;
  socket_.close(ec);
  const int copy = ::fcntl(PQsocket(connection_.get()), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  socket_.assign(copy, ec);
  if (ec) ::close(copy);
  return !ec;
}

}  // namespace stout::postgres
