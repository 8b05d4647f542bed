#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blowfish/index/psi.h"

namespace stout::blowfish {

/// The row of every 512th position of a text, and the position of every 512th row. So no walk that
/// looks for either takes many more steps than that, even in a record of megabytes.
///
/// Space: 8 bytes for 512 bytes of text.   Owner: none; the spans stay with the file.
/// Threads: any.
class TextSamples {
 public:
  static constexpr int kExponent = 9;
  static constexpr std::uint32_t kDistance = std::uint32_t{1} << kExponent;

  /// Numbers of samples in a text of this size.
  [[nodiscard]] static constexpr std::uint64_t SizeOf(std::uint64_t text_bytes) {
    return (text_bytes + kDistance - 1) / kDistance;
  }

  TextSamples() = default;
  TextSamples(std::span<const Row> rows, std::span<const std::uint32_t> positions)
      : rows_(rows), positions_(positions) {}

  /// Returns true if their number is that of a text of this size, and each is within the text.
  /// Cost: reads all of them.
  [[nodiscard]] bool AreReadable(std::uint64_t text_bytes) const {
    const auto within = [&](std::uint32_t sample) { return sample < text_bytes; };
    return rows_.size() == SizeOf(text_bytes) && positions_.size() == rows_.size() &&
           std::ranges::all_of(rows_, within) && std::ranges::all_of(positions_, within);
  }

  /// Both return nullopt for what is not sampled.
  /// @{
  [[nodiscard]] std::optional<Row> RowOf(std::uint64_t position) const {
    if (position % kDistance != 0) return std::nullopt;
    return rows_[position / kDistance];
  }
  [[nodiscard]] std::optional<std::uint64_t> PositionOf(Row row) const {
    if (row % kDistance != 0) return std::nullopt;
    return positions_[row / kDistance];
  }
  /// @}

  /// The arrays while they are built.
  struct Parts {
    std::vector<Row> rows;
    std::vector<std::uint32_t> positions;

    /// For a text of this size.
    void Reset(std::uint64_t text_bytes) {
      rows.assign(SizeOf(text_bytes), 0);
      positions.assign(SizeOf(text_bytes), 0);
    }
    void Add(std::uint32_t position, Row row) {
      if (position % kDistance == 0) rows[position / kDistance] = row;
      if (row % kDistance == 0) positions[row / kDistance] = position;
    }
    [[nodiscard]] TextSamples View() const { return {rows, positions}; }
  };

 private:
  std::span<const Row> rows_;
  std::span<const std::uint32_t> positions_;
};

}  // namespace stout::blowfish
