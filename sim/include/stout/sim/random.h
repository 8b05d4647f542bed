#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "stout/core/random.h"
#include "stout/core/types.h"

namespace stout::sim {

/// The random numbers of a world. Integers and Unit are the same on every machine. Exponential and
/// Normal go through the machine's logarithm and cosine, which may differ in the last bit.
///
/// Fork a generator for each part of the world. Otherwise a change of one part reshuffles all
/// others.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : bits_(seed) {}

  constexpr Random Fork() { return Random(bits_.Next()); }

  /// Uniform over all values: a seed for another generator.
  constexpr std::uint64_t Bits() { return bits_.Next(); }
  /// Uniform in [0, bound); bound > 0.
  constexpr std::uint64_t Below(std::uint64_t bound) { return bits_.Below(bound); }
  /// Uniform in [low, high].
  constexpr std::uint64_t Between(std::uint64_t low, std::uint64_t high) {
    return low + Below(high - low + 1);
  }
  constexpr Duration Between(Duration low, Duration high) {
    return low + Duration(static_cast<Duration::rep>(
                     Below(static_cast<std::uint64_t>((high - low).count()) + 1)));
  }
  /// True `permille` times in a thousand.
  constexpr bool Chance(std::uint64_t permille) { return Below(1000) < permille; }

  /// Uniform in [0, 1).
  constexpr double Unit() { return bits_.Unit(); }
  /// Exponential with mean 1.
  double Exponential() { return -std::log1p(-Unit()); }
  /// Normal with mean 0 and variance 1 (Box and Muller 1958; the second of the pair is not kept).
  double Normal() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(2 * Exponential());
    return radius * std::cos(kTwoPi * Unit());
  }

  template <typename T>
  constexpr T Pick(std::initializer_list<T> choices) {
    return choices.begin()[static_cast<std::size_t>(Below(choices.size()))];
  }

 private:
  SplitMix64 bits_;
};

}  // namespace stout::sim
