#include "tests/support/postgres_server.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace stout::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr char kUser[] = "postgres";  // The server refuses to run as root.

// Debian keeps the programs of each version beside each other.
fs::path Programs() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql")) {
    if (fs::exists(entry.path() / "bin/postgres")) found.push_back(entry.path() / "bin");
  }
  if (found.empty()) throw std::runtime_error("no PostgreSQL here: apt-get install postgresql-15");
  return *std::max_element(found.begin(), found.end());
}

bool Answers(const std::string& connection) {
  PGconn* c = PQconnectdb(connection.c_str());
  const bool ok = PQstatus(c) == CONNECTION_OK;
  PQfinish(c);
  return ok;
}

}  // namespace

PostgresServer::PostgresServer() {
  if (::geteuid() == 0) RunToEnd({"chown", kUser, directory_.path()});
  RunToEnd({(Programs() / "initdb").string(), "-D", DataDirectory(), "--username", kUser, "--auth",
            "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C"},
           kUser);
  // Another may take the port between our look and the server's.
  for (int i = 0; i < 20 && !process_; ++i) {
    port_ = FreePort();
    TryToStart();
  }
  if (!process_) throw std::runtime_error("PostgreSQL does not start: " + Log());
}

PostgresServer::~PostgresServer() { Kill(); }

void PostgresServer::Start() {
  TryToStart();
  if (!process_) throw std::runtime_error("PostgreSQL does not start again: " + Log());
}

void PostgresServer::TryToStart() {
  const std::string& directory = directory_.path();
  process_ = std::make_unique<Process>(
      std::vector<std::string>{(Programs() / "postgres").string(), "-D", DataDirectory(), "-p",
                               std::to_string(port_), "-c", "listen_addresses=127.0.0.1", "-c",
                               "unix_socket_directories=" + directory, "-c", "shared_buffers=32MB",
                               "-c", "max_connections=64"},
      directory + "/log", kUser);
  // By its own socket, which no other server has.
  const std::string connection = "host=" + directory + " port=" + std::to_string(port_) +
                                 " user=" + kUser + " dbname=postgres";
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!Answers(connection)) {
    if (!process_->Running() || std::chrono::steady_clock::now() > deadline) {
      process_.reset();
      return;
    }
    std::this_thread::sleep_for(20ms);
  }
}

std::string PostgresServer::DataDirectory() const { return directory_.path() + "/data"; }

std::string PostgresServer::Log() const {
  std::stringstream text;
  text << std::ifstream(directory_.path() + "/log").rdbuf();
  return text.str();
}

void PostgresServer::Kill() { process_.reset(); }

void PostgresServer::Signal(int signal) const { process_->SignalAll(signal); }

std::string PostgresServer::Url(const std::string& options, int port) const {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port == 0 ? port_ : port) + "/postgres" +
         (options.empty() ? "" : "?" + options);
}

std::string PostgresServer::Connection(int port) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port == 0 ? port_ : port) +
         "/postgres?connect_timeout=5";
}

std::string PostgresServer::Execute(const std::string& sql) const {
  return PostgresSession(*this).Execute(sql);
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
