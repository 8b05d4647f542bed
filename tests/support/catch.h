#pragma once

/// Catch2 through one header: 2.13, which Debian 12 has, or 3, which Debian 13 has.
/// Tests use the names of 2.13. The part below gives version 3 those that it has moved.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#include <string>

namespace Catch {

inline auto Contains(const std::string& part) { return Matchers::ContainsSubstring(part); }
using Matchers::StartsWith;

}  // namespace Catch

using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
