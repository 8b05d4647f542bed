#pragma once

#include <cstdint>
#include <string>

#include "resp/server/reply_writer.h"
#include "stout/core/types.h"

namespace stout::resp {

/// The server's state of a client.
struct Session {
  std::uint64_t id = 0;
  std::string address;
  std::string name;
  std::string library;
  std::string library_version;
  Resp version = Resp::k2;
  bool authenticated = false;
  bool closing = false;  ///< After the replies that are due.
  std::uint64_t commands = 0;
  TimePoint since;
};

}  // namespace stout::resp
