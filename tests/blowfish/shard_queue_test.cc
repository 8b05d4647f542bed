#include "blowfish/server/shard_queue.h"

#include <chrono>
#include <thread>

#include "stout/clock.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// The parts of two shards in a batch.
struct TwoParts {
  TwoParts() {
    first.subrequests.resize(3);
    second.subrequests.resize(2);
  }

  Batch batch{2};
  SubBatch& first = batch.parts[0];
  SubBatch& second = batch.parts[1];
};

TEST_CASE("a queue gives all that came, in order, and counts until it is answered") {
  ShardQueue queue;
  TwoParts two;
  queue.Push(two.first);
  queue.Push([](Shard&) {});
  queue.Push(two.second);
  CHECK(queue.waiting() == 5);

  ShardQueue::Taken taken;
  queue.Take(kNever, taken);
  CHECK(taken.batches == std::vector{&two.first, &two.second});
  CHECK(taken.errands.size() == 1);
  CHECK(queue.waiting() == 5);
  queue.Done(two.first);
  CHECK(queue.waiting() == 2);
  queue.Done(two.second);
  CHECK(queue.waiting() == 0);
}

TEST_CASE("a queue waits until its deadline, and for none that has passed") {
  ShardQueue queue;
  ShardQueue::Taken taken;
  queue.Take(TimePoint::min(), taken);
  CHECK(taken.batches.empty());
  const TimePoint deadline = SteadyNow() + std::chrono::milliseconds(20);
  queue.Take(deadline, taken);
  CHECK(SteadyNow() >= deadline);
  CHECK(taken.batches.empty());
}

TEST_CASE("a waiter at a queue is woken, and a stop is permanent") {
  ShardQueue queue;
  ShardQueue::Taken taken;
  {
    const std::jthread other([&] { queue.Wake(); });
    queue.Take(kNever, taken);
  }
  CHECK_FALSE(taken.stop);
  {
    const std::jthread other([&] { queue.Stop(); });
    queue.Take(kNever, taken);
  }
  CHECK(taken.stop);
  queue.Take(TimePoint::min(), taken);
  CHECK(taken.stop);
}

}  // namespace
}  // namespace stout::blowfish
