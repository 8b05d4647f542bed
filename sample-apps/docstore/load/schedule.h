#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "load/random.h"
#include "stout/core/types.h"

namespace stout::load {

/// A stretch of the run at one rate.
struct Step {
  Duration start{};  ///< Since the beginning of the run.
  double rate = 0;   ///< Requests per second, >= 0; 0 is silence.

  bool operator==(const Step&) const = default;
};

/// Reads `0s:500,5s:12000,15s:500`: start:rate, with the first start 0, and increasing starts.
/// Returns nullopt if malformed.
[[nodiscard]] std::optional<std::vector<Step>> ParseSteps(std::string_view text);

/// The length of a run whose duration is not given: the last step lasts as long as the one before
/// it. Requires two steps or more.
[[nodiscard]] Duration ImpliedDuration(const std::vector<Step>& steps);

enum class Arrivals : std::uint8_t {
  kPoisson,  ///< Independent users: exponential gaps.
  kUniform,  ///< Equal gaps.
};

/// The due times of all requests, fixed before the first answer comes: an open loop. Times count
/// from the beginning of the first step; the warm-up lies before it, at the first step's rate.
///
/// Owner: value type.   Threads: none of its own.
class Schedule {
 public:
  /// Requires steps as ParseSteps returns them, and an `end` after the last of them starts.
  Schedule(std::vector<Step> steps, Duration warmup, Duration end, Arrivals arrivals,
           std::uint64_t seed);

  /// When the next request is due; kNever after the last.
  [[nodiscard]] TimePoint due() const { return due_; }
  void Advance();

 private:
  TimePoint StepEnd() const;
  double Gap();

  std::vector<Step> steps_;
  TimePoint end_;
  Arrivals arrivals_;
  Random random_;
  std::size_t step_ = 0;
  TimePoint step_start_;
  // The step's gaps so far, in units of 1 / rate; each due time is rounded by itself, so that the
  // rate is exact.
  double gaps_ = 0;
  TimePoint due_;
};

}  // namespace stout::load
