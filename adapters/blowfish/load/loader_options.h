#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "blowfish/load/send_window.h"
#include "program/address.h"
#include "stout/core/types.h"

namespace stout::blowfish {

/// The server that gets the records, and how.
struct LoaderOptions {
  program::Address server{.port = 6480};
  std::string password{};       ///< Empty: none
  std::size_t connections = 4;  ///< >= 1
  SendWindow::Options window{};
  /// Longest time that a connection has something to send and gets nothing done. > 0
  Duration patience = std::chrono::seconds(30);
};

}  // namespace stout::blowfish
