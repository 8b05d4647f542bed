#include "tests/support/redis_server.h"

#include <stdexcept>
#include <utility>

namespace stout::test {

RedisServer::RedisServer(std::vector<std::string> settings)
    : PrivateServer("redis-server"), settings_(std::move(settings)) {
  StartOnFreePort();
}

std::vector<std::string> RedisServer::Command() const {
  std::vector<std::string> command = kWithoutFileSignal;
  // clang-format off
  command.insert(command.end(), {
      "redis-server", "--bind", "127.0.0.1", "--port", std::to_string(port()),
      "--unixsocket", Socket(), "--dir", directory(),
      "--save", "", "--appendonly", "yes", "--appendfsync", "always",
      "--enable-debug-command", "yes"});
  // clang-format on
  command.insert(command.end(), settings_.begin(), settings_.end());
  return command;
}

// By its own socket, which no other server has and which it opens after its port. A server that
// wants a password is ready, too.
bool RedisServer::Answers() const {
  try {
    const std::string answer = RunToEnd({"redis-cli", "-s", Socket(), "PING"});
    return answer.starts_with("PONG") || answer.starts_with("NOAUTH");
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string RedisServer::Execute(const std::vector<std::string>& command) const {
  std::vector<std::string> words = {"timeout", "10", "redis-cli",        "-s",
                                    Socket(),  "-e", "--no-auth-warning"};
  words.insert(words.end(), command.begin(), command.end());
  std::string answer = RunToEnd(words);
  if (!answer.empty()) answer.pop_back();
  return answer;
}

std::string RedisServer::Url(const std::string& options, int port) const {
  return "redis://127.0.0.1:" + std::to_string(port == 0 ? this->port() : port) +
         (options.empty() ? "" : "?" + options);
}

}  // namespace stout::test
