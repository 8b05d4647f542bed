#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "stout/core/types.h"

namespace stout::bench::shard {

/// Part of a schedule: the rate goes evenly from one to the other.
struct Phase {
  double from = 0;  ///< Requests per second at its beginning, >= 0,
  double to = 0;    ///< and at its end.
  Duration length{};

  friend bool operator==(const Phase&, const Phase&) = default;
};

/// Reads RATE:TIME, such as "2000:10s", or FROM-TO:TIME, "2000-6000:500ms". A time without a unit
/// is seconds. Returns nullopt if the text is neither, or if a rate is above 1e8, or if the time is
/// 0 or above 1e6 seconds.
[[nodiscard]] std::optional<Phase> ParsePhase(std::string_view text);

/// How many requests are due when, one phase after the other.
///
/// A Poisson process of a changing rate is one of rate 1 through TimeOf():
///
///     for (double count = Exponential(); auto due = schedule.TimeOf(count); count +=
///     Exponential())
///
/// Owner: value type.   Threads: as a const value.   Cost: some ns a phase.
class Schedule {
 public:
  explicit Schedule(const std::vector<Phase>& phases);

  [[nodiscard]] Duration length() const;
  /// Requests that are due by then, on average.
  [[nodiscard]] double CountAt(Duration time) const;
  /// Returns the time when this number of requests is due; nullopt if there are fewer.
  [[nodiscard]] std::optional<Duration> TimeOf(double count) const;

 private:
  struct Part {
    Phase phase;
    Duration begin{};
    double before = 0;  // due before it
    double count = 0;   // due in it
  };

  std::vector<Part> parts_;
};

}  // namespace stout::bench::shard
