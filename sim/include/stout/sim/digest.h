#pragma once

#include <cstdint>

namespace stout::sim {

/// A running hash of what happened in a world, cheap enough to take in every event.
///
/// Two runs of one seed must have the same: it proves that nothing but the seed (no address, no
/// hash order, no clock) has a say. FNV-1a by words, with a shift: good enough to tell runs apart.
class Digest {
 public:
  constexpr void Mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x100000001b3;
    value_ ^= value_ >> 29;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace stout::sim
