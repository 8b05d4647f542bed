#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stout/core/random.h"
#include "stout/core/types.h"

namespace stout::sim {

/// The keys that a tenant reads.
struct Reads {
  enum class Kind : std::uint8_t {
    kZipf,     ///< some more often than others
    kUniform,  ///< all equally often
    kScans,    ///< segments of random places and lengths, one key after the other
    kLoop      ///< all keys in order, again and again
  };

  Kind kind = Kind::kUniform;
  std::size_t keys = 1;  ///< >= 1
  double skew = 0;       ///< of kZipf: key i is read as often as (i + 1) ^ -skew
  double rate = 1;       ///< compared with other tenants. > 0
};

/// Draws the keys of one tenant.
///
/// Owner: value type.   Threads: none of its own.
class Reader {
 public:
  explicit Reader(const Reads& reads);

  /// Returns the number of the next key, in [0, keys).
  std::size_t Next(SplitMix64& random);

 private:
  Reads reads_;
  std::vector<double> below_;  // of kZipf: sums of weights
  std::size_t next_ = 0;
  std::size_t left_ = 0;  // of a segment
};

}  // namespace stout::sim
