#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "stout/core/policy/basic.h"

namespace stout {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// Longest first for FormatDuration; "s" after the units that end in it for ParseDuration.
constexpr std::array kUnits = {Unit{"ns", 1}, Unit{"us", 1'000}, Unit{"ms", 1'000'000},
                               Unit{"s", 1'000'000'000}};

constexpr double kCentury = 100.0 * 366 * 24 * 3600 * 1e9;

/// What follows `prefix`, or nothing.
std::optional<std::string_view> After(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

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

std::string Natural::Name() const {
  return window == 1 ? "natural" : fmt::format("natural:{}", window);
}

std::optional<Policy> MakePolicy(std::string_view text) {
  if (text == "unbatched") return Unbatched{};
  if (text == "natural") return Natural{};
  if (const auto interval = After("fixed:", text)) {
    const auto duration = ParseDuration(*interval);
    if (!duration || *duration <= Duration::zero()) return std::nullopt;
    return Fixed{*duration};
  }
  if (const auto number = After("natural:", text)) {
    std::size_t window = 0;
    const auto [end, error] =
        std::from_chars(number->data(), number->data() + number->size(), window);
    if (error != std::errc() || end != number->data() + number->size()) return std::nullopt;
    if (window < 1 || window > 1'000'000) return std::nullopt;
    return Natural{window};
  }
  return std::nullopt;
}

std::string_view PolicySyntax() { return "unbatched | fixed:INTERVAL | natural[:WINDOW]"; }

}  // namespace stout
