#include "members/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "stout/core/random.h"

namespace stout::bench {

std::string KeyOf(std::uint64_t number) { return fmt::format("key:{:012}", number); }

std::string SampleAt(std::chrono::microseconds unix_time) {
  const auto us = static_cast<std::uint64_t>(unix_time.count());
  return fmt::format("{}.{:06} {}", us / 1'000'000, us % 1'000'000, SplitMix64(us).Below(1000));
}

void LoadResult::Add(const Load& load, TimePoint begin, TimePoint sent, TimePoint now,
                     std::size_t requests, Kind kind) {
  answered_ += requests;
  // The time of the answer alone decides. Otherwise the requests under way at both ends would be
  // missing, and the slowest are among them.
  const TimePoint from = begin + load.warm_up;
  if (now < from || now > from + load.measure) return;
  requests_ += requests;
  AddLatency(now - sent, kind);
}

void LoadResult::AddLatency(Duration latency, Kind kind) {
  latencies_.push_back(latency);
  ++counts_[kind];
  sums_[kind] += latency;
}

double LoadResult::mean_us(Kind kind) const {
  if (counts_[kind] == 0) return 0;
  return std::chrono::duration<double, std::micro>(sums_[kind]).count() /
         static_cast<double>(counts_[kind]);
}

double LoadResult::rate_per_s(const Load& load) const {
  return static_cast<double>(requests_) / std::chrono::duration<double>(load.measure).count();
}

double LoadResult::quantile_us(double p) {
  if (latencies_.empty()) throw std::runtime_error("no answer came in the measured time");
  const auto rank = static_cast<std::size_t>(p * static_cast<double>(latencies_.size() - 1));
  const auto at = latencies_.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(latencies_.begin(), at, latencies_.end());
  return std::chrono::duration<double, std::micro>(*at).count();
}

}  // namespace stout::bench
