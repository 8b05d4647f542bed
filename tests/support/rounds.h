#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace stout::test {

// How many rounds, or seeds, a test has: `usual`, or what this variable of the environment says.
// `./dev test long` asks for more than CI does.
inline std::uint64_t Rounds(const char* variable, std::uint64_t usual) {
  const char* const asked = std::getenv(variable);
  return asked == nullptr ? usual : std::stoull(asked);
}

}  // namespace stout::test
