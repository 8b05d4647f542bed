#include "blowfish/server/shard_queue.h"

#include <chrono>
#include <utility>

#include "stout/clock.h"

namespace stout::blowfish {

template <typename Change>
void ShardQueue::Alter(Change change) {
  bool wake;
  {
    const std::lock_guard lock(mutex_);
    change();
    woken_ = true;
    wake = std::exchange(asleep_, false);
  }
  if (wake) changed_.notify_one();
}

void ShardQueue::Push(SubBatch& batch) {
  Alter([&] {
    taken_.batches.push_back(&batch);
    waiting_ += batch.subrequests.size();
  });
}

void ShardQueue::Push(Errand errand) {
  Alter([&] { taken_.errands.push_back(std::move(errand)); });
}

void ShardQueue::Wake() {
  Alter([] {});
}

void ShardQueue::Stop() {
  Alter([&] { taken_.stop = true; });
}

void ShardQueue::Take(TimePoint deadline, Taken& taken) {
  taken.batches.clear();
  taken.errands.clear();
  std::unique_lock lock(mutex_);
  while (!woken_) {
    asleep_ = true;
    if (deadline == kNever) {
      changed_.wait(lock);
      continue;
    }
    // Compared before it is subtracted from: "at once" is the earliest time there is.
    const TimePoint now = SteadyNow();
    if (deadline <= now) break;
    changed_.wait_for(lock, deadline - now);
  }
  asleep_ = woken_ = false;
  const bool stop = taken_.stop;
  std::swap(taken, taken_);
  taken.stop = taken_.stop = stop;
}

void ShardQueue::Done(const SubBatch& batch) {
  waiting_ -= batch.subrequests.size();
  answered_ += batch.subrequests.size();
}

}  // namespace stout::blowfish
