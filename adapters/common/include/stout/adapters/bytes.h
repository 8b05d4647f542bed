#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stout {

/// Reads a size: "4096", "64KiB", "8MiB", "1GiB". Case does not count, units may be shortened, and
/// all units are powers of 1024: "64k", "64kb" and "64KiB" are the same. Returns nullopt if the
/// text is no size, or if the size does not fit.
[[nodiscard]] std::optional<std::uint64_t> ParseBytes(std::string_view text);

/// Returns a text that ParseBytes reads back: "64KiB", "1000".
[[nodiscard]] std::string FormatBytes(std::uint64_t bytes);

}  // namespace stout
