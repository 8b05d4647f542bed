#pragma once

#include <algorithm>

#include "stout/core/policy.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The wanted time from one send of a lane to the next. A row of failures lengthens it.
///
/// Units: seconds.   Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class BatchingCycle {
 public:
  explicit BatchingCycle(double longest) : longest_(longest) {}

  [[nodiscard]] double value() const { return value_; }
  void Set(double value) { value_ = std::min(value, longest_); }

  /// Doubles the cycle after a failed attempt, once a round trip. A row of failures may as well be
  /// an outage, so it lengthens the cycle at most eightfold. Returns false if the failure tells
  /// nothing about the store's load.
  bool BackOff(const BatchSample& failed);
  /// An attempt has succeeded.
  void EndBackOff() { before_failures_ = 0; }

  bool operator==(const BatchingCycle&) const = default;

 private:
  double longest_;
  double value_ = 0;
  double before_failures_ = 0;  // when the present row of failures began; 0: there is none
  TimePoint backed_off_ = TimePoint::min();
};

}  // namespace stout::inline v1
