#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blowfish/index/bits.h"
#include "blowfish/index/sample_shape.h"
#include "blowfish/index/zeroed_words.h"

namespace stout::blowfish {

enum class LayerState {
  kImplied,  ///< Not stored: the caller knows its values.
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

/// A sampled array whose density changes between queries: denser layers are added below the others
/// and filled by queries that compute a value anyway, or by a sweep. The densest is deleted first.
///
/// Look-ups know nothing of layers: an entry is there or it is not. If it is not, the caller
/// computes it, mostly from a coarser entry nearby.
///
///     LayeredSampledArray sampled({.size = 16, .width = 4, .coarsest_exponent = 3, .columns = 8});
///     sampled.Add();                                      // distance 8: indices 0 and 8
///     ...
///     if (const auto value = sampled.Find(index)) return *value;
///     const std::uint64_t value = Compute(index);
///     sampled.Fill(index, value);                         // costs little if nothing lacks it
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
/// bitmap: here 1 and 1/4. Each column costs 24 bytes even where its layer does not exist.
/// Cost: a look-up in a full column is one load from a small table, which stays in the cache, and
/// one of the number, mostly of one cache line. While the column is being filled, the look-up takes
/// one more load, of the bitmap.
/// Adding a layer takes microseconds whatever its size. Removing it takes as long as the kernel
/// takes to have the memory back.
/// Threads: one at a time. In a server this is the worker of the shard, and for a Next() the thread
///   that fills it.
/// Errors: the constructor, Add, Next and Layers throw std::bad_alloc, having changed nothing.
/// Paper: BlowFish (NSDI'16), 3.1 "Layered Sampled Array"; Appendix A, Algorithms 1 and 2. A column
/// without values takes the place of their ExistsLayer flag.
class LayeredSampledArray {
 public:
  /// No layer exists, except the coarsest if it is implied. Requires shape.Valid().
  explicit LayeredSampledArray(const SampleShape& shape);

  [[nodiscard]] const SampleShape& shape() const { return shape_; }

  /// Adds the next layer below the finest one, empty. False: the finest has distance 1.
  bool Add();
  /// Returns an array of the same shape, without entries, whose first layer will be the one below
  /// the finest of this one. Layers can so be filled on another thread, and join this one later.
  [[nodiscard]] LayeredSampledArray Next() const;
  /// Takes over the layers of a Next(). Requires that no layer came or went since. Does not throw.
  void Join(LayeredSampledArray next);
  /// Deletes the finest layer, and frees its memory. False: none exists, except the implied.
  bool Remove();

  /// The sampling distance of the finest layer; 0 if none exists.
  [[nodiscard]] std::uint32_t finest() const { return finest_; }
  /// Returns true if a layer lacks entries. If none does, a caller that computes many values need
  /// not call Fill.
  [[nodiscard]] bool filling() const { return filling_; }
  /// Likewise, of one column.
  [[nodiscard]] bool filling(std::uint32_t ordinal) const {
    return columns_[ordinal].filled != nullptr;
  }
  /// The coarsest first.
  [[nodiscard]] std::vector<LayerInfo> Layers() const;
  /// Memory of all layers.
  [[nodiscard]] std::size_t bytes() const;

  /// Words of 64 bits that a layer takes, before an allocation is rounded up to whole pages.
  struct LayerWords {
    std::size_t values = 0;
    std::size_t bitmap = 0;  ///< while the layer is being filled
  };
  [[nodiscard]] static LayerWords WordsOfLayer(const SampleShape& shape, std::uint32_t distance);

  // Requires from here on: indices that the shape Contains(), and ordinals of its columns.

  /// The entry, unless its layer does not exist, or lacks it yet, or is implied.
  [[nodiscard]] std::optional<std::uint64_t> Find(std::uint64_t index) const {
    const Column& column = ColumnOf(index);
    const std::uint64_t offset = shape_.Offset(index);
    if (!column.Has(offset)) return std::nullopt;
    return ReadBits(column.values, offset * shape_.width, shape_.width);
  }

  /// Returns true if Find knows all entries of a column. It stays true until its layer is removed.
  [[nodiscard]] bool full(std::uint32_t ordinal) const { return columns_[ordinal].full(); }

  /// Returns true if its layer exists and lacks the entry.
  [[nodiscard]] bool Wants(std::uint64_t index) const {
    const Column& column = ColumnOf(index);
    return column.filled != nullptr && !column.Has(shape_.Offset(index));
  }

  /// Sets the entry if its layer lacks it, and returns true if so. `value` has at most `width`
  /// bits.
  bool Fill(std::uint64_t index, std::uint64_t value) {
    if (!Wants(index)) return false;
    Set(index, value);
    return true;
  }

  /// Brings what Find will look at into the cache; for walks that take turns.
  void Prefetch(std::uint64_t index) const {
    const Column& column = ColumnOf(index);
    if (column.values == nullptr) return;
    const std::uint64_t offset = shape_.Offset(index);
    if (column.filled != nullptr) __builtin_prefetch(column.filled + offset / kWordBits);
    __builtin_prefetch(column.values + offset * shape_.width / 8);
  }

  /// The entries of a column from an offset on, as many as `out` has. False: the column is not
  /// full, and `out` unchanged. Values fit into the numbers of `out`.
  [[nodiscard]] bool Unpack(std::uint32_t ordinal, std::uint64_t first_offset,
                            std::span<std::uint32_t> out) const;
  /// Replaces offsets of a column by its entries there. False: the column is not full, and nothing
  /// changed. Values fit into the numbers.
  [[nodiscard]] bool Gather(std::uint32_t ordinal, std::span<std::uint32_t> offsets) const;

 private:
  // The entries of one ordinal, in memory of its layer.
  struct Column {
    std::byte* values = nullptr;      // Packed. Null: the layer does not exist, or is implied.
    std::uint64_t* filled = nullptr;  // A bit for each entry that is there. Null: all are, or none.
    std::uint64_t lacking = 0;        // Entries.

    [[nodiscard]] bool full() const { return values != nullptr && filled == nullptr; }
    [[nodiscard]] bool Has(std::uint64_t offset) const {
      if (filled == nullptr) return values != nullptr;
      return filled[offset / kWordBits] >> offset % kWordBits & 1;
    }
  };
  struct Layer {
    std::uint32_t distance = 0;
    std::uint64_t entries = 0;
    std::size_t open_columns = 0;  // Columns that lack entries.
    ZeroedWords values;
    ZeroedWords bitmap;  // Empty: the layer is full.

    [[nodiscard]] std::size_t bytes() const { return values.bytes() + bitmap.bytes(); }
  };

  [[nodiscard]] const Column& ColumnOf(std::uint64_t index) const {
    assert(shape_.Contains(index));
    return columns_[shape_.Ordinal(index)];
  }
  // Its column lacks the entry.
  void Set(std::uint64_t index, std::uint64_t value);
  void Complete(std::uint32_t ordinal);
  void NoteFilling();

  const SampleShape shape_;
  std::vector<Column> columns_;  // By ordinal.
  std::vector<Layer> layers_;    // the stored ones, the coarsest first
  std::uint32_t finest_;
  bool filling_ = false;
};

}  // namespace stout::blowfish
