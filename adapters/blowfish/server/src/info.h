#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service.h"
#include "stout/version.h"

namespace stout::blowfish {

/// The answer to clients that ask for redis's version. Its commands match those of this server.
inline constexpr std::string_view kRedisVersion = "7.0.0";
inline constexpr std::string_view kServerVersion = STOUT_VERSION;

/// The text of INFO, of these sections; of none: of all but commandstats and latencystats, as in
/// redis.
[[nodiscard]] std::string Info(const Service& service, std::span<const std::string_view> sections);

/// The settings that CONFIG GET shows, by name.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> ConfigOf(
    const Service& service);

}  // namespace stout::blowfish
