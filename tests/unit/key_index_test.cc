#include "stout/core/key_index.h"

#include <vector>

#include "tests/support/catch.h"

namespace stout {
using namespace internal;
namespace {

KeyIndex::Slot Find(const KeyIndex& index, std::uint32_t hash, KeyIndex::Slot slot) {
  return index.Find(hash, [&](KeyIndex::Slot s) { return s == slot; });
}

TEST_CASE("an index finds what was inserted and not what was erased", "[key_index]") {
  KeyIndex index;
  index.Insert(5, 100);
  index.Insert(5, 101);  // the same hash, another key
  CHECK(Find(index, 5, 100) == 100);
  CHECK(Find(index, 5, 101) == 101);
  CHECK(Find(index, 6, 100) == KeyIndex::kNone);
  index.Erase(5, 100);
  CHECK(Find(index, 5, 100) == KeyIndex::kNone);
  CHECK(Find(index, 5, 101) == 101);
  CHECK(index.size() == 1);
}

TEST_CASE("erasing closes the gap in a run that wraps around the end", "[key_index]") {
  // 64 cells at first: 62, 63, then 0 and 1 belong to one run.
  const std::vector<std::uint32_t> hashes{62, 62, 63, 62, 0};
  for (std::size_t erased = 0; erased < hashes.size(); ++erased) {
    CAPTURE(erased);
    KeyIndex index;
    for (std::uint32_t i = 0; i < hashes.size(); ++i) index.Insert(hashes[i], i);
    index.Erase(hashes[erased], static_cast<KeyIndex::Slot>(erased));
    for (std::uint32_t i = 0; i < hashes.size(); ++i) {
      CHECK((Find(index, hashes[i], i) == i) == (i != erased));
    }
  }
}

TEST_CASE("an index grows past its first cells", "[key_index]") {
  KeyIndex index;
  for (std::uint32_t i = 0; i < 10'000; ++i) index.Insert(i * 2654435761u, i);
  CHECK(index.size() == 10'000);
  bool all = true;
  for (std::uint32_t i = 0; i < 10'000; ++i) all &= Find(index, i * 2654435761u, i) == i;
  CHECK(all);
}

}  // namespace
}  // namespace stout
