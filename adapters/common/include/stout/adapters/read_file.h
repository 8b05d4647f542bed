#pragma once

#include <string>

#include "stout/error.h"

namespace stout {

/// Returns all bytes of a file, or the error of the system, for example if it is a directory. An
/// std::istreambuf_iterator would throw where the file opens but cannot be read.
[[nodiscard]] Result<std::string> ReadFile(const std::string& path);

}  // namespace stout
