#include "tests/support/postgres_server.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "tests/support/eventually.h"

namespace stout::test {
namespace {

namespace fs = std::filesystem;

// Debian keeps the programs of each version beside each other.
fs::path Programs() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql")) {
    if (fs::exists(entry.path() / "bin/postgres")) found.push_back(entry.path() / "bin");
  }
  if (found.empty()) throw std::runtime_error("no PostgreSQL here: apt-get install postgresql-15");
  return *std::max_element(found.begin(), found.end());
}

// The files of a new server. To copy them takes a twentieth of the time of initdb.
fs::path Template() {
  return fs::path(STOUT_BINARY_DIR) / ("postgres-" + Programs().parent_path().filename().string());
}

void Copy(const fs::path& from, const fs::path& to) {
  RunToEnd({"cp", "--archive", from.string(), to.string()});
}

// No test makes a database. Without the templates for that, a server has a third of the files.
void DropTemplates(const fs::path& files) {
  RunToEnd(
      {"sh", "-c",
       "printf '%s\\n' 'UPDATE pg_database SET datistemplate = false' 'DROP DATABASE template0' "
       "'DROP DATABASE template1' | \"$0\" --single -D \"$1\" postgres",
       (Programs() / "postgres").string(), files.string()},
      kPostgresUser);
}

// The first one wins if several processes do this at once.
void MakeTemplate(const fs::path& files) {
  const fs::path copy = Template().concat("." + std::to_string(::getpid()));
  Copy(files, copy);
  std::error_code exists;
  fs::rename(copy, Template(), exists);
  if (exists) fs::remove_all(copy);
}

}  // namespace

PostgresServer::PostgresServer() : PrivateServer("PostgreSQL", kPostgresUser) {
  if (fs::exists(Template())) {
    Copy(Template(), DataDirectory());
  } else {
    RunToEnd({(Programs() / "initdb").string(), "-D", DataDirectory(), "--username", kPostgresUser,
              "--auth", "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C"},
             kPostgresUser);
    DropTemplates(DataDirectory());
    MakeTemplate(DataDirectory());
  }
  StartOnFreePort();
}

PostgresServer::PostgresServer(StandbyOf of) : PrivateServer("PostgreSQL", kPostgresUser) {
  RunToEnd({(Programs() / "pg_basebackup").string(), "-D", DataDirectory(), "--no-sync",
            "--checkpoint=fast", "--write-recovery-conf", "-d", of.primary.Connection()},
           kPostgresUser);
  StartOnFreePort();
}

void PostgresServer::Detach(const PostgresServer& primary) const {
  const std::string position = primary.Execute("SELECT pg_current_wal_lsn()");
  const auto holds = [this](const std::string& condition) {
    return Eventually([&] { return Execute("SELECT " + condition) == "t"; });
  };
  const bool caught_up = holds("pg_last_wal_replay_lsn() >= '" + position + "'");
  PostgresSession session(*this);
  session.Execute("ALTER SYSTEM SET primary_conninfo = ''");
  session.Execute("SELECT pg_reload_conf()");
  if (!caught_up || !holds("count(*) = 0 FROM pg_stat_wal_receiver")) {
    throw std::runtime_error("the standby does not come to rest: " + Log());
  }
}

void PostgresServer::Promote() const {
  if (Execute("SELECT pg_promote()") != "t") {
    throw std::runtime_error("the standby is not promoted: " + Log());
  }
}

void PostgresServer::Demote() const {
  RunToEnd({"touch", DataDirectory() + "/standby.signal"}, kPostgresUser);
}

std::vector<std::string> PostgresServer::Command() const {
  // clang-format off
  return {(Programs() / "postgres").string(), "-D", DataDirectory(), "-p", std::to_string(port()),
          "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + directory(),
          "-c", "shared_buffers=32MB", "-c", "max_connections=64"};
  // clang-format on
}

// By its own socket, which no other server has.
bool PostgresServer::Answers() const {
  return CanConnect("host=" + directory() + " port=" + std::to_string(port()) +
                    " user=" + kPostgresUser + " dbname=postgres");
}

std::string PostgresServer::DataDirectory() const { return directory() + "/data"; }

std::string PostgresServer::Url(const std::string& options, int port) const {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port == 0 ? this->port() : port) +
         "/postgres" + (options.empty() ? "" : "?" + options);
}

std::string PostgresServer::Connection(int port) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port == 0 ? this->port() : port) +
         "/postgres?connect_timeout=5";
}

void PostgresServer::MakeCommitsWaitFor(const std::string& name) const {
  PostgresSession session(*this);
  session.Execute("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'");
  session.Execute("SELECT pg_reload_conf()");
  if (!Eventually([&] { return Execute("SHOW synchronous_standby_names") == name; })) {
    throw std::runtime_error("the configuration is not read: " + Log());
  }
  // Commits wait only after the checkpointer has read the setting. It does so before it begins a
  // checkpoint. The first one may have begun already.
  for (int i = 0; i < 2; ++i) Execute("CHECKPOINT");
}

std::string PostgresServer::Execute(const std::string& sql) const {
  return PostgresSession(*this).Execute(sql);
}

bool CanConnect(const std::string& connection) {
  PGconn* c = PQconnectdb(connection.c_str());
  const bool ok = PQstatus(c) == CONNECTION_OK;
  PQfinish(c);
  return ok;
}

PostgresSession::PostgresSession(const PostgresServer& server)
    : connection_(PQconnectdb(server.Connection().c_str())) {}

PostgresSession::~PostgresSession() { PQfinish(connection_); }

std::string PostgresSession::Execute(const std::string& sql) {
  PGresult* result = PQexec(connection_, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  const bool any = PQntuples(result) > 0 && PQnfields(result) > 0;
  std::string value = any ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(PQerrorMessage(connection_));
  }
  return value;
}

}  // namespace stout::test
