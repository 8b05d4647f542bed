#include "tests/support/node_server.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "tests/support/resp_client.h"

namespace stout::test {

NodeServer::NodeServer(std::string store, std::vector<std::string> settings)
    : PrivateServer("stout-node"), store_(std::move(store)), settings_(std::move(settings)) {
  StartOnFreePort();
}

std::vector<std::string> NodeServer::Command() const {
  // A data race ends it, so that the test sees it.
  std::vector<std::string> command = {"env", "TSAN_OPTIONS=halt_on_error=1", STOUT_NODE, "--listen",
                                      "127.0.0.1:" + std::to_string(port())};
  if (!store_.empty()) {
    command.insert(command.end(), {"--store", fmt::format(fmt::runtime(store_), directory())});
  }
  command.insert(command.end(), settings_.begin(), settings_.end());
  return command;
}

// The log is no sign: it keeps what the node printed before it was killed.
bool NodeServer::Answers() const {
  try {
    const std::string answer = RespClient(port()).Do({"PING"});
    return answer == "+PONG" || answer.starts_with("-NOAUTH");
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace stout::test
