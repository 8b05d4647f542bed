// Goal: building an index takes no more memory because of the bytes that the text has. Method:
// count what is allocated, of which some ends of vectors are never touched.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/cut_choice.h"
#include "blowfish/index/text_index_builder.h"
#include "stout/core/random.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// The text has this number of different bytes.
std::string RandomText(std::size_t size, std::uint64_t letters, SplitMix64& random) {
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(255 - random.Below(letters));
  return text;
}

TEST_CASE("an index of texts takes at most 13 bytes a byte while it is built", "[memory]") {
  const std::uint64_t letters = GENERATE(2, 26, 254, 255, 256);
  CAPTURE(letters);
  SplitMix64 random(letters);
  const std::string text = RandomText(300'000, letters, random);
  const std::size_t bytes = test::MostBytesOf([&] {
    TextIndexBuilder builder(2 * text.size(), 2);
    for (int i = 0; i < 2; ++i) builder.Append(text);
    CHECK(builder.Finish().index.records == 2);
  });
  CHECK(bytes > 0);
  CHECK(bytes <= 13 * 2 * text.size());
}

TEST_CASE("how values are cut is chosen by the beginnings of large ones", "[memory]") {
  constexpr std::size_t kBeginning = std::size_t{1} << 20;
  SplitMix64 random(1);
  const std::string value = std::string(kBeginning, 'a') + RandomText(3 * kBeginning, 256, random);
  const std::vector<std::string_view> values(2, value);
  const std::size_t bytes =
      test::MostBytesOf([&] { CHECK(ChooseCuts(Schema(), values).size() == 1); });
  CHECK(bytes < kBeginning);  // whole text: 50 times the size
}

}  // namespace
}  // namespace stout::blowfish
