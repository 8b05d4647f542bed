// Goal: a sequence in Elias-Fano is the vector that it was built from, whatever its gaps, and bytes
// that are not one are refused or harmless.
#include "blowfish/index/elias_fano.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "damaged.h"
#include "padded.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr int kShapes = 6;

// Sequences even and uneven: in some, samples of ones or of zeros lie far apart.
Numbers MakeNumbers(int shape, std::uint64_t size, SplitMix64& random) {
  Numbers numbers(size);
  const std::uint64_t start = random.Next() >> 1;
  std::uint64_t at = start;
  for (std::uint64_t i = 0; i < size; ++i) {
    switch (shape) {
      case 0:  // All the same.
        numbers[i] = start;
        break;
      case 1:  // Dense.
        numbers[i] = i;
        break;
      case 2:  // Below a bound, with or without duplicates.
        numbers[i] = random.Next() >> (start % 64);
        break;
      case 3:  // Gaps of any magnitude.
        numbers[i] = at;
        at += random.Next() >> (i == 0 ? 1 : 8 + random.Below(56));
        break;
      case 4:  // Clusters: the same again and again, then far on.
        numbers[i] = at;
        if (random.Below(1500) == 0) at += random.Below(50'000);
        break;
      default:  // Long runs of the next number, then far on.
        numbers[i] = at;
        at += random.Below(1500) == 0 ? random.Below(50'000) : 1;
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Numbers Probes(const Numbers& numbers, SplitMix64& random) {
  Numbers probes = {0, 1, std::numeric_limits<std::uint64_t>::max()};
  for (int i = 0; i < 300 && !numbers.empty(); ++i) {
    const std::uint64_t number = numbers[random.Below(numbers.size())];
    probes.insert(probes.end(), {number - 1, number, number + 1});
    probes.push_back(numbers.front() + random.Below(numbers.back() - numbers.front() + 1));
  }
  return probes;
}

TEST_CASE("a sequence gives and finds what was written", "[elias_fano]") {
  const std::uint64_t seed = GENERATE(range(1, 26));
  const int shape = GENERATE(range(0, kShapes));
  CAPTURE(seed, shape);
  SplitMix64 random(seed * kShapes + shape);
  const std::uint64_t size = seed < 5 ? seed - 1 : random.Below(8000);
  const Numbers numbers = MakeNumbers(shape, size, random);
  const std::vector<std::byte> bytes = Padded(BuildEliasFano(numbers));
  const EliasFano sequence = OpenPadded<EliasFano>(bytes).value();
  REQUIRE(sequence.size() == numbers.size());

  Numbers read(size);
  for (std::uint64_t i = 0; i < size; ++i) read[i] = sequence[i];
  CHECK(read == numbers);

  const std::uint64_t from = random.Below(size + 1);
  Numbers rest;
  for (EliasFano::Cursor cursor(sequence, from); cursor.index() < size;) {
    rest.push_back(cursor.Next());
  }
  CHECK(rest == Numbers(numbers.begin() + from, numbers.end()));

  for (const std::uint64_t probe : Probes(numbers, random)) {
    CAPTURE(probe);
    const auto bound = std::lower_bound(numbers.begin(), numbers.end(), probe);
    const std::uint64_t index = bound - numbers.begin();
    REQUIRE(sequence.LowerBound(probe) == index);
    const bool has = bound != numbers.end() && *bound == probe;
    REQUIRE(sequence.Find(probe) == (has ? std::optional(index) : std::nullopt));
  }
}

TEST_CASE("a sequence may span all 64 bits", "[elias_fano]") {
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  const Numbers numbers = {0, 1, max / 2, max / 2 + 1, max - 1, max, max};
  const std::vector<std::byte> bytes = Padded(BuildEliasFano(numbers));
  const EliasFano sequence = OpenPadded<EliasFano>(bytes).value();
  for (std::uint64_t i = 0; i < numbers.size(); ++i) CHECK(sequence[i] == numbers[i]);
  CHECK(sequence.LowerBound(max) == 5);
  CHECK(sequence.LowerBound(2) == 2);
}

TEST_CASE("the layout is that of the example", "[elias_fano]") {
  const std::vector<std::byte> bytes = BuildEliasFano(Numbers{5, 5, 8, 13, 20});
  // Header, upper, a sample of 4 bits a kind, lower.
  REQUIRE(bytes.size() == 32 + 8 + 1 + 1 + 1);
  CHECK(LoadWord(bytes.data()) == 5);
  CHECK(LoadWord(bytes.data() + 8) == 5);
  CHECK(LoadWord(bytes.data() + 16) == 20);
  CHECK(LoadWord(bytes.data() + 24) == 1);
  CHECK(LoadWord(bytes.data() + 32) == 0b0'1000'1000'1011);
  CHECK(bytes[40] == std::byte{0});
  CHECK(bytes[41] == std::byte{2});
  CHECK(bytes[42] == std::byte{0b10100});
}

TEST_CASE("a sequence takes the bits that its header promises", "[elias_fano]") {
  const int width = GENERATE(0, 1, 4, 20, 45, 64);
  CAPTURE(width);
  SplitMix64 random(width);
  constexpr std::uint64_t kSize = 100'000;
  Numbers numbers(kSize);
  for (std::uint64_t& number : numbers) {
    // Gaps of this number of bits on average; numbers of 64.
    number = width == 64 ? random.Next() : random.Below(kSize << width);
  }
  std::sort(numbers.begin(), numbers.end());
  const double gap = static_cast<double>(numbers.back() - numbers.front()) / kSize;
  const double promised = 2 + std::max(0.0, std::log2(gap)) + 0.25;
  CHECK(BuildEliasFano(numbers).size() * 8.0 <= promised * kSize + 8 * 64);
}

// All queries that are allowed for bytes that open.
void Exercise(const EliasFano& sequence, SplitMix64& random) {
  std::uint64_t sum = 0;
  for (EliasFano::Cursor cursor(sequence, 0); cursor.index() < sequence.size();) {
    sum += cursor.Next();
  }
  for (std::uint64_t i = 0; i < sequence.size(); ++i) sum -= sequence[i];
  CHECK(sum == 0);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t value = random.Next() >> random.Below(64);
    CHECK(sequence.LowerBound(value) <= sequence.size());
    CHECK(sequence.Find(value).value_or(0) <= sequence.size());
  }
}

TEST_CASE("bytes that are no sequence are refused or harmless", "[elias_fano]") {
  const int shape = GENERATE(range(0, kShapes));
  const std::uint64_t size = GENERATE(0, 1, 300);
  CAPTURE(shape, size);
  SplitMix64 random(shape);
  const std::vector<std::byte> bytes = Padded(BuildEliasFano(MakeNumbers(shape, size, random)));
  FlipEachBit(bytes, [&](const std::vector<std::byte>& flipped) {
    if (const auto sequence = OpenPadded<EliasFano>(flipped)) Exercise(*sequence, random);
  });
  CutAtEachLength(bytes, [](const std::vector<std::byte>& cut) {
    CHECK(OpenPadded<EliasFano>(cut).error() == Errc::kCorrupt);
  });
  std::vector<std::byte> longer(bytes.begin(), bytes.end() - kBitPadding);
  longer.push_back(std::byte{0});
  CHECK(OpenPadded<EliasFano>(Padded(longer)).error() == Errc::kCorrupt);
}

TEST_CASE("more ones than numbers are refused, though all samples are right", "[elias_fano]") {
  constexpr std::uint64_t kSize = 8000;
  Numbers dense(kSize);
  for (std::uint64_t i = 0; i < kSize; ++i) dense[i] = i;
  std::vector<std::byte> bytes = Padded(BuildEliasFano(dense));
  const EliasFano::Shape shape = EliasFano::Shape::Of(kSize, 0, kSize - 1);
  const auto samples = bytes.begin() + 32 + shape.upper_bytes();
  std::fill(bytes.begin() + 32, samples, std::byte{0xff});
  BitWriter writer;
  for (std::uint64_t place = 0; place < shape.upper_bits(); place += 256) {
    writer.Put(place, shape.sample_width());
  }
  // They go on where the sequence ends, and beyond the padding.
  const std::vector<std::byte> deceit = writer.Take();
  REQUIRE(bytes.end() - samples < std::ssize(deceit));
  std::copy(deceit.begin(), deceit.begin() + (bytes.end() - samples), samples);
  CHECK(OpenPadded<EliasFano>(bytes).error() == Errc::kCorrupt);
}

}  // namespace
}  // namespace stout::blowfish
