#pragma once

#include <cstdint>
#include <optional>

#include "stout/core/types.h"

namespace stout::node {

/// The levels of a connection's requests (STOUT.LEVEL, READONLY and READWRITE).
struct Levels {
  bool relaxed = false;                ///< members may answer reads
  bool causal = false;                 ///< ... but nothing older than the connection has seen
  bool strong = false;                 ///< only owners may; neither: as the mode offers
  std::optional<Duration> staleness;   ///< of such an answer, at most
  std::optional<std::uint32_t> write;  ///< as AnswerLevel::members

  friend bool operator==(const Levels&, const Levels&) = default;
};

}  // namespace stout::node
