#include "stout/sim/reader.h"

#include <algorithm>
#include <cmath>

namespace stout::sim {

Reader::Reader(const Reads& reads) : reads_(reads) {
  if (reads.kind != Reads::Kind::kZipf) return;
  below_.reserve(reads.keys);
  double sum = 0;
  for (std::size_t i = 1; i <= reads.keys; ++i) {
    below_.push_back(sum += std::pow(static_cast<double>(i), -reads.skew));
  }
}

std::size_t Reader::Next(SplitMix64& random) {
  switch (reads_.kind) {
    case Reads::Kind::kZipf: {
      const double drawn = random.Unit() * below_.back();
      return static_cast<std::size_t>(std::lower_bound(below_.begin(), below_.end(), drawn) -
                                      below_.begin());
    }
    case Reads::Kind::kUniform:
      return random.Below(reads_.keys);
    case Reads::Kind::kScans:
      if (left_ == 0) {
        next_ = random.Below(reads_.keys);
        left_ = 1 + random.Below(reads_.keys / 4 + 1);
      }
      --left_;
      return next_++ % reads_.keys;
    case Reads::Kind::kLoop:
      return next_++ % reads_.keys;
  }
  return 0;
}

}  // namespace stout::sim
