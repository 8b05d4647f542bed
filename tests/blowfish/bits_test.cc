#include "blowfish/index/bits.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "blowfish/index/select.h"
#include "padded.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

TEST_CASE("numbers of any width are read back", "[bits]") {
  const std::uint64_t seed = GENERATE(range(1, 20));
  CAPTURE(seed);
  SplitMix64 random(seed);
  std::vector<std::pair<std::uint64_t, int>> numbers(1000);
  BitWriter writer;
  for (auto& [number, width] : numbers) {
    width = static_cast<int>(random.Below(kMaxBitWidth + 1));
    number = LowBits(random.Next(), width);
    writer.Put(number, width);
    if (random.Below(10) == 0) {
      writer.Align();
      CHECK(writer.bits() % 8 == 0);
    }
  }
  SplitMix64 again(seed);
  const std::vector<std::byte> bytes = Padded(writer.Take());
  std::uint64_t bit = 0;
  for (const auto& [number, width] : numbers) {
    (void)again.Below(kMaxBitWidth + 1);
    (void)again.Next();
    CHECK(ReadBits(bytes.data(), bit, width) == number);
    bit += width;
    if (again.Below(10) == 0) bit = (bit + 7) / 8 * 8;
  }
}

TEST_CASE("a packed array gives what was written", "[bits]") {
  const int width = GENERATE(range(0, kMaxBitWidth + 1));
  CAPTURE(width);
  SplitMix64 random(width);
  std::vector<std::uint64_t> numbers(100);
  BitWriter writer;
  for (std::uint64_t& number : numbers) writer.Put(number = LowBits(random.Next(), width), width);
  CHECK(PackedBytes(numbers.size(), width) == (writer.bits() + 7) / 8);
  const std::vector<std::byte> bytes = Padded(writer.Take());
  const PackedArray array(bytes.data(), width);
  for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(array[i] == numbers[i]);
}

TEST_CASE("select finds every bit of a word, with and without BMI2", "[bits]") {
  SplitMix64 random(1);
  for (int round = 0; round < 1000; ++round) {
    // Sparse words and dense ones.
    std::uint64_t word = random.Next();
    for (std::uint64_t i = random.Below(4); i > 0; --i) {
      word = i % 2 ? word & random.Next() : word | random.Next();
    }
    int rank = 0;
    for (int place = 0; place < 64; ++place) {
      if (!(word >> place & 1)) continue;
      REQUIRE(SelectPortable(word, rank) == place);
      REQUIRE(Select(word, rank) == place);
      ++rank;
    }
  }
}

}  // namespace
}  // namespace stout::blowfish
