#pragma once

#include <cstddef>

#include "resp/server/command_parser.h"

namespace stout::resp {

/// --max-request exceeds --max-value by this at least: for the command, and a key.
inline constexpr std::size_t kRequestRoom = std::size_t{4} << 10;

/// The limits of one STOUT.WRITE. A batch within these limits fits --max-request, and a value of
/// --max-value fits a batch together with a key of 64 KiB, or of 2 KiB if --max-request is tight.
struct BatchLimits {
  std::size_t items = 0;
  std::size_t bytes = 0;  ///< of keys and values

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

/// Requires that max_request exceeds max_bulk by kRequestRoom.
[[nodiscard]] BatchLimits BatchLimitsOf(const CommandLimits& limits);

}  // namespace stout::resp
