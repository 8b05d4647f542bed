// A filter has all of its keys, and few others.

#include "blowfish/index/key_filter.h"

#include <cstdint>
#include <string>
#include <vector>

#include "blowfish/index/shard_of.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

std::vector<std::string> RandomKeys(SplitMix64& random, std::size_t count) {
  std::vector<std::string> keys;
  while (keys.size() < count) {
    std::string key = "user:" + std::to_string(random.Next());
    if (ShardOf(key, 64) == 7) keys.push_back(std::move(key));
  }
  return keys;
}

TEST_CASE("a key filter has its keys, and about one of a hundred others", "[key_filter]") {
  const std::size_t count = GENERATE(1, 3, 25, 26, 1000, 20'000);
  CAPTURE(count);
  SplitMix64 random(count);
  const std::vector<std::string> keys = RandomKeys(random, count);
  std::vector<std::uint64_t> hashes;
  for (const std::string& key : keys) hashes.push_back(KeyFilter::HashOf(key));
  const std::vector<std::byte> bytes = BuildKeyFilter(hashes);
  CHECK(bytes.size() <= count * 10 / 8 + 32);
  const KeyFilter filter = KeyFilter::Open(bytes).value();
  bool all = true;
  for (const std::string& key : keys) all &= filter.MayHave(KeyFilter::HashOf(key));
  CHECK(all);
  std::size_t wrong = 0;
  constexpr std::size_t kOthers = 10'000;
  for (const std::string& key : RandomKeys(random, kOthers))
    wrong += filter.MayHave(KeyFilter::HashOf(key));
  CHECK(wrong < kOthers / 50);
}

TEST_CASE("a key filter that is missing, or of no keys, has all keys", "[key_filter]") {
  CHECK(KeyFilter().MayHave(7));
  CHECK(KeyFilter::Open(BuildKeyFilter({})).value().MayHave(7));
}

TEST_CASE("a key filter of no whole blocks is refused, and of any others not", "[key_filter]") {
  alignas(8) std::byte bytes[96] = {};
  for (std::size_t size = 0; size <= sizeof bytes; ++size) {
    const auto filter = KeyFilter::Open(std::span(bytes, size));
    CHECK(filter.has_value() == (size % 32 == 0));
    if (filter) (void)filter->MayHave(~std::uint64_t{0});
  }
}

}  // namespace
}  // namespace stout::blowfish
