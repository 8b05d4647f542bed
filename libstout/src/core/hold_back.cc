#include "stout/core/hold_back.h"

namespace stout::internal {

void HoldBack::OnFailure(BatchId failed, BatchId newest, TimePoint now, SplitMix64& random) {
  if (failed <= newest_) return;
  newest_ = newest;
  until_ = SaturatingAdd(now, backoff_.Pause(++failures_, random));
}

}  // namespace stout::internal
