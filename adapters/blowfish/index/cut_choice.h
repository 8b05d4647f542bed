#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "blowfish/index/cut.h"
#include "blowfish/index/piece_map.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// A way to cut the values of an attribute.
struct CutChoice {
  CutRule rule;
  std::array<PieceSet, 2>
      words;        ///< if has_words(): those that continue a value, those that begin it
  double cost = 0;  ///< In bits, of a sample's values and its share of the alphabet.
};

/// Returns the ways to cut each attribute, the cheapest first. The last has at most 512 symbols for
/// any values.
///
/// A sample of the values decides. A piece that occurs `c` times among `n` costs log2(n / c) bits,
/// as if it were independent of its neighbours. It costs 2 more for the overhead of Psi, and 2 for
/// the time of a step. A piece of the alphabet also costs its text. The number of pieces that the
/// sample lacks is estimated by the numbers of those that occur in it once and twice (Chao 1984).
///
/// If values are few and large, the sample has their beginnings, so that it is no larger than
/// others.
///
/// Words are views of the values.
[[nodiscard]] std::vector<std::vector<CutChoice>> ChooseCuts(
    const Schema& schema, std::span<const std::string_view> values);

/// Returns the maximum memory of ChooseCuts(), about, for this number of values of this total size.
[[nodiscard]] std::uint64_t MemoryToChooseCuts(std::uint64_t values, std::uint64_t bytes);

}  // namespace stout::blowfish
