#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blowfish/index/bits.h"
#include "stout/error.h"

namespace stout::blowfish {

/// A sequence of numbers that never falls, read in place. It owns nothing.
///
///     std::vector<std::byte> bytes = BuildEliasFano(numbers);  // Into a file...
///     EliasFano sequence = EliasFano::Open(mapped_bytes).value();
///     sequence[3];
///     sequence.LowerBound(1000);
///
/// Layout: a header of four words: size, first, last, low width; then, each from a new byte on,
/// - upper: what is left of number - first when its `low width` lowest bits are cut off, in unary.
///   Number i with the rest h is a one in bit h + i: h zeros stand before it, and i ones;
/// - where every 256th one stands, where every 512th zero stands, packed;
/// - lower: the lowest bits that were cut off, packed.
/// Upper is in whole words; nothing else is padded.
///
/// Example: 5 5 8 13 20. Less the first: 0 0 3 8 15; of those the lowest bit is cut off. Lower is
/// 0 0 1 0 1, the rests are 0 0 1 4 7. Upper, from bit 0 on, with a zero at the end of each rest:
///     110 10 0 0 10 0 0 10
/// Number 3 is the fourth one, in bit 7: its rest is 7 - 3 = 4, its lowest bit 0, so 5 + 8 = 13.
///
/// Space: at most 2 + log2((last - first) / size) bits a number, 2 where that quotient is below 1;
/// the samples take 0.1 to 0.25 bit more.
/// Cost: a number takes a sample, a line or two of upper and a line of lower. A search takes the
/// same, and a binary search among the numbers that have the rest in common, of which there is one
/// on average. Where ones or zeros are so uneven that two samples lie far apart, samples of the
/// other kind are searched for a nearer start: no scan is longer than 2,048 bits.
///
/// Errors: Open() checks sizes, upper and samples, in one pass over upper, so that no call reads
/// beyond the bytes whatever they are. Lower may still be out of order in bytes that no writer of
/// ours made: then the numbers are wrong.   Threads: as a const value.
/// Paper: Vigna, "Quasi-succinct indices" (WSDM 2013), after Elias (1974) and Fano (1971).
class EliasFano {
 public:
  class Cursor;

  /// No numbers.
  EliasFano() = default;

  /// `bytes` outlives the sequence, and is followed by kBitPadding readable bytes. kCorrupt: it is
  /// not what a writer gave.
  [[nodiscard]] static Result<EliasFano> Open(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t size() const { return ones_.total; }

  /// index < size().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t index) const;

  /// The index of the first number that is not below `value`; size() if there is none.
  [[nodiscard]] std::uint64_t LowerBound(std::uint64_t value) const;

  /// The index of the first number that is `value`.
  [[nodiscard]] std::optional<std::uint64_t> Find(std::uint64_t value) const;

  /// How the sequence is divided, which follows from its header.
  struct Shape {
    std::uint64_t size = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    int low_width = 0;

    /// The range of the numbers that a writer takes.
    static Shape Of(std::uint64_t size, std::uint64_t first, std::uint64_t last);

    [[nodiscard]] std::uint64_t zeros() const;
    [[nodiscard]] std::uint64_t upper_bits() const { return size + zeros(); }
    [[nodiscard]] std::uint64_t upper_bytes() const { return (upper_bits() + 63) / 64 * 8; }
    [[nodiscard]] int sample_width() const { return BitWidth(upper_bits()); }
    [[nodiscard]] std::uint64_t one_sample_bytes() const;
    [[nodiscard]] std::uint64_t zero_sample_bytes() const;
    [[nodiscard]] std::uint64_t bytes() const;  ///< All of it.
  };

 private:
  // Samples: the places of every n-th bit of one kind in upper.
  struct Samples {
    std::uint64_t every = 1;
    std::uint64_t flip = 0;   // Makes bits of this kind ones: 0, or ~0 if they are zeros.
    std::uint64_t total = 0;  // Bits of this kind.
    PackedArray places;
  };

  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };

  EliasFano(const Shape& shape, const std::byte* data);

  [[nodiscard]] bool IsRight(const Samples& samples) const;
  [[nodiscard]] std::uint64_t Select(const Samples& own, const Samples& other,
                                     std::uint64_t rank) const;
  [[nodiscard]] Range WithRest(std::uint64_t rest) const;
  [[nodiscard]] std::uint64_t LowerBoundIn(Range range, std::uint64_t low) const;
  [[nodiscard]] std::uint64_t Number(std::uint64_t rest, std::uint64_t index) const {
    return first_ + (rest << lower_.width() | lower_[index]);
  }

  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  const std::byte* upper_ = nullptr;
  Samples ones_;
  Samples zeros_;
  PackedArray lower_;
};

/// Returns true if the sequence is the bounds of `parts` parts of [0, end), one behind the other:
/// parts + 1 numbers in order, the first 0, the last `end`.   Cost: reads all numbers.
[[nodiscard]] bool AreBounds(const EliasFano& bounds, std::uint64_t parts, std::uint64_t end);

/// Reads a sequence forward from any index on, a few cycles a number. The sequence outlives it.
class EliasFano::Cursor {
 public:
  /// index <= size().
  Cursor(const EliasFano& sequence, std::uint64_t index);

  [[nodiscard]] std::uint64_t index() const { return index_; }  ///< index of the number to come

  /// index() < size().
  std::uint64_t Next() {
    while (word_ == 0) {
      at_ += 64;
      word_ = LoadWord(sequence_.upper_ + at_ / 8);
    }
    const std::uint64_t rest = at_ + std::countr_zero(word_) - index_;
    word_ &= word_ - 1;
    return sequence_.Number(rest, index_++);
  }

 private:
  const EliasFano& sequence_;
  std::uint64_t index_;
  std::uint64_t at_ = 0;    // place of the word's lowest bit
  std::uint64_t word_ = 0;  // place in upper less the ones that were passed
};

/// Writes a sequence of which size, first and last number are known.
///
/// Memory: the bytes, up to twice while Take() runs.
class EliasFanoWriter {
 public:
  EliasFanoWriter(std::uint64_t size, std::uint64_t first, std::uint64_t last);

  /// Numbers come in order, `size` of them; asserted.
  void Append(std::uint64_t number);

  /// The sequence, without padding, after its last number.
  [[nodiscard]] std::vector<std::byte> Take();

 private:
  EliasFano::Shape shape_;
  std::uint64_t appended_ = 0;
  std::uint64_t previous_;
  std::vector<std::uint64_t> upper_;
  BitWriter lower_;
};

/// The same, of numbers at hand.
[[nodiscard]] std::vector<std::byte> BuildEliasFano(std::span<const std::uint64_t> numbers);

}  // namespace stout::blowfish
