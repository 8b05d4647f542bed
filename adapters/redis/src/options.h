#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/redis_options.h"
#include "stout/adapters/store_url.h"

namespace stout::redis {

// What a URL's options say, of those that all kinds of Redis have.
void ReadOptions(UrlOptionReader& reader, RedisOptions* options);
// What is out of range, or nothing.
[[nodiscard]] std::optional<std::string> Check(const RedisOptions& options);

// Reads "[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]": user and password into `options`, and the
// addresses, of which there may be none. Nothing, if it is broken.
[[nodiscard]] std::optional<std::vector<RedisAddress>> ReadAuthority(std::string_view text,
                                                                     RedisOptions* options);

}  // namespace stout::redis
