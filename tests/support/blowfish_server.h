#pragma once

#include <string>
#include <vector>

#include "tests/support/private_server.h"

namespace stout::test {

// A private blowfish-server.
class BlowfishServer : public PrivateServer {
 public:
  // `settings`: more of its command line: {"--password-file", PATH}.
  explicit BlowfishServer(int shards = 4, std::vector<std::string> settings = {});

  [[nodiscard]] std::string DataDirectory() const { return directory() + "/shards"; }
  // Call it while the server does not run: it then starts with an empty directory.
  void RemoveData();

  // Returns the URL of a store: "blowfish://127.0.0.1:PORT[?options]", with these options
  // ("timeout=1s").
  [[nodiscard]] std::string Url(const std::string& options = {}, int port = 0) const;

 private:
  [[nodiscard]] std::vector<std::string> Command() const override;
  [[nodiscard]] bool Answers() const override;

  const int shards_;
  const std::vector<std::string> settings_;
};

}  // namespace stout::test
