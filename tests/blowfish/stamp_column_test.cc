// Goal: a stamp column is the vector of stamps that it was written from, whatever they are, and
// bytes that are not one are refused or harmless.
#include "blowfish/index/stamp_column.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "damaged.h"
#include "padded.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Stamps = std::vector<Stamp>;

std::vector<std::byte> EncodeStamps(const Stamps& stamps) {
  StampColumnWriter writer;
  for (const Stamp& stamp : stamps) writer.Append(stamp);
  return writer.Finish();
}

constexpr int kStampShapes = 5;

Stamps MakeStamps(int shape, std::uint64_t size, SplitMix64& random) {
  Stamps stamps(size);
  const Stamp start{random.Next(), random.Next() >> 1};
  const int shift = static_cast<int>(random.Below(64));
  for (std::uint64_t i = 0; i < size; ++i) {
    switch (shape) {
      case 0:
        stamps[i] = start;
        break;
      case 1:  // One writer.
        stamps[i] = {start.epoch, start.version + random.Below(size)};
        break;
      case 2:  // Some writers, each with its own counter.
        stamps[i].epoch = start.epoch + random.Below(10);
        stamps[i].version = (stamps[i].epoch << 40) + random.Below(1000);
        break;
      case 3:  // Ranges of any width.
        stamps[i] = {random.Below(3), random.Next() >> shift};
        break;
      default:
        stamps[i] = {random.Next(), random.Next()};
    }
  }
  return stamps;
}

Stamps All(const StampColumn& column) {
  Stamps stamps(column.size());
  for (std::uint64_t i = 0; i < stamps.size(); ++i) stamps[i] = column[i];
  return stamps;
}

TEST_CASE("a stamp column gives what was written", "[stamps]") {
  const int shape = GENERATE(range(0, kStampShapes));
  const std::uint64_t seed = GENERATE(range(1, 31));
  CAPTURE(shape, seed);
  SplitMix64 random(seed * kStampShapes + shape);
  const Stamps stamps = MakeStamps(shape, seed < 4 ? seed - 1 : random.Below(2000), random);
  const std::vector<std::byte> bytes = Padded(EncodeStamps(stamps));
  const StampColumn column = OpenPadded<StampColumn>(bytes).value();
  CHECK((All(column) == stamps));
}

TEST_CASE("versions may span all 64 bits", "[stamps]") {
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  const Stamps stamps = {{max, max}, {max, 0}, {max, 1}, {0, max / 2}, {0, 0}};
  const std::vector<std::byte> bytes = Padded(EncodeStamps(stamps));
  CHECK((All(OpenPadded<StampColumn>(bytes).value()) == stamps));
}

TEST_CASE("stamps take the bits in which they differ", "[stamps]") {
  SplitMix64 random(1);
  constexpr std::uint64_t kSize = 10'000;
  CHECK(EncodeStamps(MakeStamps(0, kSize, random)).size() == 40);
  // 14 bits of 10'000 versions; 4 of ten epochs and 10 of a thousand versions.
  CHECK(EncodeStamps(MakeStamps(1, kSize, random)).size() <= 40 + kSize * 14 / 8);
  CHECK(EncodeStamps(MakeStamps(2, kSize, random)).size() <= 24 + 160 + kSize * (4 + 10) / 8);
}

TEST_CASE("the layout of stamps is that of the example", "[stamps]") {
  const std::vector<std::byte> bytes = EncodeStamps({{7, 100}, {9, 1003}, {7, 102}});
  REQUIRE(bytes.size() == 24 + 32 + 1 + 1);
  const std::vector<std::uint64_t> words = {3, 2, 2, 7, 100, 9, 1003};
  for (std::size_t i = 0; i < words.size(); ++i) CHECK(LoadWord(bytes.data() + 8 * i) == words[i]);
  CHECK(bytes[56] == std::byte{0b010});
  CHECK(bytes[57] == std::byte{0b100000});
}

TEST_CASE("bytes that are no stamp column are refused or harmless", "[stamps]") {
  const int shape = GENERATE(range(0, kStampShapes));
  const std::uint64_t size = GENERATE(0, 1, 50);
  CAPTURE(shape, size);
  SplitMix64 random(shape);
  const std::vector<std::byte> bytes = Padded(EncodeStamps(MakeStamps(shape, size, random)));
  std::uint64_t sum = 0;
  FlipEachBit(bytes, [&](const std::vector<std::byte>& flipped) {
    if (const auto column = OpenPadded<StampColumn>(flipped)) {
      // A column of stamps that take no bits can claim any size.
      for (std::uint64_t i = 0; i < column->size() && i < 100; ++i) sum += (*column)[i].version;
      if (column->size() > 0) sum += (*column)[column->size() - 1].epoch;
    }
  });
  CAPTURE(sum);
  CutAtEachLength(bytes, [](const std::vector<std::byte>& cut) {
    CHECK(OpenPadded<StampColumn>(cut).error() == Errc::kCorrupt);
  });
}

}  // namespace
}  // namespace stout::blowfish
