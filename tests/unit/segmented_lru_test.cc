// The order of eviction of a cache, and the sample that tells what it would hold.
#include "stout/core/segmented_lru.h"

#include <deque>
#include <map>
#include <string>

#include "stout/core/ghost_cache.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

struct Element : SegmentedLruElement {
  char name = 0;
};
using Segment = SegmentedLruElement::Segment;

// A cache of 100 bytes, whose keys are letters of 10 bytes.
struct LetterCache {
  LetterCache() = default;
  LetterCache(const LetterCache&) = delete;
  LetterCache& operator=(const LetterCache&) = delete;
  ~LetterCache() {
    while (!order.empty()) order.Remove(order.Next());
  }

  void Insert(const std::string& names, Segment segment = Segment::kProbation) {
    for (const char name : names) {
      Element& element = elements[name];
      element.name = name;
      element.bytes = 10;
      element.segment = segment;
      order.Insert(element);
    }
  }
  void Use(const std::string& names) {
    for (const char name : names) order.Use(elements.at(name));
  }
  // Evicts all.
  std::string Evicted() {
    std::string names;
    while (!order.empty()) {
      Element& next = order.Next();
      order.Remove(next);
      names += next.name;
    }
    return names;
  }

  std::map<char, Element> elements;
  SegmentedLru<Element> order{100};
};

}  // namespace

TEST_CASE("segmented lru: keys that were used once go before those that were used twice") {
  LetterCache cache;
  cache.Insert("abcd");
  cache.Use("ac");
  cache.Insert("e");
  CHECK(cache.Evicted() == "bdeac");
}

TEST_CASE("segmented lru: each segment goes from its least recently used key") {
  LetterCache cache;
  cache.Insert("abcd");
  cache.Use("abcd");
  cache.Use("b");
  CHECK(cache.Evicted() == "acdb");
}

TEST_CASE("segmented lru: what exceeds half of the bytes goes back on probation") {
  LetterCache cache;
  cache.Insert("abcdefg");
  cache.Use("abcdefg");
  CHECK(cache.elements['a'].segment == Segment::kProbation);
  CHECK(cache.elements['b'].segment == Segment::kProbation);
  CHECK(cache.elements['c'].segment == Segment::kProtected);
  cache.Insert("h");
  CHECK(cache.Evicted() == "abhcdefg");
}

TEST_CASE("segmented lru: guests go first, and are lifted one segment by a use") {
  LetterCache cache;
  cache.Insert("a");
  cache.Insert("xyz", Segment::kGuest);
  cache.Use("y");
  CHECK(cache.elements['y'].segment == Segment::kProbation);
  CHECK(cache.Evicted() == "xzay");
}

TEST_CASE("segmented lru: an element that is requeued keeps its segment") {
  LetterCache cache;
  cache.Insert("abc");
  cache.order.Requeue(cache.elements['a']);
  CHECK(cache.elements['a'].segment == Segment::kProbation);
  CHECK(cache.Evicted() == "bca");
}

TEST_CASE("segmented lru: the element after another one was used next in its segment") {
  LetterCache cache;
  cache.Insert("abcd");
  cache.Use("b");
  CHECK(cache.order.After(cache.elements['a']) == &cache.elements['c']);
  CHECK(cache.order.After(cache.elements['b']) == nullptr);
  CHECK(cache.order.After(cache.elements['d']) == nullptr);
}

TEST_CASE("ghost cache: without a sample it is an LRU cache") {
  GhostCache ghost(100);
  CHECK(ghost.Touch(1, 10, 30) == false);
  CHECK(ghost.Touch(2, 10, 30) == false);
  CHECK(ghost.Touch(3, 10, 30) == false);
  CHECK(ghost.Touch(1, 10, 30) == true);
  CHECK(ghost.Touch(4, 10, 30) == false);  // evicts 2
  CHECK(ghost.Touch(2, 10, 30) == false);
  CHECK(ghost.Touch(1, 10, 30) == true);
  CHECK(ghost.keys() == 3);
  CHECK(ghost.rate() == 1);
}

TEST_CASE("ghost cache: a key that has grown makes room for itself") {
  GhostCache ghost(100);
  (void)ghost.Touch(1, 10, 30);
  (void)ghost.Touch(2, 10, 30);
  CHECK(ghost.Touch(2, 25, 30) == true);
  CHECK(ghost.keys() == 1);
  CHECK(ghost.Touch(3, 31, 30) == false);
  CHECK(ghost.keys() == 0);
}

TEST_CASE("ghost cache: a sample finds the hit rate of all keys") {
  constexpr std::size_t kCapacity = 20'000;
  constexpr std::size_t kData = 50'000;  // read equally often: a cache hits with 0.4
  GhostCache ghost(500);
  SplitMix64 random(1);
  int hits = 0;
  int asked = 0;
  for (int i = 0; i < 600'000; ++i) {
    const auto hit = ghost.Touch(random.Below(kData) + 1, 1, kCapacity);
    if (!hit || i < 200'000) continue;
    ++asked;
    hits += *hit ? 1 : 0;
  }
  CHECK(ghost.keys() <= 500);
  CHECK(ghost.rate() < .05);
  CHECK(asked == Approx(400'000 * ghost.rate()).epsilon(.15));
  CHECK(static_cast<double>(hits) / asked == Approx(.4).margin(.03));
}

TEST_CASE("ghost cache: keys that all fit get a small sample") {
  constexpr std::size_t kCapacity = 10'000;
  GhostCache ghost(100);
  for (std::uint64_t key = 1; key <= 80; ++key) (void)ghost.Touch(key, 10, kCapacity);
  CHECK(ghost.rate() == 1);
  for (int i = 0; i < 10; ++i) ghost.Shrink(kCapacity);
  CHECK(ghost.rate() == 1.0 / 16);  // 1,000 keys fit
  CHECK(ghost.keys() < 20);
  // Keys that are larger get a larger sample.
  for (std::uint64_t key = 1; key <= 80; ++key) (void)ghost.Touch(key, 500, kCapacity);
  CHECK(ghost.rate() == 1);
}

}  // namespace stout
