#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/private_server.h"
#include "tests/support/temp_directory.h"

namespace stout::test {

// A private Redis on a free port of the loopback that has on its disk what it answered for; its
// files and its process are gone at the end.
class RedisServer {
 public:
  // `settings`: more of redis.conf, as on a command line: {"--requirepass", "secret"}. They come
  // last, so that they replace those that make it durable.
  explicit RedisServer(std::vector<std::string> settings = {});
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  [[nodiscard]] int port() const { return port_; }
  // Of its other, nameless listener.
  [[nodiscard]] std::string Socket() const { return directory_.path() + "/socket"; }
  // Of a store: "redis://127.0.0.1:PORT[?options]", with the options given ("timeout=1s").
  [[nodiscard]] std::string Url(const std::string& options = {}, int port = 0) const;
  // A command, perhaps behind options of redis-cli, such as who runs it: {"-a", "secret", "PING"}.
  // Answers what redis-cli prints, without the last newline; throws if that is an error of the
  // server or takes 10 s.
  std::string Execute(const std::vector<std::string>& command) const;

  void Start();
  void Kill();              // kill -9: what was in its memory is gone.
  void Signal(int signal);  // To all its processes: SIGSTOP, SIGCONT.
  // It runs, and was not told to stand still.
  [[nodiscard]] bool Up() const;

 private:
  void TryToStart();
  [[nodiscard]] bool Answers() const;
  [[nodiscard]] std::string Log() const;

  TempDirectory directory_;  // Goes last.
  const std::vector<std::string> settings_;
  int port_ = 0;
  bool stopped_ = false;
  std::unique_ptr<Process> process_;
};

}  // namespace stout::test
