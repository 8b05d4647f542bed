#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/redis_options.h"
#include "stout/adapters/store_url.h"

namespace stout::redis {

// Reads the options that all kinds of Redis have.
void ReadOptions(UrlOptionReader& reader, RedisOptions* options);
// Returns the problem of an option out of range, or nullopt.
[[nodiscard]] std::optional<std::string> Check(const RedisOptions& options);

// Reads "[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]": user and password into `options`. Returns
// the addresses, possibly none, or nullopt if malformed.
[[nodiscard]] std::optional<std::vector<RedisAddress>> ReadAuthority(std::string_view text,
                                                                     RedisOptions* options);

}  // namespace stout::redis
