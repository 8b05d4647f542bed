#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "stout/core/policy/basic.h"

namespace stout::inline v1 {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// FormatDuration uses the last unit that fits, which is never "min" or "h": names of policies are
// in seconds.
constexpr std::array kUnits = {Unit{"ns", 1},
                               Unit{"us", 1'000},
                               Unit{"ms", 1'000'000},
                               Unit{"min", 60'000'000'000},
                               Unit{"h", 3'600'000'000'000},
                               Unit{"s", 1'000'000'000}};

constexpr double kCentury = 100.0 * 366 * 24 * 3600 * 1e9;

}  // namespace

std::optional<Duration> ParseDuration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& candidate : kUnits) {
    if (unit != candidate.name) continue;
    const double nanoseconds = number * static_cast<double>(candidate.nanoseconds);
    if (nanoseconds > kCentury) return std::nullopt;
    return Duration(std::llround(nanoseconds));
  }
  return std::nullopt;
}

std::string FormatDuration(Duration duration) {
  Unit best = kUnits.front();
  for (const Unit& unit : kUnits) {
    if (duration.count() != 0 && duration.count() % unit.nanoseconds == 0) best = unit;
  }
  return fmt::format("{}{}", duration.count() / best.nanoseconds, best.name);
}

std::string Fixed::Name() const { return "fixed:" + FormatDuration(interval); }

std::string Tick::Name() const { return "tick:" + FormatDuration(interval); }

std::string Gap::Name() const { return "gap:" + FormatDuration(gap); }

std::string Natural::Name() const {
  return window == 1 ? "natural" : fmt::format("natural:{}", window);
}

}  // namespace stout::inline v1
