#include "key_locks.h"

#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "store_test_support.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using rocksdb_store::KeyLocks;

std::vector<WriteItem> Items(const std::vector<std::string>& keys) {
  std::vector<WriteItem> items;
  for (const std::string& key : keys) items.push_back(Put(key, "", 1));
  return items;
}

TEST_CASE("batches with no key in common do not wait for each other", "[key_locks]") {
  KeyLocks locks;
  const auto some = Items({"a", "b"});
  const auto others = Items({"c", "d", ""});
  const KeyLocks::Guard first(locks, some);
  const KeyLocks::Guard second(locks, others);
  SUCCEED("both are held by one thread");
}

TEST_CASE("a batch waits for each of its keys, and takes none before", "[key_locks]") {
  KeyLocks locks;
  const auto held = Items({"a", "b"});
  const auto overlapping = Items({"b", "c"});
  const auto free = Items({"c"});
  std::atomic<bool> released = false;
  std::atomic<bool> too_soon = false;
  std::thread waiter;
  {
    const KeyLocks::Guard guard(locks, held);
    waiter = std::thread([&] {
      const KeyLocks::Guard guard(locks, overlapping);
      too_soon = !released;
    });
    // "c" is not taken, in any order of the threads.
    const KeyLocks::Guard other(locks, free);
    released = true;
  }
  waiter.join();
  CHECK_FALSE(too_soon);
}

// The counters are plain: ThreadSanitizer sees any two threads that hold a key together.
TEST_CASE("a key is held by one batch at a time", "[key_locks]") {
  constexpr std::size_t kKeys = 8;
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  KeyLocks locks;
  std::array<int, kKeys> counters{};
  std::atomic<int> expected = 0;
  const auto run = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::size_t> keys;
      for (std::size_t k = 0; k < kKeys; ++k) {
        if (random() % 3 == 0) keys.push_back(k);
      }
      std::vector<WriteItem> items;
      for (const std::size_t k : keys) items.push_back(Put(std::to_string(k), "", 1));
      const KeyLocks::Guard guard(locks, items);
      for (const std::size_t k : keys) ++counters[k];
      expected += static_cast<int>(keys.size());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(run, t + 1);
  for (std::thread& thread : threads) thread.join();
  int sum = 0;
  for (const int counter : counters) sum += counter;
  CHECK(sum == expected);
}

}  // namespace
}  // namespace stout::test
