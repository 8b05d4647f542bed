#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sample_layer.h"

namespace stout::blowfish {

/// The state of a column of a layered sampled array: no column, one that is being filled, or the
/// words of a full one. It is one machine word, so a look-up has it after one load.
///
/// The pointer to the words of a full column is one byte too high. No object of the other kind has
/// such an address.
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
  /// For a full column.
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
