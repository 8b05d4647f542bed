#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/process/child.hpp>
#include <boost/process/pipe.hpp>
#include <string>
#include <vector>

namespace stout::bench {

/// A server of its own that runs as long as this object. It dies with the thread that started it,
/// too, but not of the terminal's Ctrl-C: the bench ends it.
class ServerProcess {
 public:
  /// Throws std::runtime_error if the program cannot be run.
  ServerProcess(const std::string& program, const std::vector<std::string>& arguments);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  /// Kills it, and waits until it is gone.
  ~ServerProcess();

  /// Waits until it says `listening on ADDRESS:PORT`. Throws std::runtime_error if it ends, or says
  /// nothing for half a minute, or once `interrupted`.
  [[nodiscard]] boost::asio::ip::tcp::endpoint WaitUntilListening(
      const std::atomic<bool>& interrupted);

 private:
  boost::process::ipstream output_;
  boost::process::child child_;
};

}  // namespace stout::bench
