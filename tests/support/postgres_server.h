#pragma once

#include <memory>
#include <string>

#include "tests/support/private_server.h"
#include "tests/support/temp_directory.h"

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
  // As libpq reads it.
  [[nodiscard]] std::string Connection() const;
  // Runs SQL as its owner.
  void Execute(const std::string& sql) const;

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

}  // namespace stout::test
