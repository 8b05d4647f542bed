#pragma once

#include <string>
#include <vector>

#include "tests/support/private_server.h"

struct pg_conn;  // libpq's

namespace stout::test {

// A private PostgreSQL with durable settings.
class PostgresServer : public PrivateServer {
 public:
  PostgresServer();

  // Of a store: "postgres://...", with the options given ("table=t&timeout=1s").
  [[nodiscard]] std::string Url(const std::string& options = {}, int port = 0) const;
  // As libpq reads it; `port`: of what stands before it.
  [[nodiscard]] std::string Connection(int port = 0) const;
  // Runs SQL as its owner, in a session of its own; see PostgresSession.
  std::string Execute(const std::string& sql) const;

 private:
  [[nodiscard]] std::vector<std::string> Command() const override;
  [[nodiscard]] bool Answers() const override;
  [[nodiscard]] std::string DataDirectory() const;
};

// Who runs the servers and owns what is in them: as root they refuse to run.
inline constexpr char kPostgresUser[] = "postgres";

// Whether a server lets us in there; `connection`: as libpq reads it.
[[nodiscard]] bool CanConnect(const std::string& connection);

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
