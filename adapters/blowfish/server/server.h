#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blowfish/server/navigator.h"
#include "blowfish/server/service.h"
#include "resp/server/listener.h"
#include "resp/server/tls.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6480;  ///< 0: any that is free.
  resp::UnixSocketOptions unix_socket;
  std::string password;  ///< Empty: none is asked for.
  /// For what is compressed, and its layers: what the files leave of it is the navigation's.
  std::uint64_t memory_budget = std::uint64_t{1} << 30;
  resp::ConnectionLimits connections;
  resp::TlsFiles tls;
  NavigationOptions navigation;  ///< Its budget follows from memory_budget.
};

/// Serves clients of some shards, and moves these along the curve between storage and speed.
///
/// Owner: outlives the run() of `context`.   Threads: one runs `context`, and calls all members.
class Server {
 public:
  Server(boost::asio::io_context& context, std::vector<std::unique_ptr<ShardWorker>> shards,
         ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Waits for the shards. `context` does not run any more.
  ~Server();

  /// Takes the port, and clients from now on.   kBadUrl: it cannot be had; `diagnostics` says why.
  [[nodiscard]] ErrorCode Listen(Diagnostics* diagnostics);

  /// Takes no client any more, and no command of those that there are; calls `done` when the last
  /// has its replies. Again: cuts off those that have not.
  void Drain(UniqueFunction<void()> done);

  [[nodiscard]] std::uint16_t port() const { return service_.port; }
  [[nodiscard]] Service& service() { return service_; }

 private:
  // Gives the shards the layers that they had at their last end, as far as the budget allows.
  void AddKeptLayers();
  [[nodiscard]] boost::asio::awaitable<void> Navigate();
  void Act(const Navigation& navigation);

  boost::asio::io_context& context_;
  const ServerOptions options_;
  Service service_;
  resp::Listener listener_;
  boost::asio::steady_timer tick_;
  bool draining_ = false;
};

}  // namespace stout::blowfish
