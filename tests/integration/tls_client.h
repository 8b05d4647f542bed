#pragma once

#include <openssl/types.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "tests/support/resp_client.h"

namespace stout::test {

// Returns the bytes with which a client begins a handshake.
[[nodiscard]] std::string ClientHello();

// A RespClient that speaks TLS, by OpenSSL alone. It accepts any certificate.
class TlsClient final : public RespClient {
 public:
  // Throws std::runtime_error if the handshake fails. `version`: the newest to use; 0: any.
  explicit TlsClient(int port, int version = 0);
  ~TlsClient() override;

  // Returns the records of these bytes, for SendRecords().
  [[nodiscard]] std::string Encrypt(const std::string& bytes);
  void SendRecords(const std::string& records) { RespClient::Write(records); }

  // Drops incoming bytes until the server ends the connection. Returns whether it did so with
  // close_notify.
  [[nodiscard]] bool EndsWithNotify();

  // Returns the subject of the server's certificate, such as "CN = test".
  [[nodiscard]] std::string CertificateName() const;

 private:
  void Write(const std::string& bytes) override;
  ssize_t Read(char* bytes, std::size_t size) override;

  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

}  // namespace stout::test
