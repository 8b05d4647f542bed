#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

#include "array.h"
#include "connection.h"
#include "connection_parameters.h"

// How a connection is made: login, session settings, and the end of former server processes.

namespace stout::postgres {
namespace {

namespace asio = boost::asio;

// The settings of a session. $1 int8: milliseconds. Reasons:
// - lock_timeout and keepalives: a client that gave up or died must not hold locks for long, nor
//   wait for them;
// - read committed: a transaction that reads an old snapshot would not see a fence;
// - warnings: without them, a commit that was not replicated looks like success, see OnNotice().
const Statement kSession = {"",
                            "SELECT set_config('lock_timeout', $1::int8 || 'ms', false), "
                            "set_config('default_transaction_isolation', 'read committed', false), "
                            "set_config('client_min_messages', 'warning', false), "
                            "set_config('tcp_keepalives_idle', '10', false), "
                            "set_config('tcp_keepalives_interval', '5', false), "
                            "set_config('tcp_keepalives_count', '3', false)",
                            {Type::kInt8}};

// $1 int8[], $2 int8[]: pids and start times of former processes. Returns a row for each process
// that waits for a standby, and ends the others. To end such a wait would show rows that no standby
// has. The last row is this process. A process of another role shows no start time, so it cannot be
// ended by mistake.
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

// Returns the number of hosts that libpq tries one after the other. They are in the connection
// string, in a service file or in the environment.
std::ptrdiff_t CountHosts(PGconn* connection) {
  const ParametersPtr parameters(PQconninfo(connection));
  std::ptrdiff_t commas = 0;
  for (const auto* p = parameters.get(); p != nullptr && p->keyword != nullptr; ++p) {
    const std::string_view keyword = p->keyword;
    const std::string_view value = p->val == nullptr ? "" : p->val;
    if (keyword != "host" && keyword != "hostaddr") continue;
    commas = std::max(commas, std::count(value.begin(), value.end(), ','));
  }
  return commas + 1;
}

}  // namespace

asio::awaitable<std::string> Connection::Connect() {
  noted_epoch_ = 0;
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

// libpq goes on to the next address if one refuses, but not if one is silent, because
// PQconnectPoll() has no time limit. Therefore the socket of a silent address is shut down, which
// libpq takes for a refusal. This is done while TCP connects, and not for the last host. Each
// address has the time that is left, divided by the number of its host and the hosts after it.
asio::awaitable<std::string> Connection::Handshake() {
  const auto start = std::chrono::steady_clock::now();
  const TimeLimit limit = Limit(options_.connect_timeout);
  std::ptrdiff_t hosts = CountHosts(connection_.get());  // after `host`
  const char* host = nullptr;                            // libpq has one pointer for each host
  int silent = 0;
  auto phase = PGRES_POLLING_WRITING;
  while (phase != PGRES_POLLING_OK) {
    if (phase == PGRES_POLLING_FAILED || PQstatus(connection_.get()) == CONNECTION_BAD) {
      const std::string error = LatestError(connection_.get());
      if (silent == 0) co_return error;
      co_return fmt::format("{}\naddresses without an answer, shown as reset: {}", error, silent);
    }
    if (std::exchange(host, PQhost(connection_.get())) != PQhost(connection_.get())) {
      hosts = std::max<std::ptrdiff_t>(hosts - 1, 0);
    }
    const Duration left = options_.connect_timeout - (std::chrono::steady_clock::now() - start);
    const TimeLimit turn(socket_.get_executor(), left / (hosts + 1), [this, hosts, &silent] {
      if (hosts == 0 || PQstatus(connection_.get()) != CONNECTION_STARTED) return;
      ::shutdown(PQsocket(connection_.get()), SHUT_RDWR);
      ++silent;
    });
    // The socket changes with the address.
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
    const std::vector<Oid> types = TypesOf(*statement);
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
  pids.Add(std::int64_t{0});  // because an array must not be empty
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
  // If the server does not show its processes to this role, no process is ended.
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
  // A pooler reports pids of its own, and its server processes are not ours to end.
  if (pid == PQbackendPID(connection_.get()) && PQgetisnull(rows, mine, 1) == 0) {
    process_ = {pid, DecodeInt8(PQgetvalue(rows, mine, 1))};
  }
  co_return "";
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
