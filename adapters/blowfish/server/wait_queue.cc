#include "blowfish/server/wait_queue.h"

#include <utility>

namespace stout::blowfish {
namespace {

/// Room for this number of keys is kept; commands with more are rare.
constexpr std::size_t kAwaitedKept = 4096;

}  // namespace

void WaitQueue::Reserve(std::size_t open) {
  for (SubBatches* const list : {&ready_, &running_, &waiting_, &late_}) {
    if (list->capacity() < open) list->reserve(2 * open);
  }
}

void WaitQueue::StartPass() {
  ready_.insert(ready_.begin(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  plain_waits_ = fence_waited_for_ = false;
  if (awaited_.bucket_count() > kAwaitedKept) {
    awaited_ = decltype(awaited_)();  // clear() keeps the memory
  } else if (!awaited_.empty()) {
    awaited_.clear();
  }
}

void WaitQueue::EndPass() {
  waiting_.insert(waiting_.end(), late_.begin(), late_.end());
  late_.clear();
}

std::span<SubBatch* const> WaitQueue::TakeReady() {
  std::swap(running_, ready_);
  ready_.clear();
  return running_;
}

}  // namespace stout::blowfish
