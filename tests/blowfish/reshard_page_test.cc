// The pages that a reshard reads are bounded, whatever the sizes of values.

#include "blowfish/server/reshard_page.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "shard_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish::test {
namespace {

constexpr std::size_t kLargeValue = 5000;
constexpr PageLimits kLimits{.bytes = 20'000, .keys = 300};

// Small values, then large ones, some small ones, and deleted keys.
std::vector<KeyState> SmallAndLarge() {
  std::vector<KeyState> states;
  for (std::size_t i = 1000; i < 1900; ++i) {
    KeyState& state = states.emplace_back();
    state.key = "key" + std::to_string(i);
    state.stamp = {1, 1};
    if (i % 7 == 0) continue;
    const bool large = i >= 1250 && i < 1600;
    state.value = std::string(large ? kLargeValue : 10, static_cast<char>('a' + i % 26));
  }
  return states;
}

std::size_t SizeOf(const std::vector<KeyState>& page) {
  std::size_t bytes = 0;
  for (const KeyState& state : page)
    bytes += state.key.size() + (state.value ? state.value->size() : 0);
  return bytes;
}

TEST_CASE("a page has at most its bytes and one value, also if large values follow small ones",
          "[reshard][not_tsan]") {
  OpenedShard opened{Schema()};
  const std::vector<KeyState> states = SmallAndLarge();
  const auto write = [&](std::size_t i) {
    const auto& [key, stamp, value] = states[i];
    const WriteResult done =
        value ? opened.Put(key, stamp.version, *value) : opened.Delete(key, stamp.version);
    REQUIRE(done == WriteResult());
  };
  SECTION("in the log") {
    for (std::size_t i = 0; i < states.size(); ++i) write(i);
  }
  SECTION("in files and in the log") {
    for (std::size_t i = 0; i < states.size(); i += 2) write(i);
    opened.shard().Compact();
    opened.Rest();
    for (std::size_t i = 1; i < states.size(); i += 2) write(i);
  }
  std::vector<KeyState> read;
  for (;;) {
    const auto after = read.empty() ? std::nullopt : std::optional(read.back().key);
    std::vector<KeyState> page = ReadPage(opened.shard(), after, kLimits);
    if (page.empty()) break;
    CHECK(page.size() <= kLimits.keys);
    CHECK(SizeOf(page) < kLimits.bytes + kLargeValue + 10);
    std::ranges::move(page, std::back_inserter(read));
  }
  CHECK((read == states));  // A failure is not to print it.
}

}  // namespace
}  // namespace stout::blowfish::test
