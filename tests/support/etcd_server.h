#pragma once

#include <memory>
#include <string>

#include "tests/support/private_server.h"
#include "tests/support/temp_directory.h"

namespace stout::test {

// A private etcd of one member on free ports of the loopback; its files and its process are gone at
// the end.
class EtcdServer {
 public:
  EtcdServer();
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;
  ~EtcdServer();

  [[nodiscard]] int port() const { return port_; }
  // POSTs to the JSON gateway: {"/v3/kv/compaction", R"({"revision": "7"})"}. Throws unless it is
  // answered with success.
  std::string Call(const std::string& path, const std::string& body) const;

  void Start();
  void Kill();              // kill -9: what was in its memory is gone.
  void Signal(int signal);  // SIGSTOP, SIGCONT.

 private:
  void TryToStart();
  [[nodiscard]] bool Answers() const;
  [[nodiscard]] std::string Log() const;

  TempDirectory directory_;  // Goes last.
  int port_ = 0;
  int peer_port_ = 0;
  std::unique_ptr<Process> process_;
};

}  // namespace stout::test
