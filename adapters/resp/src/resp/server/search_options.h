#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "resp/server/command.h"
#include "resp/server/command_options.h"

namespace stout::resp {

/// SEARCH attribute value [PREFIX] [LIMIT n] [COUNT] and GREP substring [LIMIT n] [COUNT]
struct SearchOptions {
  std::optional<std::uint64_t> limit{};  ///< maximum number of keys, also when they are counted
  bool count = false;                    ///< return their number
  bool prefix = false;                   ///< the attribute begins with the value. SEARCH only
  /// HASHTAG tag: only keys with {tag}, as in Redis Cluster. A blowfish-server refuses it.
  std::optional<std::string_view> hash_tag{};

  friend bool operator==(const SearchOptions&, const SearchOptions&) = default;
};

/// Maximum number of keys that a search returns. Without LIMIT, more are an error.
inline constexpr std::uint64_t kMaxFound = 1'000'000;

/// These take the whole command, as ParseSetOptions does. A LIMIT above kMaxFound is an error, and
/// so is a hash tag that no key can have.
[[nodiscard]] Parsed<SearchOptions> ParseSearchOptions(Arguments arguments);
[[nodiscard]] Parsed<SearchOptions> ParseGrepOptions(Arguments arguments);

}  // namespace stout::resp
