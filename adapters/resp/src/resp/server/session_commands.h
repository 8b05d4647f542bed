#pragma once

#include <span>

#include "resp/server/command.h"

namespace stout::resp {

/// Commands about the connection and the server, which every program has: AUTH, CLIENT, COMMAND,
/// CONFIG, ECHO, HELLO, INFO, PING, QUIT, RESET, SELECT and SHUTDOWN.
[[nodiscard]] std::span<const Command> SessionCommands();

}  // namespace stout::resp
