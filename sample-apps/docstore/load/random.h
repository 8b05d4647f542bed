#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <random>

namespace stout::load {

/// xoshiro256++ seeded by SplitMix64 (Blackman, Vigna). Written out, because the generators and
/// distributions of the standard library differ between implementations, and the same seed must
/// give the same load everywhere.
///
/// Owner: value type; a copy goes on with the same numbers.   Threads: none of its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = SplitMix64(seed);
  }

  std::uint64_t Next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), 53 bits.
  double NextUnit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  /// Uniform in [0, bound); requires bound > 0. Lemire's multiplication: its bias is below
  /// bound / 2^32, far under what a load could show.
  std::uint32_t NextBelow(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((Next() >> 32) * bound) >> 32);
  }

 private:
  static std::uint64_t SplitMix64(std::uint64_t& x) {
    x += 0x9e3779b97f4a7c15;
    std::uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::array<std::uint64_t, 4> state_;
};

/// From the operating system, different each time.
inline std::uint64_t RandomRunId() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace stout::load
