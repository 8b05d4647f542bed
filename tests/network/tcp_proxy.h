#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>

namespace stout::test {

// A network between clients and a server of this machine that is as bad as asked for.
//
// Threads: has one of its own; all members from any thread.
class TcpProxy {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  struct Behaviour {
    std::chrono::microseconds delay{0};  // Each way. As much as comes is under way at once.
    std::uint64_t bytes_per_second = 0;  // Each way, of all connections; 0: as fast as it goes.
    std::uint64_t cut_after = kNever;    // Bytes to the server from now on: then all is cut.
    bool swallow_answers = false;        // the server's bytes are lost, with all later bytes
                                         // of the same connection
    bool hold_requests = false;          // clients' bytes wait here, also once they are gone
    bool hold_connected = false;         // the same, only for the present connections: bytes
                                         // of later ones overtake them
    bool refuse = false;                 // Connections end at once.
  };

  // Counters of its actions. A test of a fault that met nothing tests nothing.
  struct Tally {
    std::uint64_t delayed = 0;    // Bytes, and so on.
    std::uint64_t throttled = 0;  // Bytes that had to wait for others before them.
    std::uint64_t swallowed = 0;
    std::uint64_t ghosts = 0;  // Bytes that reached the server after their client had gone.
    std::uint64_t cuts = 0;    // Connections.
    std::uint64_t refused = 0;
  };

  explicit TcpProxy(int server_port);
  explicit TcpProxy(const std::filesystem::path& server_socket);
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;
  ~TcpProxy();

  [[nodiscard]] int port() const;

  // Takes effect from now on. Held bytes that may go now are delivered in order.
  void Behave(const Behaviour& behaviour);
  // Cuts all connections. Held bytes are kept, if they still should be: a server does not see the
  // cut before it has received them.
  void Cut();

  [[nodiscard]] Tally tally() const;

 private:
  class Network;
  std::shared_ptr<Network> network_;
};

}  // namespace stout::test
