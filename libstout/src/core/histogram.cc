#include "stout/core/histogram.h"

#include <algorithm>
#include <cmath>

namespace stout::inline v1 {

void Histogram::Merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

Histogram Histogram::Since(const Histogram& before) const {
  Histogram since;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    since.counts_[i] = counts_[i] - before.counts_[i];
    if (since.counts_[i] > 0) since.max_ = std::min(UpperBound(i), max_);
  }
  since.count_ = count_ - before.count_;
  since.sum_ = sum_ - before.sum_;
  return since;
}

std::uint64_t Histogram::Quantile(double q) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank && seen > 0) return std::min(UpperBound(i), max_);
  }
  return max_;
}

std::uint64_t Histogram::CountAtMost(std::uint64_t bound) const {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets && UpperBound(i) <= bound; ++i) seen += counts_[i];
  return seen;
}

std::uint64_t Histogram::UpperBound(std::size_t bucket) {
  if (bucket < 2 * kSub) return bucket;
  const std::size_t shift = (bucket >> kSubBits) - 1;
  const std::uint64_t top = kSub + (bucket & (kSub - 1));
  return (top << shift) + ((std::uint64_t{1} << shift) - 1);
}

}  // namespace stout::inline v1
