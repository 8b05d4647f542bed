// Psi against the rows that it was built from.

#include "blowfish/index/psi.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "blowfish/index/framed_array.h"
#include "blowfish/index/psi_block.h"
#include "blowfish/index/psi_check.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

// Rows and the psi that was built from them, which gives them back.
struct BuiltPsi {
  explicit BuiltPsi(std::vector<Psi::Cursor> from, std::uint32_t block = Psi::kBlock)
      : rows(std::move(from)) {
    PsiWriter writer(block);
    for (const Psi::Cursor& row : rows) writer.Append(row.symbol, row.next);
    CHECK(writer.rows() == rows.size());
    parts = writer.Finish();
    std::vector<Psi::Cursor> read;
    for (Row row = 0; row < parts.rows; ++row) read.push_back(parts.View().At(row));
    CHECK(read == rows);
  }

  std::vector<Psi::Cursor> rows;
  PsiWriter::Parts parts;
};

// Symbols of some rows each, whose next rows go up by some, some more often by one only.
std::vector<Psi::Cursor> RandomRows(SplitMix64& random) {
  const std::uint64_t rows = 1 + random.Below(1000);
  const std::uint64_t rows_per_symbol = 1 + random.Below(200);
  const int jump_bits = static_cast<int>(random.Below(21));
  const std::uint64_t one_in = 1 + random.Below(100);
  std::vector<Psi::Cursor> text;
  Symbol symbol = static_cast<Symbol>(random.Below(3));
  Row next = 0;
  for (Row row = 0; row < rows; ++row) {
    if (row > 0 && random.Below(rows_per_symbol) == 0) {
      symbol = static_cast<Symbol>(symbol + 1 + random.Below(4));
      next = static_cast<Row>(random.Below(1 << 20));
    }
    text.push_back({row, symbol, next});
    next += 1 + (random.Below(one_in) == 0 ? random.Below(std::uint64_t{1} << jump_bits) : 0);
  }
  return text;
}

// In blocks of either length.
BuiltPsi BuildRandom(SplitMix64& random) {
  std::vector<Psi::Cursor> rows = RandomRows(random);
  return BuiltPsi(std::move(rows), random.Below(2) == 0 ? Psi::kBlock : Psi::kLongBlock);
}

TEST_CASE("psi gives back the symbol and the next row of every row", "[psi][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 1980) / 30;
  const auto seed = GENERATE_COPY(range(std::uint64_t{1}, 1 + seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const auto [rows, parts] = BuildRandom(random);

  const Psi psi = parts.View();
  for (int i = 0; i < 20; ++i) {
    std::vector<Psi::Cursor> cursors(random.Below(20));
    std::vector<Psi::Cursor> expected;
    for (Psi::Cursor& cursor : cursors) {
      cursor.row = static_cast<Row>(random.Below(rows.size()));
      expected.push_back(rows[cursor.row]);
    }
    psi.Step(cursors);
    CHECK(cursors == expected);
  }
}

TEST_CASE("psi steps from all rows of a block that stand side by side", "[psi][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 990) / 30;
  const auto seed = GENERATE_COPY(range(std::uint64_t{1}, 1 + seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const auto [rows, parts] = BuiltPsi(RandomRows(random));
  for (int i = 0; i < 20; ++i) {
    const Row first = static_cast<Row>(random.Below(rows.size()));
    const Row most =
        std::min(static_cast<Row>(rows.size()) - first, Psi::kBlock - first % Psi::kBlock);
    std::vector<Psi::Cursor> cursors(1 + random.Below(most));
    parts.View().StepBlock(first, cursors);
    for (std::size_t c = 0; c < cursors.size(); ++c) {
      CHECK(cursors[c].row == rows[first + c].row);
      CHECK(cursors[c].next == rows[first + c].next);
    }
  }
}

TEST_CASE("psi holds the largest rows and symbols", "[psi]") {
  const Row most = static_cast<Row>(kMaxRows - 1);
  const BuiltPsi built({{0, 0, 0}, {1, 0, most}, {2, 1, 5}, {3, 65535, most}});
  CHECK(built.parts.rows == 4);
}

TEST_CASE("rows that go up one by one take no space but the directory's", "[psi]") {
  std::vector<Psi::Cursor> rows;
  for (Row row = 0; row < 1000; ++row) rows.push_back({row, 7, 100 + row});
  CHECK(BuiltPsi(rows).parts.numbers.size() == Psi::kPadding);
}

TEST_CASE("a next row is found among the rows of its symbol", "[psi][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 3000) / 30;
  const auto seed = GENERATE_COPY(range(std::uint64_t{1}, 1 + seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const auto [rows, parts] = BuildRandom(random);
  for (int i = 0; i < 100; ++i) {
    // Any part of the rows of a symbol, beside which there may be others in a block.
    const Symbol symbol = rows[random.Below(rows.size())].symbol;
    const auto begin = std::ranges::lower_bound(rows, symbol, {}, &Psi::Cursor::symbol);
    const auto end = std::ranges::upper_bound(rows, symbol, {}, &Psi::Cursor::symbol);
    const Row first = begin->row + static_cast<Row>(random.Below(end - begin + 1));
    const Row past = begin->row + static_cast<Row>(end - begin);
    const Row last = first + static_cast<Row>(random.Below(past + 1 - first));
    const Row span = std::prev(end)->next - begin->next;
    // Any next row, or that of a row, or one beside it.
    Row wanted = begin->next + static_cast<Row>(random.Below(span + 10));
    if (random.Below(2) == 0 && first < last) {
      wanted = rows[first + random.Below(last - first)].next + static_cast<Row>(random.Below(2));
    }
    Row expected = first;
    while (expected < last && rows[expected].next < wanted) ++expected;
    CHECK(parts.View().LowerBound(symbol, first, last, wanted) == expected);
  }
}

TEST_CASE("a framed array gives what was put in", "[framed_array]") {
  const std::uint64_t seed = GENERATE(range(1, 60));
  CAPTURE(seed);
  SplitMix64 random(seed);
  std::vector<std::uint32_t> numbers(random.Below(300));
  for (std::uint32_t& number : numbers) {
    number = static_cast<std::uint32_t>(random.Next() >> (32 + random.Below(32)));
  }
  const FramedArray::Parts parts = FramedArray::Build(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(parts.View()[i] == numbers[i]);
}

TEST_CASE("a psi that was written is readable, and one that leads beyond its numbers is not",
          "[psi]") {
  const std::uint64_t seed = GENERATE(range(1, 50));
  CAPTURE(seed);
  SplitMix64 random(seed);
  PsiWriter::Parts parts = BuiltPsi(RandomRows(random)).parts;
  const auto readable = [&] { return IsReadable(parts.entries, parts.numbers, parts.rows); };
  REQUIRE(readable());

  Psi::Entry& entry = parts.entries[random.Below(parts.entries.size())];
  const Psi::Entry before = entry;
  entry.place = static_cast<std::uint32_t>(parts.numbers.size() - Psi::kPadding + 1);
  CHECK_FALSE(readable());
  entry = before;
  Form form = Form::Unpack(entry.form);
  if (form.kind == Form::kRun) return;
  form.width = 63;
  entry.form = form.Pack();
  CHECK_FALSE(readable());
  entry = before;
  // No ones among the gaps; more breaks than a block has.
  const std::byte wrong =
      Form::Unpack(before.form).kind == Form::kGaps ? std::byte{0} : std::byte{17};
  std::ranges::fill(parts.numbers.begin() + before.place, parts.numbers.end(), wrong);
  CHECK_FALSE(readable());
}

TEST_CASE("a framed array that leads beyond its numbers is not readable", "[psi]") {
  const std::vector<std::uint32_t> numbers{7, 9, 8, 10};
  FramedArray::Parts parts = FramedArray::Build(numbers);
  const auto readable = [&](std::uint64_t size, std::uint64_t limit) {
    return FramedArray::IsReadable(
        parts.entries, std::span(parts.numbers).first(parts.numbers.size() - kBitPadding), size,
        limit);
  };
  CHECK(readable(4, 11));
  CHECK_FALSE(readable(4, 10));
  CHECK_FALSE(readable(65, 11));
  ++parts.entries.back().place;
  CHECK_FALSE(readable(4, 11));
}

}  // namespace
}  // namespace stout::blowfish
