// The same random operations on KeyIndex and on the standard library's table.
#include "stout/core/key_index.h"

#include <cstdint>
#include <unordered_map>

#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout {
using namespace internal;
namespace {

TEST_CASE("KeyIndex is a map from keys to slots", "[key_index][long]") {
  const auto seed =
      GENERATE(take(test::Rounds("STOUT_SEEDS", 50), random<std::uint64_t>(0, UINT64_MAX)));
  CAPTURE(seed);
  SplitMix64 random(seed);
  // Few hashes make long runs, few keys make them empty and full again.
  const std::uint32_t keys = static_cast<std::uint32_t>(random.Below(500)) + 1;
  const std::uint32_t hashes = static_cast<std::uint32_t>(random.Below(300)) + 1;
  const std::uint32_t shift = static_cast<std::uint32_t>(random.Below(64));
  const auto hash_of = [&](std::uint32_t key) { return key % hashes + shift; };

  KeyIndex index;
  std::unordered_map<std::uint32_t, KeyIndex::Slot> model;  // the slot of a key is the key itself
  for (int step = 0; step < 3000; ++step) {
    const auto key = static_cast<std::uint32_t>(random.Below(keys));
    const bool present = model.count(key) > 0;
    const KeyIndex::Slot found =
        index.Find(hash_of(key), [&](KeyIndex::Slot slot) { return slot == key; });
    REQUIRE(found == (present ? key : KeyIndex::kNone));
    if (present) {
      index.Erase(hash_of(key), key);
      model.erase(key);
    } else {
      index.Insert(hash_of(key), key);
      model[key] = key;
    }
    REQUIRE(index.size() == model.size());
  }
  for (std::uint32_t key = 0; key < keys; ++key) {
    const bool found =
        index.Find(hash_of(key), [&](KeyIndex::Slot slot) { return slot == key; }) == key;
    REQUIRE(found == (model.count(key) > 0));
  }
}

}  // namespace
}  // namespace stout
