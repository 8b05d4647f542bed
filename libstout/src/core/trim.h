#pragma once

#include <cstddef>

namespace stout::internal {

/// The capacity, in bytes, that an unused buffer may keep.
inline constexpr std::size_t kMaxSpareBytes = std::size_t{4} << 10;

/// Frees the buffer of an unused string or vector if it is larger. (An assignment would keep it.)
template <typename Buffer>
void Trim(Buffer& buffer) {
  const std::size_t bytes = buffer.capacity() * sizeof(typename Buffer::value_type);
  if (bytes > kMaxSpareBytes) Buffer().swap(buffer);
}

}  // namespace stout::internal
