#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stout::internal {

/// Objects that are addressed by a small index and used again without allocation.
///
/// Take returns an object as it was when it was given back, so its strings keep their capacity. The
/// memory stays at that of the largest number of objects ever in use. References are valid until
/// the next Take. Only Take allocates, and if it throws, nothing has changed.
template <typename T>
class Pool {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  Index Take() {
    if (free_.empty()) {
      if (slots_.size() == slots_.capacity()) Grow();
      slots_.emplace_back();
      ++in_use_;
      return static_cast<Index>(slots_.size() - 1);
    }
    const Index index = free_.back();  // the last one used, because it is still in the cache
    free_.pop_back();
    ++in_use_;
    return index;
  }
  void Give(Index index) {
    --in_use_;
    free_.push_back(index);
  }

  T& operator[](Index index) { return slots_[index]; }
  const T& operator[](Index index) const { return slots_[index]; }

  /// Returns the number of objects that were taken and not given back.
  [[nodiscard]] std::size_t in_use() const { return in_use_; }

 private:
  static constexpr std::size_t kFirstSlots = 8;

  void Grow() {
    const std::size_t slots = std::max(kFirstSlots, 2 * slots_.size());
    free_.reserve(slots);
    slots_.reserve(slots);
  }

  std::vector<T> slots_;
  std::vector<Index> free_;
  std::size_t in_use_ = 0;
};

}  // namespace stout::internal
