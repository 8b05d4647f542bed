#pragma once

#include <memory>
#include <string>

#include "tests/support/private_server.h"
#include "tests/support/temp_directory.h"

struct pg_conn;  // libpq's

namespace stout::test {

// A private PostgreSQL on a free port of the loopback, with durable settings; its files and its
// processes are gone at the end.
class PostgresServer {
 public:
  PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  [[nodiscard]] int port() const { return port_; }
  // Of a store: "postgres://...", with the options given ("table=t&timeout=1s").
  [[nodiscard]] std::string Url(const std::string& options = {}, int port = 0) const;
  // As libpq reads it; `port`: of what stands before it.
  [[nodiscard]] std::string Connection(int port = 0) const;
  // Runs SQL as its owner, in a session of its own; see PostgresSession.
  std::string Execute(const std::string& sql) const;

  void Start();
  void Kill();                    // kill -9: what was in its memory is gone.
  void Signal(int signal) const;  // To all its processes: SIGSTOP, SIGCONT.

 private:
  void TryToStart();
  [[nodiscard]] std::string DataDirectory() const;
  [[nodiscard]] std::string Log() const;

  TempDirectory directory_;  // Goes last.
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

// A session of the server's owner, for transactions that stay open.
class PostgresSession {
 public:
  explicit PostgresSession(const PostgresServer& server);
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;
  ~PostgresSession();

  // Returns the first value of the result, or "". Throws what is wrong.
  std::string Execute(const std::string& sql);

 private:
  pg_conn* connection_;
};

}  // namespace stout::test
