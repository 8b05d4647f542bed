#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stout/core/types.h"
#include "stout/sim/result.h"
#include "world/units.h"

namespace stout::sim::internal {

/// A log-linear histogram of latencies, eight times as fine as stout::Histogram. Every power of two
/// is cut into 256 buckets, so a quantile is within 0.2 %; mean and maximum are exact. Servers do
/// not need that, but a comparison of two policies that differ by 1 % does.
class LatencyHistogram {
 public:
  /// Requires latency >= 0.
  void Record(Duration latency) {
    const auto value = static_cast<std::uint64_t>(latency.count());
    const std::size_t bucket = BucketOf(value);
    ++counts_[bucket];
    first_ = std::min(first_, bucket);
    last_ = std::max(last_, bucket);
    ++count_;
    sum_ += static_cast<double>(value);
    max_ = std::max(max_, value);
  }

  void Merge(const LatencyHistogram& other) {
    for (std::size_t i = other.first_; i <= other.last_ && i < kBuckets; ++i) {
      counts_[i] += other.counts_[i];
    }
    first_ = std::min(first_, other.first_);
    last_ = std::max(last_, other.last_);
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  /// Costs what was used, so that a slice of the timeline is cheap to begin.
  void Clear() {
    if (count_ > 0) std::fill(&counts_[first_], &counts_[last_] + 1, 0);
    first_ = kBuckets;
    last_ = 0;
    count_ = max_ = 0;
    sum_ = 0;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Nanoseconds, as max, Mean and Quantile.
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double max() const { return static_cast<double>(max_); }
  [[nodiscard]] double Mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  /// The middle of the bucket that holds the value at share q (0..1) of all; 0 when empty.
  [[nodiscard]] double Quantile(double q) const {
    if (count_ == 0) return 0;
    const double rank = q * static_cast<double>(count_);
    double below = 0;
    for (std::size_t i = first_; i < last_; ++i) {
      below += static_cast<double>(counts_[i]);
      if (below >= rank) return std::min(Middle(i), max());
    }
    return std::min(Middle(last_), max());
  }
  /// In milliseconds.
  [[nodiscard]] LatencySummary Summary() const {
    return {.mean = Mean() / kNsPerMs,
            .p50 = Quantile(0.5) / kNsPerMs,
            .p90 = Quantile(0.9) / kNsPerMs,
            .p99 = Quantile(0.99) / kNsPerMs,
            .max = max() / kNsPerMs};
  }

 private:
  static constexpr int kSubBits = 8;
  static constexpr std::uint64_t kSub = 1U << kSubBits;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) * kSub;

  // Values below kSub have a bucket each; above, the top kSubBits + 1 bits choose it.
  static std::size_t BucketOf(std::uint64_t value) {
    if (value < kSub) return value;
    const int shift = std::bit_width(value) - kSubBits - 1;
    return (static_cast<std::size_t>(shift) << kSubBits) + (value >> shift);
  }
  static double Middle(std::size_t bucket) {
    if (bucket < kSub) return static_cast<double>(bucket);
    const std::size_t shift = (bucket >> kSubBits) - 1;
    const double width = static_cast<double>(std::uint64_t{1} << shift);
    return (static_cast<double>(bucket - (shift << kSubBits)) + 0.5) * width;
  }

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kBuckets);
  std::size_t first_ = kBuckets;  // bucket in use
  std::size_t last_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace stout::sim::internal
