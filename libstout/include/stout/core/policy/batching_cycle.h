#pragma once

#include <algorithm>

#include "stout/core/policy.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The wanted time from one send of a lane to the next. Failures in a row lengthen it.
///
/// Units: seconds.   Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class BatchingCycle {
 public:
  explicit BatchingCycle(double longest) : longest_(longest) {}

  [[nodiscard]] double value() const { return value_; }
  void Set(double value) { value_ = std::min(value, longest_); }

  /// Doubles the cycle after a failed attempt, at most once per round trip. Failures in a row may
  /// also mean an outage, so they lengthen the cycle at most eightfold. Returns false if the
  /// failure does not indicate load on the store.
  bool BackOff(const BatchSample& failed);
  /// Records that an attempt has succeeded.
  void EndBackOff() { before_failures_ = 0; }

  bool operator==(const BatchingCycle&) const = default;

 private:
  double longest_;
  double value_ = 0;
  double before_failures_ = 0;  // the cycle before the present failures in a row; 0: there are none
  TimePoint backed_off_ = TimePoint::min();
};

}  // namespace stout::inline v1
