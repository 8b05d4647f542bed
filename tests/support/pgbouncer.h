#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/private_server.h"

namespace stout::test {

// A private pgbouncer before a PostgreSQL of this machine, with pool_mode = transaction and a pool
// of few connections: each transaction may meet another session. Gone at the end.
class Pgbouncer {
 public:
  explicit Pgbouncer(int server_port);
  Pgbouncer(const Pgbouncer&) = delete;
  Pgbouncer& operator=(const Pgbouncer&) = delete;
  ~Pgbouncer();

  [[nodiscard]] int port() const { return port_; }

 private:
  [[nodiscard]] bool Start(int server_port);

  std::filesystem::path directory_;
  int port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace stout::test
