#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stout::internal {

/// A hash table from keys to slots of a pool that holds the keys themselves.
///
/// Open addressing with linear probing, and deletion by shifting back. There are no tombstones, so
/// a table whose keys change for ever neither degrades nor rehashes, and the steady state allocates
/// nothing. (The flat containers of Boost rehash from time to time under that load.) A cell has 8
/// bytes, and at most half of the cells are used. An unsuccessful look-up then reads 2.5 cells on
/// average, mostly in one cache line (Knuth, TAOCP 6.4).
class KeyIndex {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = std::numeric_limits<Slot>::max();
  static constexpr std::size_t kCellBytes = 8;

  KeyIndex() : cells_(kFirstCells) {}

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Returns the slot with this hash for which `matches(slot)` holds, or kNone.
  template <typename Matches>
  [[nodiscard]] Slot Find(std::uint32_t hash, Matches matches) const {
    for (std::size_t i = hash & mask(); cells_[i].slot != kNone; i = (i + 1) & mask()) {
      if (cells_[i].hash == hash && matches(cells_[i].slot)) return cells_[i].slot;
    }
    return kNone;
  }

  /// Loads the first cell of this hash into the processor's caches.
  void Prefetch(std::uint32_t hash) const { __builtin_prefetch(&cells_[hash & mask()]); }

  /// Makes room, so that the next Insert does not allocate.
  void Reserve() {
    if ((size_ + 1) * 2 > cells_.size()) Grow();
  }

  /// Requires that the key is absent.
  void Insert(std::uint32_t hash, Slot slot) {
    Reserve();
    Place({hash, slot});
    ++size_;
  }

  /// Requires that the slot is present under this hash.
  void Erase(std::uint32_t hash, Slot slot) {
    std::size_t hole = hash & mask();
    while (cells_[hole].slot != slot) hole = (hole + 1) & mask();
    // Move back each later cell of the run that may fill the hole: a cell whose home is not between
    // the hole and itself (cyclically).
    for (std::size_t i = (hole + 1) & mask(); cells_[i].slot != kNone; i = (i + 1) & mask()) {
      const std::size_t home = cells_[i].hash & mask();
      if (((i - home) & mask()) >= ((i - hole) & mask())) {
        cells_[hole] = cells_[i];
        hole = i;
      }
    }
    cells_[hole].slot = kNone;
    --size_;
  }

 private:
  struct Cell {
    std::uint32_t hash = 0;
    Slot slot = kNone;
  };
  static_assert(sizeof(Cell) == kCellBytes);
  static constexpr std::size_t kFirstCells = 64;

  [[nodiscard]] std::size_t mask() const { return cells_.size() - 1; }
  void Place(Cell cell) {
    std::size_t i = cell.hash & mask();
    while (cells_[i].slot != kNone) i = (i + 1) & mask();
    cells_[i] = cell;
  }
  void Grow() {
    std::vector<Cell> old(cells_.size() * 2);
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (cell.slot != kNone) Place(cell);
    }
  }

  std::vector<Cell> cells_;
  std::size_t size_ = 0;
};

}  // namespace stout::internal
