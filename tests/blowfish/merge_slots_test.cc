#include "blowfish/store/merge_slots.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

void AwaitWaiting(const MergeSlots& slots, std::size_t waiting) {
  while (slots.usage().waiting != waiting) std::this_thread::yield();
}

TEST_CASE("as many merges run as there are slots, and tell what they take", "[merge]") {
  MergeSlots slots(2);
  auto first = slots.Take(10, {});
  const auto second = slots.Take(5, {});
  REQUIRE(first);
  REQUIRE(second);
  CHECK(slots.usage().running == 2);
  CHECK(slots.usage().bytes == 15);
  first.reset();
  CHECK(slots.usage().running == 1);
  CHECK(slots.usage().bytes == 5);
}

TEST_CASE("slots are given in the order in which they were asked for", "[merge]") {
  constexpr std::size_t kThreads = 5;
  MergeSlots slots(1);
  auto held = slots.Take(1, {});
  std::mutex mutex;
  std::vector<std::size_t> order;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const auto slot = slots.Take(1, {});
      const std::lock_guard lock(mutex);
      if (slot) order.push_back(i);
    });
    AwaitWaiting(slots, i + 1);
  }
  held.reset();
  threads.clear();
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("never more merges run than there are slots", "[merge]") {
  MergeSlots slots(2);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        const auto slot = slots.Take(1, {});
        const int now = ++running;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        std::this_thread::yield();
        --running;
        ++done;
      }
    });
  }
  threads.clear();
  CHECK(done == 800);
  CHECK(most <= 2);
  CHECK(slots.usage().running == 0);
  CHECK(slots.usage().bytes == 0);
}

TEST_CASE("a waiter that is stopped gives up, and the next one gets the slot", "[merge]") {
  MergeSlots slots(1);
  auto held = slots.Take(1, {});
  std::atomic<bool> gave_up = false;
  std::atomic<bool> taken = false;
  std::jthread first([&](const std::stop_token& stop) { gave_up = !slots.Take(1, stop); });
  AwaitWaiting(slots, 1);
  std::jthread second([&] { taken = slots.Take(1, {}).has_value(); });
  AwaitWaiting(slots, 2);
  first.request_stop();
  first.join();
  CHECK(gave_up);
  CHECK(slots.usage().waiting == 1);
  held.reset();
  second.join();
  CHECK(taken);
}

}  // namespace
}  // namespace stout::blowfish
