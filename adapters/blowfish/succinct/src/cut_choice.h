#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cut.h"
#include "piece_map.h"
#include "schema.h"

namespace stout::blowfish {

/// A way to cut the values of an attribute.
struct CutChoice {
  CutRule rule;
  std::array<PieceSet, 2> words;  ///< Of kWords: those that continue a value, those that begin one.
  double cost = 0;                ///< In bits, of a sample's values and its share of the alphabet.
};

/// Of each attribute, the ways to cut it, the cheapest first. The last has no more than 512 symbols
/// whatever the values are.
///
/// A sample of the values tells: a piece that comes `c` times among `n` costs log2(n / c) bits, as
/// if it were independent of those beside it, 2 for what Psi takes beyond, and as much as 2 for the
/// time that a step takes; a piece of the alphabet costs its text. How many pieces there are of
/// which none is in the sample is estimated by how many are in it once and twice (Chao 1984).
///
/// Of values that are few and large the sample has the beginnings, so that it is no larger than
/// others.
///
/// Words stay views of the values.
[[nodiscard]] std::vector<std::vector<CutChoice>> ChooseCuts(
    const Schema& schema, std::span<const std::string_view> values);

/// What ChooseCuts() takes at most, about, for so many values of so many bytes together.
[[nodiscard]] std::uint64_t MemoryToChooseCuts(std::uint64_t values, std::uint64_t bytes);

}  // namespace stout::blowfish
