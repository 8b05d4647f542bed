#include "key_locks.h"

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "store_test_support.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using rocksdb_store::KeyLocks;

WriteBatch OfKeys(const std::vector<std::string>& keys) {
  WriteBatch batch;
  for (const std::string& key : keys) batch.items.push_back(Put(key, "", 1));
  return batch;
}

// Holds the keys of one batch.
class Guard {
 public:
  Guard(KeyLocks& locks, const WriteBatch& batch) : batches_{&batch}, guard_(locks, batches_) {}

 private:
  const std::array<const WriteBatch*, 1> batches_;
  const KeyLocks::Guard guard_;
};

TEST_CASE("batches with no key in common do not wait for each other", "[key_locks]") {
  KeyLocks locks;
  const auto some = OfKeys({"a", "b"});
  const auto others = OfKeys({"c", "d", ""});
  const Guard first(locks, some);
  const Guard second(locks, others);
  SUCCEED("both are held by one thread");
}

TEST_CASE("a group ends before a batch that has a key of an earlier one", "[key_locks]") {
  KeyLocks locks;
  const WriteBatch ab = OfKeys({"a", "b"});
  const WriteBatch c = OfKeys({"c"});
  const WriteBatch db = OfKeys({"d", "b"});
  const WriteBatch e = OfKeys({"e"});
  const std::array<const WriteBatch*, 4> batches{&ab, &c, &db, &e};
  std::atomic<bool> released = false;
  std::atomic<bool> too_soon = false;
  std::thread waiter;
  {
    const KeyLocks::Guard group(locks, batches);
    REQUIRE(group.batches().size() == 2);
    const WriteBatch de = OfKeys({"d", "e"});
    const Guard free(locks, de);  // d and e are not taken
    waiter = std::thread([&] {
      const Guard waits(locks, c);
      too_soon = !released;
    });
    // Time to take c too soon.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    released = true;
  }
  waiter.join();
  CHECK_FALSE(too_soon);
}

TEST_CASE("a batch waits for each of its keys, and takes none before", "[key_locks]") {
  KeyLocks locks;
  const auto held = OfKeys({"a", "b"});
  const auto overlapping = OfKeys({"b", "c"});
  const auto free = OfKeys({"c"});
  std::atomic<bool> released = false;
  std::atomic<bool> too_soon = false;
  std::thread waiter;
  {
    const Guard guard(locks, held);
    waiter = std::thread([&] {
      const Guard guard(locks, overlapping);
      too_soon = !released;
    });
    // "c" is not taken, in any order of the threads.
    const Guard other(locks, free);
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
      WriteBatch batch;
      for (const std::size_t k : keys) batch.items.push_back(Put(std::to_string(k), "", 1));
      const Guard guard(locks, batch);
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
