#pragma once

#include <string>
#include <vector>

#include "tests/support/private_server.h"

struct pg_conn;  // libpq's

namespace stout::test {

class PostgresServer;

struct StandbyOf {
  const PostgresServer& primary;
};

// A private PostgreSQL with durable settings.
class PostgresServer : public PrivateServer {
 public:
  PostgresServer();
  // A hot standby, from a copy of the primary's data.
  explicit PostgresServer(StandbyOf of);

  // A standby receives nothing more. It keeps all that the primary has committed before.
  void Detach(const PostgresServer& primary) const;
  // A standby becomes a primary.
  void Promote() const;
  // After Kill(): the next Start() makes a hot standby of it.
  void Demote() const;

  // From now on each commit waits for a synchronous standby of this name, or for none if it is
  // empty.
  void MakeCommitsWaitFor(const std::string& name) const;

  // Returns the URL of a store: "postgres://...", with these options ("table=t&timeout=1s").
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

// The user that runs the servers and owns their files: as root they refuse to run.
inline constexpr char kPostgresUser[] = "postgres";

// Returns true if a server accepts us there; `connection`: in libpq's syntax.
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
