// The opponent of the tenants' caches: as the paper says, and as a naive model does.
#include "bench/tenants/s3_fifo.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::bench {
namespace {

using Cache = S3Fifo<std::uint64_t, std::uint64_t>;

// Reads a key of one byte. Returns true if it was in the cache.
bool Hits(Cache& cache, std::uint64_t key) {
  const bool hit = cache.Use(key) != nullptr;
  if (!hit) cache.Insert(key, key, 1);
  return hit;
}

// Algorithm 1 of the paper by vectors, oldest first. Searches and sums each time.
class Model {
 public:
  explicit Model(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  bool Use(std::uint64_t key) {
    for (Queue* const queue : {&small_, &main_}) {
      for (Key& each : *queue) {
        if (each.key != key) continue;
        each.uses = std::min(each.uses + 1, 3);
        return true;
      }
    }
    return false;
  }
  void Insert(std::uint64_t key, std::size_t bytes) {
    if (bytes > max_bytes_) return;
    while (Bytes(small_) + Bytes(main_) + bytes > max_bytes_) {
      Bytes(small_) * 10 >= max_bytes_ || main_.empty() ? EvictSmall() : EvictMain();
    }
    const auto is_key = [&](const Key& each) { return each.key == key; };
    (std::erase_if(ghost_, is_key) > 0 ? main_ : small_).push_back({key, bytes, 0});
  }
  [[nodiscard]] std::size_t bytes() const { return Bytes(small_) + Bytes(main_); }
  [[nodiscard]] std::size_t ghosts() const { return ghost_.size(); }

 private:
  struct Key {
    std::uint64_t key;
    std::size_t bytes;
    int uses;
  };
  using Queue = std::vector<Key>;

  static std::size_t Bytes(const Queue& queue) {
    std::size_t bytes = 0;
    for (const Key& each : queue) bytes += each.bytes;
    return bytes;
  }
  static Key Pop(Queue& queue) {
    const Key oldest = queue.front();
    queue.erase(queue.begin());
    return oldest;
  }
  void EvictSmall() {
    while (!small_.empty()) {
      Key oldest = Pop(small_);
      if (oldest.uses > 1) {
        main_.push_back({oldest.key, oldest.bytes, 0});
        continue;
      }
      ghost_.push_back(oldest);
      while (Bytes(ghost_) * 10 > max_bytes_ * 9) Pop(ghost_);
      return;
    }
  }
  void EvictMain() {
    Key oldest = Pop(main_);
    while (oldest.uses-- > 0) {
      main_.push_back(oldest);
      oldest = Pop(main_);
    }
  }

  const std::size_t max_bytes_;
  Queue small_;
  Queue main_;
  Queue ghost_;
};

}  // namespace

TEST_CASE("S3-FIFO evicts keys that were read once first", "[s3fifo]") {
  Cache cache(100);
  for (std::uint64_t key = 0; key < 50; ++key) {
    for (int i = 0; i < 3; ++i) Hits(cache, key);
  }
  for (std::uint64_t key = 1000; key < 3000; ++key) CHECK_FALSE(Hits(cache, key));
  CHECK(cache.bytes() == 100);
  for (std::uint64_t key = 0; key < 50; ++key) CHECK(Hits(cache, key));
}

TEST_CASE("S3-FIFO keeps a key that comes again after it was evicted", "[s3fifo]") {
  Cache cache(100);
  std::uint64_t next = 1000;
  const auto scan = [&](int keys) {
    for (int i = 0; i < keys; ++i) Hits(cache, next++);
  };
  Hits(cache, 1);
  scan(100);
  CHECK_FALSE(Hits(cache, 1));  // a ghost, so it goes to main
  scan(200);
  CHECK(Hits(cache, 1));

  Hits(cache, 2);
  scan(300);
  CHECK_FALSE(Hits(cache, 2));  // ghosts are forgotten, so it goes to small
  scan(100);
  CHECK_FALSE(Hits(cache, 2));
}

TEST_CASE("S3-FIFO does not keep a value that is larger than the cache", "[s3fifo]") {
  Cache cache(10);
  cache.Insert(1, 1, 10);
  cache.Insert(2, 2, 11);
  CHECK(cache.Use(1) != nullptr);
  CHECK(cache.Use(2) == nullptr);
}

TEST_CASE("S3-FIFO does as a naive model of the paper's algorithm", "[s3fifo]") {
  const auto seed = GENERATE(range<std::uint64_t>(0, test::Rounds("STOUT_SEEDS", 40)));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::size_t max_bytes = 1 + random.Below(60);
  const std::size_t keys = 1 + random.Below(100);
  const std::size_t largest = 1 + random.Below(8);
  Cache cache(max_bytes);
  Model model(max_bytes);
  for (int i = 0; i < 3000; ++i) {
    // Low keys are drawn more often.
    const std::uint64_t key = random.Below(1 + random.Below(keys));
    const std::uint64_t* const found = cache.Use(key);
    REQUIRE((found != nullptr) == model.Use(key));
    if (found != nullptr) {
      REQUIRE(*found == key);
      continue;
    }
    const std::size_t bytes = 1 + random.Below(largest);
    cache.Insert(key, key, bytes);
    model.Insert(key, bytes);
    REQUIRE(cache.bytes() == model.bytes());
    REQUIRE(cache.bytes() <= max_bytes);
    REQUIRE(cache.ghosts() == model.ghosts());
  }
}

}  // namespace stout::bench
