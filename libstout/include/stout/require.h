#pragma once

#include <cstdio>
#include <cstdlib>

namespace stout::internal {

/// Prints one line to stderr and aborts.
[[noreturn, gnu::cold, gnu::noinline]] inline void Abort(const char* line) {
  std::fprintf(stderr, "libstout: %s\n", line);
  std::abort();
}

/// Aborts with this line if `condition` is false, in every build. Use it for programmer errors that
/// would corrupt memory or crash later. `line` names the error and the remedy.
inline void Require(bool condition, const char* line) {
  if (!condition) [[unlikely]]
    Abort(line);
}

}  // namespace stout::internal
