#include "stout/core/policy/batching_cycle.h"

namespace stout::inline v1 {
namespace {

constexpr double kMaxBackOff = 8;  // cycles

}  // namespace

bool BatchingCycle::BackOff(const BatchSample& failed) {
  if (failed.errc == Errc::kTooLarge || failed.sent < backed_off_) return false;
  backed_off_ = failed.done;
  if (before_failures_ == 0) before_failures_ = value_;
  Set(std::min(2 * value_, kMaxBackOff * before_failures_));
  return true;
}

}  // namespace stout::inline v1
