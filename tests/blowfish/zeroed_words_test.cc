#include "blowfish/index/zeroed_words.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

TEST_CASE("words begin as zero, in memory of the heap or mapped", "[zeroed_words]") {
  // Around the sizes from which memory is mapped, and advised to be of huge pages.
  const std::size_t size = GENERATE(1, 32767, 32768, 32769, 262143, 262144, 300001);
  CAPTURE(size);
  ZeroedWords words(size);
  CHECK(std::all_of(words.data(), words.data() + size, [](auto word) { return word == 0; }));
  std::fill(words.data(), words.data() + size, ~std::uint64_t{0});
  CHECK(words.bytes() >= size * 8);
  CHECK(words.bytes() < size * 8 + 65536);  // No machine has larger pages.

  const std::size_t bytes = words.bytes();
  const ZeroedWords taken = std::move(words);
  CHECK(taken.bytes() == bytes);
  CHECK(taken.data()[size - 1] == ~std::uint64_t{0});
  CHECK(words.bytes() == 0);       // NOLINT(bugprone-use-after-move)
  CHECK(words.data() == nullptr);  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("no words take no memory", "[zeroed_words]") {
  CHECK(ZeroedWords().bytes() == 0);
  CHECK(ZeroedWords(0).bytes() == 0);
  CHECK(ZeroedWords(0).data() == nullptr);
}

}  // namespace
}  // namespace stout::blowfish
