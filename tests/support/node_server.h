#pragma once

#include <string>
#include <vector>

#include "tests/support/private_server.h"

namespace stout::test {

// A private stout-node.
class NodeServer : public PrivateServer {
 public:
  // `store`: a URL, in which {} is the node's directory; empty: none. `settings`: more of its
  // command line.
  explicit NodeServer(std::string store, std::vector<std::string> settings = {});

 private:
  [[nodiscard]] std::vector<std::string> Command() const override;
  [[nodiscard]] bool Answers() const override;

  const std::string store_;
  const std::vector<std::string> settings_;
};

}  // namespace stout::test
