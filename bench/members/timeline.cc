#include "members/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace stout::bench {

Timeline::Timeline(const std::string& file, std::size_t ranges)
    : file_(file), answered_(ranges), last_(ranges), silences_(ranges) {
  if (!file_) throw std::runtime_error("cannot write " + file);
}

void Timeline::Begin(TimePoint now) { std::ranges::fill(last_, now); }

void Timeline::Answered(std::size_t range, Duration latency, std::size_t sets, TimePoint now) {
  answered_[range] += sets;
  latencies_.Record(latency);
  silences_[range] = std::max(silences_[range], now - last_[range]);
  last_[range] = now;
}

void Timeline::WriteLine() {
  const auto us = [this](double q) { return static_cast<double>(latencies_.Quantile(q)) / 1e3; };
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  file_ << fmt::format("{:.3f} {} {:.0f} {:.0f} {}\n", std::chrono::duration<double>(now).count(),
                       refused_, us(.5), us(.99), fmt::join(answered_, " "))
        << std::flush;
  std::ranges::fill(answered_, 0);
  latencies_ = {};
  refused_ = 0;
}

void Timeline::End(TimePoint now) {
  for (std::size_t range = 0; range < last_.size(); ++range)
    silences_[range] = std::max(silences_[range], now - last_[range]);
}

}  // namespace stout::bench
