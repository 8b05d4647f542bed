#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/support/private_server.h"

namespace stout::test {

inline const std::string kEcKey = "ec -pkeyopt ec_paramgen_curve:P-256 -nodes";

// Makes DIRECTORY/cert.pem and DIRECTORY/key.pem, which is such a key. `key` may have more options
// of `openssl req`.
void MakeCertificate(const std::string& directory, const std::string& name,
                     const std::string& key = kEcKey);

// A private stout-node or blowfish-server that speaks TLS, with the certificate in its directory.
class TlsProgram : public PrivateServer {
 public:
  // `command`: in which {} is the directory. `prepare` makes the certificate there.
  TlsProgram(std::vector<std::string> command,
             const std::function<void(const std::string& directory)>& prepare);

  [[nodiscard]] const std::string& files() const { return directory(); }
  [[nodiscard]] bool Logs(const std::string& text) const;

 private:
  [[nodiscard]] std::vector<std::string> Command() const override;
  [[nodiscard]] bool Answers() const override;

  const std::vector<std::string> command_;
};

}  // namespace stout::test
