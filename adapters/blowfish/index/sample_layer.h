#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "sample_shape.h"
#include "shared_bits.h"
#include "zeroed_words.h"

namespace stout::blowfish {

class SampleLayer;

/// A column of a layer while it is being filled, in any order, by any number of threads.
///
/// Invariants:
/// 1. A value's bits are zero, or on their way from zero to the value. All fillers of an entry fill
///    it with the same value, so it is harmless to do so twice, or late.
/// 2. The bit of an entry in the bitmap is set after its value (release). A thread that finds it
///    set (acquire) reads the value.
/// 3. Bits of the bitmap are set for good. Exactly one of the threads that set a bit in a word
///    completes the word. Exactly one of the threads that complete words completes the column, and
///    by then it has acquired all its values. So fillers share a counter only once in 64 entries.
class FillingColumn {
 public:
  /// `words` and `bitmap` are zeroed; both outlive it, as the layer does. entries > 0.
  FillingColumn(SampleLayer& layer, std::uint32_t ordinal, std::uint64_t entries, int width,
                std::uint64_t* words, std::uint64_t* bitmap);

  [[nodiscard]] SampleLayer& layer() const { return layer_; }
  [[nodiscard]] std::uint32_t ordinal() const { return ordinal_; }
  [[nodiscard]] std::uint64_t* words() const { return words_; }

  [[nodiscard]] bool Has(std::uint64_t offset) const {
    return BitmapWord(offset).load(std::memory_order_acquire) & Bit(offset);
  }
  [[nodiscard]] std::optional<std::uint64_t> Find(std::uint64_t offset) const {
    if (!Has(offset)) return std::nullopt;
    return Read(offset);
  }
  void Prefetch(std::uint64_t offset) const {
    __builtin_prefetch(bitmap_ + offset / kWordBits);
    __builtin_prefetch(words_ + offset * width_ / kWordBits);
  }

  enum class Filled { kBefore, kNow, kLast };  ///< kLast: now, and so the column is complete.
  Filled Fill(std::uint64_t offset, std::uint64_t value);

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> BitmapWord(std::uint64_t offset) const {
    return std::atomic_ref(bitmap_[offset / kWordBits]);
  }
  [[nodiscard]] static std::uint64_t Bit(std::uint64_t offset) {
    return std::uint64_t{1} << offset % kWordBits;
  }
  [[nodiscard]] std::uint64_t Read(std::uint64_t offset) const {
    return ReadShared(words_, offset * width_, width_);
  }

  SampleLayer& layer_;
  const std::uint32_t ordinal_;
  const int width_;
  std::uint64_t* const words_;
  std::uint64_t* const bitmap_;            // A bit an entry; those behind the last entry are set.
  std::atomic<std::uint64_t> open_words_;  // words of the bitmap that lack a bit
};

/// The memory of one layer. Its values are in one allocation, column by column. The bitmap of the
/// filled entries is in another, which goes when the layer is full.
///
/// Space: width bits an entry, and 1 more while it is being filled; some 60 bytes a column.
/// Threads: the columns' are any. TakeBitmap(), full(), Filled() and bytes() exclude each other.
class SampleLayer {
 public:
  /// Throws std::bad_alloc.
  SampleLayer(const SampleShape& shape, std::uint32_t distance);
  SampleLayer(const SampleLayer&) = delete;
  SampleLayer& operator=(const SampleLayer&) = delete;

  [[nodiscard]] std::uint32_t distance() const { return distance_; }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  /// The columns that have entries.
  [[nodiscard]] std::deque<FillingColumn>& columns() { return columns_; }

  /// One of the columns is complete. True: it was the last.
  [[nodiscard]] bool ColumnCompleted() {
    return open_columns_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// Once all columns are complete, and nobody is sent to its FillingColumns any more; who is there
  /// still may look at it. The layer is now full.
  [[nodiscard]] ZeroedWords TakeBitmap() { return std::move(bitmap_); }

  [[nodiscard]] bool full() const { return bitmap_.data() == nullptr; }
  [[nodiscard]] std::uint64_t Filled() const;  ///< Entries. Looks at the whole bitmap.
  [[nodiscard]] std::size_t bytes() const { return values_.bytes() + bitmap_.bytes(); }

 private:
  const std::uint32_t distance_;
  std::uint64_t entries_ = 0;
  std::size_t bitmap_words_ = 0;
  ZeroedWords values_;
  ZeroedWords bitmap_;  // Empty: the layer is full.
  std::deque<FillingColumn> columns_;
  std::atomic<std::size_t> open_columns_ = 0;
};

}  // namespace stout::blowfish
