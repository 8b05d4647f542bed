#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stout::redis {

/// A cluster shares out its keys by slots. Source: Redis Cluster Specification, "Key distribution
/// model".
inline constexpr std::size_t kSlots = 16384;
using Slot = std::uint16_t;

/// Returns the slot of a key: CRC16 (XMODEM) modulo kSlots. The CRC covers the text between the
/// first '{' and the next '}'. If these are missing or adjacent, it covers the whole key.
[[nodiscard]] Slot SlotOf(std::string_view key);

/// For each slot a short text that belongs to it: the key "{" + SlotTags()[s] + "}..." is in slot
/// s. Computed at the first call (a few ms), the same in every process. Threads: any.
[[nodiscard]] const std::array<std::string, kSlots>& SlotTags();

}  // namespace stout::redis
