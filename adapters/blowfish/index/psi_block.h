#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "blowfish/index/bits.h"
#include "blowfish/index/psi.h"
#include "blowfish/index/select.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace stout::blowfish {

/// How the numbers of a block are kept, in the 16 bits that an entry has for it.
struct Form {
  enum Kind : std::uint8_t { kRun, kBreaks, kGaps };

  Kind kind = kRun;
  int width = 0;  ///< bits of a number to add (kBreaks), of the low bits (kGaps); below 64
  int symbol_shift = kOneSymbol;  ///< w of Psi; below 32.

  static constexpr int kOneSymbol = 31;
  static constexpr std::uint32_t kMaxBreaks = 16;

  [[nodiscard]] std::uint16_t Pack() const {
    return static_cast<std::uint16_t>(kind | width << 2 | symbol_shift << 8);
  }
  [[nodiscard]] static Form Unpack(std::uint16_t packed) {
    return {static_cast<Kind>(packed & 3), packed >> 2 & 63, packed >> 8 & 31};
  }
};

/// How many of the first `count` bytes are at most `limit`; count <= 16, and 16 bytes are readable.
[[nodiscard]] inline int CountUpTo(const std::byte* bytes, std::uint32_t count,
                                   std::uint32_t limit) {
#if defined(__SSE2__)
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i most = _mm_set1_epi8(static_cast<char>(limit));
  const int up_to = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(all, most), all));
  return std::popcount(static_cast<unsigned>(up_to) & ((1U << count) - 1));
#else
  int up_to = 0;
  for (std::uint32_t i = 0; i < count; ++i) up_to += static_cast<std::uint32_t>(bytes[i]) <= limit;
  return up_to;
#endif
}

/// v of a row in a block of breaks: their count, their places, what they add.
[[gnu::always_inline]] inline std::uint64_t ReadBreaks(const std::byte* numbers, int width,
                                                       std::uint32_t i) {
  const auto count = static_cast<std::uint32_t>(numbers[0]);
  const int before = CountUpTo(numbers + 1, count, i);
  if (before == 0) return i;
  const std::uint64_t bit = static_cast<std::uint64_t>(before - 1) * width;
  return i + ReadBits(numbers + 1 + count, bit, width);
}

/// The numbers of a block of gaps, from number i on: 2^exponent low parts, then the high parts in
/// unary. Before the one-bit of number i there are i ones, and its high part in zeros.
template <int (*kSelect)(std::uint64_t word, int rank)>
class Gaps {
 public:
  [[gnu::always_inline]] Gaps(const std::byte* numbers, int exponent, int width, std::uint32_t i)
      : numbers_(numbers),
        width_(width),
        i_(i),
        at_(numbers + (static_cast<std::size_t>(width) << exponent) / 8),
        word_(LoadWord(at_)) {
    auto rank = static_cast<int>(i);
    // In most short blocks it is in the first word or the second, as often as not: no branch would
    // be predicted.
    if (exponent <= std::countr_zero(Psi::kBlock)) {
      const int ones_of_first = __builtin_popcountll(word_);
      const auto behind_first = -static_cast<std::int64_t>(rank >= ones_of_first);
      rank -= ones_of_first & static_cast<int>(behind_first);
      place_ = 64 & behind_first;
      word_ ^= (word_ ^ LoadWord(at_ + 8)) & behind_first;
      at_ += 8 & behind_first;
    }
    for (int ones; (ones = __builtin_popcountll(word_)) <= rank;) {
      rank -= ones;
      LoadNext();
    }
    bit_ = kSelect(word_, rank);
  }

  /// v of number i.
  [[gnu::always_inline]] [[nodiscard]] std::uint64_t v() const {
    const std::uint64_t low = ReadBits(numbers_, std::uint64_t{i_} * width_, width_);
    return i_ + ((place_ + bit_ - i_) << width_ | low);
  }

  /// On to number i + 1, which there is.
  [[gnu::always_inline]] void Advance() {
    ++i_;
    word_ &= ~std::uint64_t{1} << bit_;
    while (word_ == 0) LoadNext();
    bit_ = __builtin_ctzll(word_);
  }

 private:
  [[gnu::always_inline]] void LoadNext() {
    place_ += 64;
    at_ += 8;
    word_ = LoadWord(at_);
  }

  const std::byte* numbers_;
  int width_;
  std::uint32_t i_;
  const std::byte* at_;  // place of word_
  std::uint64_t word_;   // From number i on, the ones that are left.
  std::uint64_t place_ = 0;
  int bit_ = 0;  // bit of number i in word_
};

// Prefetches the bytes that ReadBlock reads for a row. For gaps these are the low part, and the
// high parts from their beginning to about two bits for each row before; often two or three cache
// lines.
[[gnu::always_inline]] inline void PrefetchBlock(const Psi::Entry& entry, const std::byte* numbers,
                                                 int exponent, Row row) {
  const Form form = Form::Unpack(entry.form);
  const std::size_t width = form.kind == Form::kGaps ? form.width : 0;
  const std::uint64_t i = LowBits(row, exponent);
  const std::byte* low = numbers + entry.place;
  const std::byte* high = low + (width << exponent) / 8;
  __builtin_prefetch(low + i * width / 8);
  __builtin_prefetch(high);
  __builtin_prefetch(high + 2 * i / 8);
}

template <int (*kSelect)(std::uint64_t word, int rank)>
[[gnu::always_inline]] inline void ReadBlock(const Psi::Entry& entry, const std::byte* numbers,
                                             int exponent, Psi::Cursor& cursor) {
  const auto i = static_cast<std::uint32_t>(LowBits(cursor.row, exponent));
  const Form form = Form::Unpack(entry.form);
  std::uint64_t v = i;
  if (form.kind == Form::kGaps) {
    v = Gaps<kSelect>(numbers + entry.place, exponent, form.width, i).v();
  } else if (form.kind == Form::kBreaks) {
    v = ReadBreaks(numbers + entry.place, form.width, i);
  }
  cursor.symbol = static_cast<Symbol>(entry.symbol + (v >> form.symbol_shift));
  cursor.next = static_cast<Row>(entry.lowest + LowBits(v, form.symbol_shift));
}

/// As ReadBlock for each of the cursors, of rows side by side; but symbols are left as they are.
template <int (*kSelect)(std::uint64_t word, int rank)>
[[gnu::always_inline]] inline void ReadCursors(const Psi::Entry& entry, const std::byte* numbers,
                                               int exponent, Row first,
                                               std::span<Psi::Cursor> cursors) {
  const Form form = Form::Unpack(entry.form);
  auto set = [&, row = first](Psi::Cursor& cursor, std::uint64_t v) mutable {
    cursor.row = row++;
    cursor.next = static_cast<Row>(entry.lowest + LowBits(v, form.symbol_shift));
  };
  auto i = static_cast<std::uint32_t>(LowBits(first, exponent));
  numbers += entry.place;
  if (form.kind == Form::kGaps) {
    Gaps<kSelect> gaps(numbers, exponent, form.width, i);
    set(cursors.front(), gaps.v());
    for (Psi::Cursor& cursor : cursors.subspan(1)) {
      gaps.Advance();
      set(cursor, gaps.v());
    }
  } else if (form.kind == Form::kBreaks) {
    for (Psi::Cursor& cursor : cursors) set(cursor, ReadBreaks(numbers, form.width, i++));
  } else {
    for (Psi::Cursor& cursor : cursors) set(cursor, i++);
  }
}

}  // namespace stout::blowfish
