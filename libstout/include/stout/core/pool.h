#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stout::internal {

/// Objects that are addressed by a small index and used again without allocation.
///
/// Take returns an object as it was when it was given back, so its strings keep their capacity. The
/// memory stays at that of the largest number of objects ever in use. References are valid until
/// the next Take.
template <typename T>
class Pool {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  Index Take() {
    ++in_use_;
    if (free_.empty()) {
      slots_.emplace_back();
      return static_cast<Index>(slots_.size() - 1);
    }
    const Index index = free_.back();  // the last one used, because it is still in the cache
    free_.pop_back();
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
  std::vector<T> slots_;
  std::vector<Index> free_;
  std::size_t in_use_ = 0;
};

}  // namespace stout::internal
