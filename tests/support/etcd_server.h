#pragma once

#include <string>
#include <vector>

#include "tests/support/private_server.h"

namespace stout::test {

// A private etcd of one member.
class EtcdServer : public PrivateServer {
 public:
  EtcdServer();

  // POSTs to the JSON gateway: {"/v3/kv/compaction", R"({"revision": "7"})"}. Throws unless it is
  // answered with success.
  std::string Call(const std::string& path, const std::string& body) const;
  // Call it while the server does not run: it then starts with an empty directory.
  void RemoveData();

 private:
  [[nodiscard]] std::vector<std::string> Command() const override;
  [[nodiscard]] bool Answers() const override;
};

}  // namespace stout::test
