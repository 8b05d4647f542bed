#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "stout/core/histogram.h"
#include "stout/core/types.h"

namespace stout::bench {

/// Writes what the clients of a server see over time to a file, with a line for each interval:
///
///     SECONDS REFUSED P50_US P99_US ANSWERED...
///
/// SECONDS is the Unix time of the end of the interval. ANSWERED is the number of SETs, for each
/// range of keys.
///
/// Threads: none of its own; callers serialise.
class Timeline {
 public:
  static constexpr Duration kInterval = std::chrono::milliseconds(100);

  /// Throws std::runtime_error if the file cannot be written.
  Timeline(const std::string& file, std::size_t ranges);

  void Begin(TimePoint now);
  void Answered(std::size_t range, Duration latency, std::size_t sets, TimePoint now);
  void Refused() { ++refused_, ++all_refused_; }
  /// Ends the interval.
  void WriteLine();
  void End(TimePoint now);

  [[nodiscard]] std::uint64_t refused() const { return all_refused_; }
  /// The longest time without an answer, for each range.
  [[nodiscard]] const std::vector<Duration>& silences() const { return silences_; }

 private:
  std::ofstream file_;
  std::vector<std::uint64_t> answered_;
  Histogram latencies_;
  std::uint64_t refused_ = 0, all_refused_ = 0;
  std::vector<TimePoint> last_;
  std::vector<Duration> silences_;
};

}  // namespace stout::bench
