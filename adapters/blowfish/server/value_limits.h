#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "resp/server/command_parser.h"
#include "resp/store/batch_limits.h"

namespace stout::blowfish {

using resp::BatchLimits;
using resp::BatchLimitsOf;
using resp::kRequestRoom;

/// The largest --max-value. A shard compresses twice as many bytes of values together.
inline constexpr std::size_t kMaxValueLimit = std::size_t{256} << 20;

struct WrongLimit {
  std::string option;  ///< "--max-value"
  std::string why;
};

/// Checks limits of a connection that depend on one another. Returns nullopt if they are in range.
[[nodiscard]] std::optional<WrongLimit> CheckLimits(const resp::CommandLimits& commands,
                                                    std::size_t max_replies);

}  // namespace stout::blowfish
