#pragma once

#include <cstdint>
#include <optional>

#include "resp/server/command.h"
#include "resp/server/command_options.h"

namespace stout::blowfish {

/// SEARCH attribute value [PREFIX] [LIMIT n] [COUNT] and GREP substring [LIMIT n] [COUNT]
struct SearchOptions {
  std::optional<std::uint64_t> limit{};  ///< maximum number of keys, also when they are counted
  bool count = false;                    ///< Answer with their number.
  bool prefix = false;                   ///< The value is how theirs begins. SEARCH alone.

  friend bool operator==(const SearchOptions&, const SearchOptions&) = default;
};

/// As resp::ParseSetOptions.
[[nodiscard]] resp::Parsed<SearchOptions> ParseSearchOptions(resp::Arguments arguments);
[[nodiscard]] resp::Parsed<SearchOptions> ParseGrepOptions(resp::Arguments arguments);

}  // namespace stout::blowfish
