#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blowfish/index/bits.h"

namespace stout::blowfish {

/// A row of an index: the place of a suffix in the order of all suffixes.
using Row = std::uint32_t;

/// A symbol of an index's alphabet. Symbols are numbered in the order of their rows, from 0.
using Symbol = std::uint16_t;

/// Rows and symbols that one index can have.
inline constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 31;
inline constexpr std::size_t kMaxSymbols = std::size_t{1} << 16;

/// The next-character index: for each row the first symbol of its suffix, and the row of the suffix
/// that is one symbol shorter (NPA in the paper, Psi elsewhere). All that an index knows of its
/// text.
///
/// The rows of one symbol stand together, and within them the next rows increase. So the rows of a
/// block, 64 of them or more, whatever symbols they have, become increasing numbers
///
///     v = (symbol - symbol of the first row) << w | (next row - lowest next row of the block)
///
/// where w is wide enough for the differences (31 where there is one symbol). A block keeps them in
/// the least space of three:
/// - run:    v = i for row i of the block: no space at all;
/// - breaks: runs, of which at most 16 begin anew: their places (a byte each) and what to add to i;
/// - gaps:   v - i in Elias-Fano: l low bits each; the rest in unary, ones among zeros.
///
/// Example, of 4 rows instead of 64: symbols a a b b, next rows 7 8 2 9: the lowest is 2, w = 3,
/// and v = 5 6 8 15. As breaks: from row 0 add 5, from row 2 add 6, from row 3 add 12.
///
/// A directory entry a block has the symbol, the lowest next row, w, and where its numbers are.
///
/// Space: 96 bits a block for the directory, and 0 (runs) to log2(rows / occurrences of the symbol)
/// + 2 bits a row.
/// Cost: two cache misses one behind the other: the entry, the numbers, which of gaps are often two
/// lines or three, asked for at once. Walks that do not depend on each other overlap them (Cursor).
/// Owner: none; the spans stay with the file.   Threads: any.
/// Paper: BlowFish (NSDI'16) Section 2; blocks after Elias-Fano (Vigna 2013, Ottaviano & Venturini
/// 2014), best of block.
class Psi {
 public:
  /// Rows of a block, unless it was built with more: these are the quickest to read.
  static constexpr std::uint32_t kBlock = 64;
  /// For texts of bytes, which have many rows and few symbols. There 0.4 instead of 1.5 bits a row
  /// are worth more than the steps, which take a tenth longer.
  static constexpr std::uint32_t kLongBlock = 256;

  /// As it is in the file.
  struct Entry {
    std::uint32_t lowest;
    std::uint32_t place;  ///< In bytes of the numbers.
    Symbol symbol;
    std::uint16_t form;  ///< See Form in psi_block.h.
  };
  static_assert(sizeof(Entry) == 12);

  /// A walk through the text: where it stands, and what Step told of that row.
  struct Cursor {
    Row row = 0;
    Symbol symbol = 0;
    Row next = 0;

    friend bool operator==(const Cursor&, const Cursor&) = default;
  };

  Psi() = default;
  /// `numbers` is followed by kPadding readable bytes. `block`: kBlock or kLongBlock, as built.
  Psi(std::span<const Entry> entries, const std::byte* numbers, std::uint64_t rows,
      std::uint32_t block = kBlock)
      : entries_(entries),
        numbers_(numbers),
        rows_(rows),
        block_exponent_(std::countr_zero(block)) {}

  static constexpr std::size_t kPadding = 16;

  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  [[nodiscard]] Row Next(Row row) const { return At(row).next; }
  [[nodiscard]] Cursor At(Row row) const;

  /// Fills symbol and next of each cursor from its row, all misses at once. The entries of their
  /// blocks are better prefetched before, as soon as the row is known.
  void Step(std::span<Cursor> cursors) const;

  /// Fills row and next of each cursor, the rows side by side from `first` on: some 2 ns each,
  /// where Step takes ten times as much. At least one; all of one block.
  void StepBlock(Row first, std::span<Cursor> cursors) const;

  void Prefetch(Row row) const { __builtin_prefetch(&entries_[row >> block_exponent_]); }

  /// The first of the rows [first, last), all of this symbol, whose next row is at least `next`;
  /// `last` if none is.
  [[nodiscard]] Row LowerBound(Symbol symbol, Row first, Row last, Row next) const;

 private:
  // The same of rows of one block; at least one.
  [[nodiscard]] Row Seek(Symbol symbol, Row first, Row last, Row next) const;

  std::span<const Entry> entries_;
  const std::byte* numbers_ = nullptr;
  std::uint64_t rows_ = 0;
  int block_exponent_ = std::countr_zero(kBlock);
};

/// Builds a Psi, row after row.
class PsiWriter {
 public:
  /// `block`: kBlock or kLongBlock.
  explicit PsiWriter(std::uint32_t block = Psi::kBlock) { parts_.block = block; }

  /// The symbol is not below the last one; rows of a symbol have increasing next rows. At most
  /// kMaxRows rows.
  void Append(Symbol symbol, Row next);

  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  struct Parts {
    std::vector<Psi::Entry> entries;
    std::vector<std::byte> numbers;  ///< With Psi::kPadding.
    std::uint64_t rows = 0;
    std::uint32_t block = Psi::kBlock;

    [[nodiscard]] Psi View() const { return {entries, numbers.data(), rows, block}; }
  };
  /// The writer is of no more use.
  [[nodiscard]] Parts Finish();

 private:
  void WriteBlock();

  Parts parts_;
  std::uint64_t rows_ = 0;
  std::vector<Psi::Cursor> block_;
  BitWriter bits_;
};

}  // namespace stout::blowfish
