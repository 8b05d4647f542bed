#pragma once

#include <string>
#include <vector>

#include "tests/support/private_server.h"

namespace stout::test {

// A private pgbouncer before a PostgreSQL of this machine, with pool_mode = transaction and a pool
// of few connections: each transaction may meet another session.
class Pgbouncer : public PrivateServer {
 public:
  explicit Pgbouncer(int server_port);

 private:
  [[nodiscard]] std::vector<std::string> Command() const override;
  [[nodiscard]] bool Answers() const override;

  const int server_port_;
};

}  // namespace stout::test
