#include "tests/support/blowfish_server.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

namespace stout::test {

BlowfishServer::BlowfishServer(int shards, std::vector<std::string> settings)
    : PrivateServer("blowfish-server"), shards_(shards), settings_(std::move(settings)) {
  StartOnFreePort();
}

std::vector<std::string> BlowfishServer::Command() const {
  // A data race ends it, so that the test sees it.
  std::vector<std::string> command = kWithoutFileSignal;
  // clang-format off
  command.insert(command.end(), {
      "TSAN_OPTIONS=halt_on_error=1",
      STOUT_BLOWFISH_SERVER, "--listen", "127.0.0.1:" + std::to_string(port()),
      "--dir", DataDirectory(), "--shards", std::to_string(shards_)});
  // clang-format on
  command.insert(command.end(), settings_.begin(), settings_.end());
  return command;
}

void BlowfishServer::RemoveData() { std::filesystem::remove_all(DataDirectory()); }

// As it speaks what redis speaks, redis-cli asks it. One that wants a password is ready, too.
bool BlowfishServer::Answers() const {
  try {
    const std::string answer =
        RunToEnd({"timeout", "10", "redis-cli", "-p", std::to_string(port()), "PING"});
    return answer.starts_with("PONG") || answer.starts_with("NOAUTH");
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string BlowfishServer::Url(const std::string& options, int port) const {
  return "blowfish://127.0.0.1:" + std::to_string(port == 0 ? this->port() : port) +
         (options.empty() ? "" : "?" + options);
}

}  // namespace stout::test
