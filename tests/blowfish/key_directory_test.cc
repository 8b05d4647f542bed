// Goal: a key directory is the sorted vector of keys that it was written from, and bytes that are
// not one are refused or harmless.
#include "blowfish/index/key_directory.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/index/key_directory_writer.h"
#include "blowfish/index/key_numbering.h"
#include "damaged.h"
#include "key_shapes.h"
#include "padded.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

std::vector<std::byte> Encode(const Keys& keys) {
  KeyDirectoryWriter writer;
  for (const std::string& key : keys) writer.Append(key);
  CHECK(writer.size() == keys.size());
  return writer.Finish().value();
}

Keys Scanned(const KeyDirectory& directory, std::uint64_t from, std::size_t most) {
  Keys keys;
  directory.Scan(from, [&](std::uint64_t record, std::string_view key) {
    CHECK(record == from + keys.size());
    keys.emplace_back(key);
    return keys.size() < most;
  });
  return keys;
}

// Keys, and what is next to keys.
Keys Probes(const Keys& keys, int shape, SplitMix64& random) {
  Keys probes = {"", std::string(1, '\0'), "\xff", std::string(200, '\xff'), "user:", "user;"};
  for (int i = 0; i < 200; ++i) {
    probes.push_back(RandomKey(shape, random));
    probes.push_back(RandomKey(static_cast<int>(random.Below(kKeyShapes)), random));
    if (keys.empty()) continue;
    std::string key = keys[random.Below(keys.size())];
    probes.push_back(key);
    probes.push_back(key + '\0');
    probes.push_back(key + '\xff');
    if (key.empty()) continue;
    probes.push_back(key.substr(0, random.Below(key.size())));
    key[random.Below(key.size())] += random.Below(2) == 0 ? 1 : -1;
    probes.push_back(key);
  }
  return probes;
}

TEST_CASE("a key directory gives and finds the keys it was written from", "[keys]") {
  const int shape = GENERATE(range(0, kKeyShapes));
  const std::uint64_t seed = GENERATE(range(1, 7));
  CAPTURE(shape, seed);
  SplitMix64 random(seed * kKeyShapes + shape);
  // None, one, a block, a key more, and many.
  const std::uint64_t size = seed == 6 ? 3000 : std::vector{0, 1, 16, 17, 400}[seed - 1];
  const Keys keys = MakeKeys(shape, size, random);
  const std::vector<std::byte> bytes = Padded(Encode(keys));
  const KeyDirectory directory = OpenPadded<KeyDirectory>(bytes).value();
  REQUIRE(directory.size() == keys.size());
  CHECK(directory.bytes() >= bytes.size() - kBitPadding);

  for (std::uint64_t record = 0; record < keys.size(); ++record) {
    std::string key = "before ";
    directory.AppendKey(record, key);
    REQUIRE(key == "before " + keys[record]);
    REQUIRE(directory.Find(keys[record]) == record);
  }
  for (const std::string& probe : Probes(keys, shape, random)) {
    CAPTURE(probe);
    const auto bound = std::lower_bound(keys.begin(), keys.end(), probe);
    const std::uint64_t record = bound - keys.begin();
    REQUIRE(directory.LowerBound(probe) == record);
    const bool has = bound != keys.end() && *bound == probe;
    REQUIRE(directory.Find(probe) == (has ? std::optional(record) : std::nullopt));
  }

  CHECK(Scanned(directory, 0, keys.size() + 1) == keys);
  const std::uint64_t from = random.Below(keys.size() + 1);
  const std::uint64_t to = std::min<std::uint64_t>(from + 20, keys.size());
  CHECK(Scanned(directory, from, 20) == Keys(keys.begin() + from, keys.begin() + to));
}

TEST_CASE("keys out of order and keys that come twice are refused", "[keys]") {
  const Keys keys = GENERATE(values<Keys>({{"b", "a"}, {"a", "b", "b"}, {"", ""}, {"ab", "a"}}));
  KeyDirectoryWriter writer;
  for (const std::string& key : keys) writer.Append(key);
  CHECK(writer.Finish().error() == Errc::kBadOptions);
}

double BitsPerKey(const Keys& keys) { return Encode(keys).size() * 8.0 / keys.size(); }

TEST_CASE("the smaller layout is chosen", "[keys]") {
  SplitMix64 random(1);
  constexpr std::uint64_t kSize = 20'000;
  Keys decimals(kSize);
  Keys dense(kSize);
  for (std::uint64_t i = 0; i < kSize; ++i) {
    decimals[i] = "user:" + std::to_string(i);
    dense[i] = BigEndian((std::uint64_t{7} << 40) + i);
  }
  std::sort(decimals.begin(), decimals.end());
  CHECK(BitsPerKey(decimals) < 6);
  CHECK(BitsPerKey(dense) < 3);
  // 2 + 64 - log2(20'000) = 51.7.
  CHECK(BitsPerKey(MakeKeys(0, kSize, random)) < 52.2);
  // Front coding: 39 digits, of which some 4 are in common; two lengths.
  CHECK(BitsPerKey(MakeKeys(7, kSize, random)) < 8 * (39 - 4 + 3));
  // Few keys are not worth sets of bytes.
  CHECK(Encode({"a", "b"}).size() < 40);
}

TEST_CASE("keys are numbered as in the example", "[keys]") {
  const auto bit = [](char byte) { return std::uint64_t{1} << (byte % 64); };
  const std::vector<KeyNumbering::Alphabet> alphabets = {
      {0, bit('a') | bit('b')}, {bit('1') | bit('2')}, {bit('2')}};
  const KeyNumbering numbering = KeyNumbering::Make(alphabets, 2).value();
  CHECK(numbering.NumberOf("a1") == 0);
  CHECK(numbering.NumberOf("a12") == 1);
  CHECK(numbering.NumberOf("b2") == 6);
  CHECK_FALSE(numbering.NumberOf("a"));
  CHECK_FALSE(numbering.NumberOf("a122"));
  CHECK(numbering.FirstNumberFrom("") == 0);
  CHECK(numbering.FirstNumberFrom("a122") == 2);
  CHECK(numbering.FirstNumberFrom("a3") == 4);
  CHECK(numbering.FirstNumberFrom("b") == 4);
  CHECK(numbering.FirstNumberFrom("c") == 8);
  std::string key;
  numbering.AppendKey(6, key);
  CHECK(key == "b2");
  // A number of no key, out of damaged bytes.
  numbering.AppendKey(~0ull, key);
  CHECK(key.size() <= 2 + 3);
}

TEST_CASE("numbers end with 64 bits", "[keys]") {
  const KeyNumbering::Alphabet all = {~0ull, ~0ull, ~0ull, ~0ull};
  const KeyNumbering numbering =
      KeyNumbering::Make(std::vector(8, all), 8).value();  // 2^64 of them
  CHECK(numbering.NumberOf(std::string(8, '\xff')) == ~0ull);
  CHECK(numbering.FirstNumberFrom(std::string(8, '\xff')) == ~0ull);
  CHECK_FALSE(numbering.FirstNumberFrom(std::string(9, '\xff')));
  CHECK_FALSE(KeyNumbering::Make(std::vector(8, all), 7));
  CHECK_FALSE(KeyNumbering::Make(std::vector(9, all), 9));
}

// All queries that are allowed for bytes that open.
void Exercise(const KeyDirectory& directory, const Keys& probes) {
  std::string key;
  for (std::uint64_t record = 0; record < directory.size(); ++record) {
    key.clear();
    directory.AppendKey(record, key);
    (void)directory.Find(key);
  }
  for (const std::string& probe : probes) {
    const std::uint64_t record = directory.LowerBound(probe);
    REQUIRE(record <= directory.size());
    REQUIRE(directory.Find(probe).value_or(record) <= directory.size());
  }
  std::uint64_t visited = 0;
  directory.Scan(0, [&](std::uint64_t, std::string_view) { return ++visited > 0; });
  REQUIRE(visited <= directory.size());
}

TEST_CASE("bytes that are no key directory are refused or harmless", "[keys]") {
  const int shape = GENERATE(range(0, kKeyShapes));
  CAPTURE(shape);
  SplitMix64 random(shape);
  const Keys keys = MakeKeys(shape, shape == 6 ? 5 : 100, random);
  const std::vector<std::byte> bytes = Padded(Encode(keys));
  Keys probes = {"", "user:1", "\xff"};
  for (int i = 0; i < 5; ++i) probes.push_back(RandomKey(shape, random));
  std::uint64_t opened = 0;
  FlipEachBit(bytes, [&](const std::vector<std::byte>& flipped) {
    if (const auto directory = OpenPadded<KeyDirectory>(flipped)) {
      Exercise(*directory, probes);
      ++opened;
    }
  });
  CHECK(opened > 0);  // Keys themselves can change into others.
  CutAtEachLength(bytes, [](const std::vector<std::byte>& cut) {
    CHECK(OpenPadded<KeyDirectory>(cut).error() == Errc::kCorrupt);
  });
}

}  // namespace
}  // namespace stout::blowfish
