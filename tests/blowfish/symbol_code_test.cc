// Codes against the order of their symbols, and against the bytes that they need.

#include "blowfish/index/symbol_code.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Code = std::vector<std::uint8_t>;

Code CodeOf(const SymbolCode& code, std::size_t symbol) {
  Code bytes;
  code.Append(static_cast<Symbol>(symbol), bytes);
  return bytes;
}

// A field in which the symbols from `begin` to `end` occur this number of times more.
void AddSymbols(Field& field, std::size_t begin, std::size_t end, std::size_t times) {
  for (std::size_t symbol = begin; symbol < end; ++symbol) {
    field.text.insert(field.text.end(), times, static_cast<Symbol>(symbol));
  }
}

TEST_CASE("codes are in the order of their symbols, which they tell", "[symbol_code]") {
  const std::size_t symbols = GENERATE(1, 2, 254, 255, 256, 257, 509, 510, 511, 512, 700, 65280);
  const std::uint8_t lowest = GENERATE(0, 1);
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(symbols, lowest, seed);
  SplitMix64 random(seed);
  Field field{.symbols = symbols};
  for (int i = 0; i < 1000; ++i) {
    field.text.push_back(static_cast<Symbol>(random.Below(symbols)));
    if (random.Below(10) == 0) field.text.push_back(Field::kEnd);
  }
  const SymbolCode code(field, lowest);

  // The first bytes are ascending, too: so one that is a code alone begins no other.
  Code last;
  std::size_t wrong = 0;
  for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
    const Code bytes = CodeOf(code, symbol);
    const bool same_lead = !last.empty() && last[0] == bytes[0];
    wrong += !(last < bytes) || (same_lead && (last.size() == 1 || bytes.size() == 1)) ||
             bytes[0] < lowest || bytes[0] >= lowest + SymbolCode::kLeads ||
             code.BytesOf(bytes[0]) != bytes.size() || code.SymbolAt(bytes.data()) != symbol;
    last = bytes;
  }
  CHECK(wrong == 0);
  std::size_t bytes = 0;
  for (const Symbol symbol : field.text) {
    if (symbol != Field::kEnd) bytes += CodeOf(code, symbol).size();
  }
  CHECK(code.text_bytes() == bytes);
}

TEST_CASE("the rarest symbols of a text have two bytes", "[symbol_code]") {
  Field field{.symbols = 255};
  AddSymbols(field, 0, 255, 10);
  CHECK(SymbolCode(field, 0).text_bytes() == 2550);

  const std::size_t rare = GENERATE(0, 100, 254);
  CAPTURE(rare);
  field.symbols = 256;
  AddSymbols(field, 255, 256, 10);
  std::erase_if(field.text, [&](Symbol symbol) { return symbol == rare || symbol == rare + 1; });
  AddSymbols(field, rare, rare + 2, 1);
  const SymbolCode code(field, 1);
  CHECK(code.text_bytes() == 2540 + 4);
  CHECK(CodeOf(code, rare).size() == 2);

  // Bytes, of which the first of each record has symbols of its own: all those have two bytes.
  field = {.symbols = 512};
  AddSymbols(field, 0, 256, 1);
  AddSymbols(field, 256, 512, 10);
  CHECK(SymbolCode(field, 0).text_bytes() == 2 * 256 + 2560 + 3 * 10);
}

}  // namespace
}  // namespace stout::blowfish
