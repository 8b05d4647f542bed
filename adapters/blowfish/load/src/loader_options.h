#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "send_window.h"
#include "stout/core/types.h"

namespace stout::blowfish {

/// Where records go, and how.
struct LoaderOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6480;
  std::string password{};       ///< Empty: none
  std::size_t connections = 4;  ///< >= 1
  SendWindow::Options window{};
  /// Longest time that a connection has something to send and gets nothing done. > 0
  Duration patience = std::chrono::seconds(30);
};

}  // namespace stout::blowfish
