#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "blowfish/index/bits.h"
#include "blowfish/index/psi.h"
#include "blowfish/index/psi_block.h"

namespace stout::blowfish {

/// How many of a block's `rows` gaps have a high part below `high`: in unary, the ones before the
/// zero of that number.
template <int (*kSelect)(std::uint64_t word, int rank)>
[[gnu::always_inline]] inline std::uint32_t CountHighBelow(const std::byte* unary,
                                                           std::uint32_t rows, std::uint64_t high) {
  if (high == 0) return 0;
  std::uint64_t zeros = 0;  // Before the word,
  for (std::uint64_t place = 0;; place += 64, unary += 8) {
    const std::uint64_t word = ~LoadWord(unary);
    const auto here = static_cast<std::uint64_t>(__builtin_popcountll(word));
    if (zeros + here >= high) {
      const int bit = kSelect(word, static_cast<int>(high - 1 - zeros));
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(place + bit - (high - 1), rows));
    }
    zeros += here;
    if (place + 64 - zeros >= rows) return rows;  // other data follows the last one
  }
}

/// Returns the first of the gaps [first, last) with v >= wanted, in a block of this number of rows;
/// or last.
///
/// v is gap + i, so `wanted` determines all but the lowest bits of the gap. One or two high parts
/// are left, each of one or two rows, unless gaps are small, or rows in runs.
template <int (*kSelect)(std::uint64_t word, int rank)>
[[gnu::always_inline]] inline std::uint32_t SeekGaps(const std::byte* numbers, int exponent,
                                                     int width, std::uint32_t rows,
                                                     std::uint32_t first, std::uint32_t last,
                                                     std::uint64_t wanted) {
  if (wanted <= first || first == last) return first;
  const std::byte* const unary = numbers + (static_cast<std::size_t>(width) << exponent) / 8;
  const std::uint64_t lowest = wanted >= last ? (wanted - last + 1) >> width : 0;
  const std::uint64_t highest = (wanted - first) >> width;
  first = std::clamp(CountHighBelow<kSelect>(unary, rows, lowest), first, last);
  last = std::clamp(CountHighBelow<kSelect>(unary, rows, highest + 1), first, last);
  constexpr std::uint32_t kFew = 4;
  while (first + kFew < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (Gaps<kSelect>(numbers, exponent, width, middle).v() < wanted) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == last) return last;
  for (Gaps<kSelect> gaps(numbers, exponent, width, first); gaps.v() < wanted; gaps.Advance()) {
    if (++first == last) break;
  }
  return first;
}

/// The same of a block of breaks.
[[gnu::always_inline]] inline std::uint32_t SeekBreaks(const std::byte* numbers, int width,
                                                       std::uint32_t first, std::uint32_t last,
                                                       std::uint64_t wanted) {
  const auto count = static_cast<std::uint32_t>(numbers[0]);
  const std::byte* const rows = numbers + 1;
  const auto row = [&](std::uint32_t run) { return static_cast<std::uint32_t>(rows[run]); };
  const auto added = [&](std::uint32_t run) {
    return ReadBits(rows + count, std::uint64_t{run} * width, width);
  };
  // Counts the runs that begin anew below `wanted`. The target is in the last of them, or where the
  // next one begins.
  std::uint32_t below = 0;
  for (std::uint32_t left = count; left > 0;) {
    const std::uint32_t half = left / 2;
    if (row(below + half) + added(below + half) < wanted) {
      below += half + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  if (below < count) last = std::clamp(row(below), first, last);
  const std::uint64_t by = below == 0 ? 0 : added(below - 1);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted - by, first, last));
}

/// Returns the first of the rows [first, last) of a symbol, all of one block, whose next row is at
/// least `next`; or last. `rows` are those of the block.
template <int (*kSelect)(std::uint64_t word, int rank)>
[[gnu::always_inline]] inline Row SeekBlock(const Psi::Entry& entry, const std::byte* numbers,
                                            int exponent, std::uint32_t rows, Symbol symbol,
                                            Row first, Row last, Row next) {
  // Only in a damaged file a row has a symbol below its block's.
  if (next <= entry.lowest || symbol < entry.symbol) return first;
  const Form form = Form::Unpack(entry.form);
  const std::uint64_t above = next - entry.lowest;
  if (above >> form.symbol_shift != 0) return last;
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(symbol - entry.symbol) << form.symbol_shift | above;
  const auto i = static_cast<std::uint32_t>(LowBits(first, exponent));
  const std::uint32_t end = i + (last - first);
  numbers += entry.place;
  std::uint64_t found;
  if (form.kind == Form::kGaps) {
    found = SeekGaps<kSelect>(numbers, exponent, form.width, rows, i, end, wanted);
  } else if (form.kind == Form::kBreaks) {
    found = SeekBreaks(numbers, form.width, i, end, wanted);
  } else {
    found = std::clamp<std::uint64_t>(wanted, i, end);
  }
  return static_cast<Row>(first + (found - i));
}

}  // namespace stout::blowfish
