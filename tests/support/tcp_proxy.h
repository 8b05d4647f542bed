#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace stout::test {

// A network between a client and a server of this machine that is as bad as asked for.
//
// Threads: has one of its own; all members from any thread.
class TcpProxy {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  struct Behaviour {
    std::chrono::microseconds delay{0};  // Each way.
    std::uint64_t bytes_per_second = 0;  // Each way; 0: as fast as it goes.
    std::uint64_t cut_after = kNever;    // Bytes to the server from now on: then all is cut.
    bool swallow_answers = false;        // What the server says is lost.
    bool hold_requests = false;          // What clients say waits here, also once they are gone.
    bool refuse = false;                 // Connections end at once.
  };

  explicit TcpProxy(int server_port);
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;
  ~TcpProxy();

  [[nodiscard]] int port() const;

  // From now on. What is held and may go now is delivered in its order.
  void Behave(const Behaviour& behaviour);
  // Cuts every connection that there is. What is held is kept, if it still is to be.
  void Cut();

 private:
  class Network;
  std::shared_ptr<Network> network_;
};

}  // namespace stout::test
