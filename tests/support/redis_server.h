#pragma once

#include <string>
#include <vector>

#include "tests/support/private_server.h"

namespace stout::test {

// A private Redis that has on its disk what it answered for.
class RedisServer : public PrivateServer {
 public:
  // `settings`: more of redis.conf, as on a command line: {"--requirepass", "secret"}. They come
  // last, so that they replace those that make it durable.
  explicit RedisServer(std::vector<std::string> settings = {});

  // Path of its other, nameless listener.
  [[nodiscard]] std::string Socket() const { return directory() + "/socket"; }
  // Returns the URL of a store: "redis://127.0.0.1:PORT[?options]", with these options
  // ("timeout=1s").
  [[nodiscard]] std::string Url(const std::string& options = {}, int port = 0) const;
  // A command, perhaps behind options of redis-cli, such as who runs it: {"-a", "secret", "PING"}.
  // Answers what redis-cli prints, without the last newline; throws if that is an error of the
  // server or takes 10 s.
  std::string Execute(const std::vector<std::string>& command) const;

 private:
  [[nodiscard]] std::vector<std::string> Command() const override;
  [[nodiscard]] bool Answers() const override;

  const std::vector<std::string> settings_;
};

}  // namespace stout::test
