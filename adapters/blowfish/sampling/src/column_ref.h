#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sample_layer.h"

namespace stout::blowfish {

/// What stands for a column of a layered sampled array: nothing, one that is being filled, or the
/// words of a full one. One machine word, so that a look-up knows all after one load.
///
/// The words of a full column are pointed at a byte too far, where no object of the other kind is.
class ColumnRef {
 public:
  constexpr ColumnRef() = default;
  [[nodiscard]] static ColumnRef Filling(FillingColumn* column) {
    return ColumnRef(reinterpret_cast<std::byte*>(column));
  }
  [[nodiscard]] static ColumnRef Full(std::uint64_t* words) {
    return ColumnRef(reinterpret_cast<std::byte*>(words) + 1);
  }

  [[nodiscard]] bool full() const { return reinterpret_cast<std::uintptr_t>(at_) & 1; }
  /// Of a full one.
  [[nodiscard]] std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(at_ - 1); }
  /// Null where there is nothing, or nothing left to fill.
  [[nodiscard]] FillingColumn* filling() const {
    return full() ? nullptr : reinterpret_cast<FillingColumn*>(at_);
  }

 private:
  explicit ColumnRef(std::byte* at) : at_(at) {}

  std::byte* at_ = nullptr;
};

static_assert(alignof(FillingColumn) > 1);
static_assert(std::atomic<ColumnRef>::is_always_lock_free);

}  // namespace stout::blowfish
