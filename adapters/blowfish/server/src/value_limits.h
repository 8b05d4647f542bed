#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "resp/server/command_parser.h"

namespace stout::blowfish {

/// The largest --max-value. A shard compresses twice as many bytes of values together.
inline constexpr std::size_t kMostMaxValue = std::size_t{256} << 20;

/// --max-request exceeds --max-value by this at least: for the command, and a key.
inline constexpr std::size_t kRequestRoom = std::size_t{4} << 10;

/// The limits of one STOUT.WRITE. A batch within these limits fits --max-request, and a value of
/// --max-value fits a batch together with a key of 64 KiB, or of 2 KiB if --max-request is tight.
struct BatchLimits {
  std::size_t items = 0;
  std::size_t bytes = 0;  ///< of keys and values

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

/// Requires that CheckLimits() has nothing to say.
[[nodiscard]] BatchLimits BatchLimitsOf(const resp::CommandLimits& limits);

struct WrongLimit {
  std::string option;  ///< "--max-value"
  std::string why;
};

/// Checks limits of a connection that depend on one another. Returns nullopt if they are in range.
[[nodiscard]] std::optional<WrongLimit> CheckLimits(const resp::CommandLimits& commands,
                                                    std::size_t max_replies);

}  // namespace stout::blowfish
