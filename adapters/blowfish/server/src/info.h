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

/// What clients are told that ask for redis's version: whose commands are as those of this one.
inline constexpr std::string_view kRedisVersion = "7.0.0";
inline constexpr std::string_view kServerVersion = STOUT_VERSION;

/// The text of INFO, of these sections; of none: of all but commandstats and latencystats, as in
/// redis.
[[nodiscard]] std::string Info(const Service& service, std::span<const std::string_view> sections);

/// What CONFIG GET shows, by name.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> ConfigOf(
    const Service& service);

}  // namespace stout::blowfish
