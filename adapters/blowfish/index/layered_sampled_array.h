#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "column_ref.h"
#include "reclaim.h"
#include "sample_layer.h"
#include "sample_shape.h"
#include "shared_bits.h"

namespace stout::blowfish {

enum class LayerState {
  kImplied,  ///< Not stored: whoever asks knows its values.
  kFilling,  ///< It has those of its values that were computed since it was added.
  kFull,
};

/// A layer at one moment.
struct LayerInfo {
  std::uint32_t distance = 0;  ///< Its sampling distance, a power of two.
  LayerState state = LayerState::kFilling;
  std::uint64_t entries = 0;
  std::uint64_t filled = 0;  ///< Entries that are there.
  std::size_t bytes = 0;     ///< of its values, and of the bitmap while it is being filled

  friend bool operator==(const LayerInfo&, const LayerInfo&) = default;
};

/// A sampled array whose density changes while it is read: denser layers are added below the others
/// and filled by whoever computes a value anyway, or by threads of their own; the densest is
/// deleted and its memory freed when its last reader leaves.
///
/// Look-ups know nothing of layers: an entry is there or it is not, and what it is not, the caller
/// computes, mostly from a coarser entry nearby.
///
///     LayeredSampledArray sampled({.size = 16, .width = 4, .coarsest_exponent = 3, .columns = 8},
///                                 domain);
///     sampled.Add();                                      // distance 8: indices 0 and 8
///     ...
///     const ReclaimDomain::Guard guard(domain);
///     if (const auto value = sampled.Find(index)) return *value;
///     const std::uint64_t value = Compute(index);
///     sampled.Fill(index, value);                         // costs little where nothing lacks it
///
/// To fill a layer at once, threads take a range of groups each, and a new guard now and then:
///
///     sampled.shape().ForEachIndex(sampled.finest(), first, last, [&](std::uint64_t index) {
///       if (sampled.Wants(index)) sampled.Fill(index, Compute(index));
///     });
///
/// The layout is by columns (see SampleShape). The array of the paper's Figure 4, k = 3:
///
///     index     0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15
///     value     9  11  15   2   3   1   0   6  12  13   8   7  14   4   5  10
///
///     layer 8   9                              12                               column 0: 9 12
///     layer 4                   3                              14               column 4: 3 14
///     layer 2          15              0               8               5        column 2: 15 8
///                                                                               column 6: 0 5
///
/// Find(10): ordinal 10 mod 8 = 2, offset 10 / 8 = 1: the second number of column 2, 8. (The paper
/// interleaves the columns of a layer: there it is number 2 * 1 + 0 of 15 0 8 5.)
///
/// Space: width / a bits an index, a the finest distance; here 4 / 2. A layer of distance a costs
/// width / 2a, as much as all above it together, and while it is being filled 1 / 2a more for its
/// bitmap: here 1 and 1/4. Each column costs 8 bytes even where its layer does not exist.
/// Cost: a look-up in a full column is one load from a small table, which stays in the cache, and
/// one of the number, mostly of one cache line; while it is being filled, one more of the bitmap.
/// Adding a layer takes microseconds whatever its size, removing it as long as the kernel takes to
/// have the memory back.
/// Threads: any, for everything. Find, Wants, Prefetch and Unpack never wait, nor does Fill but for
/// the entry that completes a layer; all of them need a ReclaimDomain::Guard of the array's domain.
/// An added layer is seen, and a removed one is not, by whoever learns that the call has returned.
/// Errors: the constructor, Add and Layers throw std::bad_alloc, having changed nothing.
/// Paper: BlowFish (NSDI'16), 3.1 "Layered Sampled Array"; Appendix A, Algorithms 1 and 2. Instead
/// of their ExistsLayer flags each column has one word that says what is to be found, and where.
class LayeredSampledArray {
 public:
  /// No layer exists but the coarsest if it is implied. Requires shape.Valid().
  LayeredSampledArray(const SampleShape& shape, ReclaimDomain& domain);
  LayeredSampledArray(const LayeredSampledArray&) = delete;
  LayeredSampledArray& operator=(const LayeredSampledArray&) = delete;
  ~LayeredSampledArray() = default;  ///< Nobody uses it any more.

  [[nodiscard]] const SampleShape& shape() const { return shape_; }

  /// Adds the next layer below the finest one, empty. False: the finest has distance 1.
  bool Add();
  /// Deletes the finest layer. False: none exists but the implied.
  bool Remove();

  /// The sampling distance of the finest layer; 0 if none exists.
  [[nodiscard]] std::uint32_t finest() const { return finest_.load(std::memory_order_relaxed); }
  /// Returns true if a layer lacks entries. If none does, a caller that computes many values need
  /// not call Fill.
  [[nodiscard]] bool filling() const { return filling_.load(std::memory_order_relaxed); }
  /// Likewise, of one column.
  [[nodiscard]] bool filling(std::uint32_t ordinal) const {
    return columns_[ordinal].load(std::memory_order_relaxed).filling() != nullptr;
  }
  /// The coarsest first. Looks at the bitmaps of those being filled: 1 / 64 word an entry.
  [[nodiscard]] std::vector<LayerInfo> Layers() const;
  /// Memory of all that exist; what is deleted but still read is not among it.
  [[nodiscard]] std::size_t bytes() const;

  // Requires from here on: a guard, and indices that the shape Contains().

  /// The entry, unless its layer does not exist, or lacks it yet, or is implied.
  [[nodiscard]] std::optional<std::uint64_t> Find(std::uint64_t index) const {
    const ColumnRef column = ColumnOf(index);
    const std::uint64_t offset = shape_.Offset(index);
    if (column.full()) return ReadShared(column.words(), offset * shape_.width, shape_.width);
    if (const FillingColumn* const filling = column.filling()) return filling->Find(offset);
    return std::nullopt;
  }

  /// Returns true if Find knows all entries of a column. It stays true until its layer is removed.
  [[nodiscard]] bool full(std::uint32_t ordinal) const {
    return columns_[ordinal].load(std::memory_order_relaxed).full();
  }

  /// Returns true if its layer exists and lacks the entry.
  [[nodiscard]] bool Wants(std::uint64_t index) const {
    const FillingColumn* const filling = ColumnOf(index).filling();
    return filling != nullptr && !filling->Has(shape_.Offset(index));
  }

  /// Gives the entry where its layer lacks it. All who fill an entry give the same value, of at
  /// most `width` bits. True: it was this call that did it.
  bool Fill(std::uint64_t index, std::uint64_t value) {
    FillingColumn* const filling = ColumnOf(index).filling();
    return filling != nullptr && FillIn(*filling, shape_.Offset(index), value);
  }

  /// Brings what Find will look at into the cache; for walks that take turns.
  void Prefetch(std::uint64_t index) const {
    const ColumnRef column = ColumnOf(index);
    const std::uint64_t offset = shape_.Offset(index);
    if (column.full()) {
      __builtin_prefetch(column.words() + offset * shape_.width / kWordBits);
    } else if (const FillingColumn* const filling = column.filling()) {
      filling->Prefetch(offset);
    }
  }

  /// The entries of a column from an offset on, as many as `out` has. False: the column is not
  /// full, and `out` unchanged. Values fit into the numbers of `out`.
  [[nodiscard]] bool Unpack(std::uint32_t ordinal, std::uint64_t first_offset,
                            std::span<std::uint32_t> out) const;
  [[nodiscard]] bool Unpack(std::uint32_t ordinal, std::uint64_t first_offset,
                            std::span<std::uint64_t> out) const;
  /// Replaces offsets of a column by its entries there. False: the column is not full, and nothing
  /// changed. Values fit into the numbers.
  [[nodiscard]] bool Gather(std::uint32_t ordinal, std::span<std::uint32_t> offsets) const;

 private:
  // Invariants:
  // 1. A column's word in columns_ goes from nothing to filling when its layer is added. It goes to
  //    full when the last of its entries is filled, and back to nothing when the layer is removed.
  //    The second change is a compare-exchange with the very FillingColumn. So it cannot revive a
  //    removed column, nor be mistaken for one of a layer added since. The thread that makes it
  //    holds a guard, so the address is not given out anew meanwhile.
  // 2. A thread that reads a word of columns_ (acquire) sees the memory behind it as it was
  //    published (release): zeroed, or with all its values, which the last filler had acquired.
  // 3. Memory is retired after no word of columns_ leads to it: a layer when all its columns are
  //    nothing, its bitmap when all its columns are full.
  // 4. Late fillers of a full column, which found it filling, change no bit of it any more: they
  //    set bits that are set. So full columns are read by relaxed loads, without the bitmap.
  [[nodiscard]] ColumnRef ColumnOf(std::uint64_t index) const {
    assert(shape_.Contains(index));
    return columns_[shape_.Ordinal(index)].load(std::memory_order_acquire);
  }
  template <typename Number>
  [[nodiscard]] bool UnpackInto(std::uint32_t ordinal, std::uint64_t first_offset,
                                std::span<Number> out) const;
  bool FillIn(FillingColumn& column, std::uint64_t offset, std::uint64_t value);
  void Complete(FillingColumn& column);
  // The caller holds the mutex.
  [[nodiscard]] bool Exists(const SampleLayer& layer) const;
  void NoteFilling();

  const SampleShape shape_;
  ReclaimDomain& domain_;
  std::vector<std::atomic<ColumnRef>> columns_;  // By ordinal.

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<SampleLayer>> layers_;  // the stored ones, the coarsest first
  std::atomic<std::uint32_t> finest_;                 // Written with the mutex held.
  std::atomic<bool> filling_ = false;                 // So is this.
};

}  // namespace stout::blowfish
