#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "program/address.h"
#include "stout/error.h"

namespace stout::program {

/// Logs to stderr from `level` on: "debug", "info", "warning", ... The logger has this name.
void SetUpLog(const std::string& name, const std::string& level);

/// Raises the soft limit of open files, which is usually 1024, to the hard limit. Warns if the hard
/// limit is too low for this number of connections, which the user has set by `option`.
void RaiseDescriptorLimit(std::size_t connections, std::string_view option);

/// Prints on stdout that the program serves: "listening on HOST:PORT".
void Announce(const Address& address);

/// Logs why a store or lease service cannot be opened, without the password of its URL. Returns the
/// exit code of the process.
[[nodiscard]] int CannotOpen(std::string_view what, const std::string& url, ErrorCode ec,
                             const Diagnostics& why);

}  // namespace stout::program
