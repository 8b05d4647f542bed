#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stout::node {

/// A deadline is Unix time in milliseconds. A key exists up to it, and expires after it.
inline constexpr std::int64_t kNoDeadline = 0;

/// A value and its deadline.
struct DatedValue {
  std::string_view value;
  std::int64_t deadline = kNoDeadline;  ///< >= 0

  [[nodiscard]] bool expired(std::int64_t now) const {
    return deadline != kNoDeadline && deadline < now;
  }
  friend bool operator==(const DatedValue&, const DatedValue&) = default;
};

/// The bytes that a value may have in the store beyond its own.
inline constexpr std::size_t kValueHeader = 13;

/// How a store has a value:
///
/// | value | bytes in the store |
/// |---|---|
/// | without a deadline | the value |
/// | with a deadline | 00 "stx1", the deadline in 8 bytes, big-endian, the value |
/// | without a deadline, but beginning with 00 "stx1" | 00 "stx1", 8 bytes 00, the value |
///
/// Decoding accepts any bytes. Bytes that no node can have written are a value without a deadline.
/// @{
[[nodiscard]] std::string EncodeValue(std::string value, std::int64_t deadline);
/// The result points into `stored`.
[[nodiscard]] DatedValue DecodeValue(std::string_view stored);
/// @}

}  // namespace stout::node
