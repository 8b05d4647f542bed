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

/// Returns the part of a key that decides its slot: the hash tag, which is the text between the
/// first '{' and the next '}'. A key without a hash tag, or with an empty one, counts as a whole.
[[nodiscard]] std::string_view HashedPart(std::string_view key);

/// Returns the slot of a key: CRC16 (XMODEM) of its hashed part, modulo kSlots.
[[nodiscard]] Slot SlotOf(std::string_view key);

/// For each slot a short text that belongs to it: the key "{" + SlotTags()[s] + "}..." is in slot
/// s. Computed at the first call (a few ms), the same in every process. Threads: any.
[[nodiscard]] const std::array<std::string, kSlots>& SlotTags();

}  // namespace stout::redis
