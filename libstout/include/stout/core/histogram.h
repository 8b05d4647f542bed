#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "stout/core/types.h"

namespace stout::inline v1 {

/// A log-linear histogram of durations or other counts. Each power of two has 32 equal buckets, so
/// a quantile is at most 1/32 (3.2 %) too high and never too low. No value is clipped.
///
/// Cost: 15 KiB, no allocation, O(1) per Record.   Source: HdrHistogram.
/// Threads: none of its own.
class Histogram {
 public:
  void Record(std::uint64_t value) {
    ++counts_[BucketOf(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    if (value > max_) max_ = value;
  }
  /// Nanoseconds; a negative duration counts as zero.
  void Record(Duration d) { Record(d.count() < 0 ? 0 : static_cast<std::uint64_t>(d.count())); }

  void Merge(const Histogram& other);

  /// Returns the values that were recorded after `before`, an earlier state of this histogram. The
  /// maximum is the bound of its bucket, at most 1/32 too high.
  [[nodiscard]] Histogram Since(const Histogram& before) const;

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double Mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  /// Returns the smallest bucket bound that a share q of the values does not exceed, q in [0, 1].
  /// Returns the exact maximum if q = 1, and 0 if empty.
  [[nodiscard]] std::uint64_t Quantile(double q) const;

  /// Returns the number of values that are at most `bound`, to within one bucket. For Prometheus.
  [[nodiscard]] std::uint64_t CountAtMost(std::uint64_t bound) const;

 private:
  static constexpr int kSubBits = 5;
  static constexpr std::uint64_t kSub = 1u << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSub;

  // A value below kSub has a bucket of its own. The top kSubBits + 1 bits of a larger value choose
  // its bucket.
  static std::size_t BucketOf(std::uint64_t value) {
    if (value < kSub) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - kSubBits - 1;
    return (static_cast<std::size_t>(shift) << kSubBits) + (value >> shift);
  }
  static std::uint64_t UpperBound(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace stout::inline v1
