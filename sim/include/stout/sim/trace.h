#pragma once

#include <cstdint>
#include <string_view>

#include "stout/core/types.h"
#include "stout/sim/digest.h"

namespace stout::sim {

/// The events of a world, as a digest and, if wanted, as lines for people.
///
/// Two runs of one seed must have the same digest; see Digest.
class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  /// One event: what, and up to three numbers and one text that tell it from others.
  void Add(TimePoint at, std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0,
           std::uint64_t c = 0, std::string_view text = {});

  [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }

 private:
  void Mix(std::string_view text);

  bool print_;
  Digest digest_;
};

}  // namespace stout::sim
