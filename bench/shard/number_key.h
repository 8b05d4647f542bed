#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stout::bench::shard {

/// The keys of this benchmark, as in the paper, are numbers of 8 bytes: the highest byte first, so
/// that keys are ordered as their numbers are.
using NumberKey = std::array<char, 8>;

[[nodiscard]] constexpr NumberKey ToKey(std::uint64_t number) {
  NumberKey key{};
  for (auto byte = key.rbegin(); byte != key.rend(); ++byte, number >>= 8) {
    *byte = static_cast<char>(number & 0xff);
  }
  return key;
}

[[nodiscard]] constexpr std::string_view View(const NumberKey& key) {
  return {key.data(), key.size()};
}

/// Returns nullopt for any other key.
[[nodiscard]] constexpr std::optional<std::uint64_t> ToNumber(std::string_view key) {
  if (key.size() != sizeof(NumberKey)) return std::nullopt;
  std::uint64_t number = 0;
  for (const char byte : key) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace stout::bench::shard
