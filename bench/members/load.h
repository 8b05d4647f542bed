#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "members/timeline.h"
#include "stout/core/types.h"

namespace stout::bench {

/// Clients that each wait for the answer to a request before they send the next one.
struct Load {
  std::size_t clients = 64;
  /// Client i has only keys of range i % ranges, as a node with this number of ranges cuts them.
  std::size_t ranges = 1;
  /// SETs per second of all clients, each due at its own time. 0: no limit.
  std::uint64_t rate = 0;
  std::size_t pipeline = 1;  ///< requests that a client sends at once
  std::uint64_t keys = 100'000;
  double zipf = 0;  ///< exponent of Zipf's law, with the first key the hottest; 0: uniform
  std::size_t value_bytes = 100;
  bool samples = false;     ///< values are those of SampleAt, not `value_bytes` of the same letter
  std::uint64_t gets = 0;   ///< percent of the requests; the others are SETs and scans
  std::uint64_t scans = 0;  ///< percent of the requests that list keys in order, with values
  std::uint64_t scan_keys = 100;  ///< a scan lists 1 to this number of keys, uniformly
  std::uint64_t relaxed = 0;      ///< percent of the gets that go to a connection with READONLY
  /// Each request goes to the owner of its key's slot, which CLUSTER SLOTS names.
  bool slots = false;
  bool fill = false;  ///< SETs each key once, and measures nothing
  Duration warm_up = std::chrono::seconds(1);
  Duration measure = std::chrono::seconds(2);
};

/// What the clients saw in the measured time.
class LoadResult {
 public:
  enum Kind { kSet, kGet, kRelaxedGet, kScan };
  /// Counts requests that were answered in the measured time, whenever they were sent.
  /// `now`: when the answer came. `sent`: when the request was sent or was due. `kind` is that of
  /// the last request.
  void Add(const Load& load, TimePoint begin, TimePoint sent, TimePoint now, std::size_t requests,
           Kind kind = kSet);

  /// Counts in the latencies alone: for requests that were due, but not carried out until the end.
  void AddLatency(Duration latency, Kind kind);

  /// Requests that were answered at any time, also before and after the measured time.
  [[nodiscard]] std::uint64_t answered() const { return answered_; }
  /// Mean latency in microseconds; 0 if there was none of this kind.
  [[nodiscard]] double mean_us(Kind kind) const;
  [[nodiscard]] double rate_per_s(const Load& load) const;
  /// A quantile of the latencies, in microseconds. Throws std::runtime_error if no answer came in
  /// the measured time.
  [[nodiscard]] double quantile_us(double p);

  /// GETs that found no key. If all keys were filled before, the servers have lost these.
  std::uint64_t missing = 0;

 private:
  std::uint64_t answered_ = 0;
  std::uint64_t requests_ = 0;
  std::array<std::uint64_t, 4> counts_{};
  std::array<Duration, 4> sums_{};
  std::vector<Duration> latencies_;
};

/// The members are RocksDB directories below `directory`, in this process.
[[nodiscard]] LoadResult RunOnRocksDb(const Load& load, const std::string& directory,
                                      std::size_t members);

/// The servers speak RESP: "HOST:PORT[,HOST:PORT...]", of which each client uses one. Unless `wait`
/// is 0, a client sends `WAIT` for this number of replicas after each SET. `timeline`, or null,
/// gets what the clients see. With it, a client that is refused tries again after 5 ms. SIGTERM
/// ends the load early: then `load.measure` becomes the time that was measured. Throws
/// std::runtime_error. Requires pipeline 1 with `load.slots` or `load.relaxed`.
[[nodiscard]] LoadResult RunOnServer(Load& load, const std::string& servers, std::size_t wait,
                                     Timeline* timeline);

[[nodiscard]] std::string KeyOf(std::uint64_t number);

/// Returns what a monitor may have measured: "SECONDS NUMBER". SECONDS is the time with six
/// decimals, NUMBER is in [0, 1000).
[[nodiscard]] std::string SampleAt(std::chrono::microseconds unix_time);

}  // namespace stout::bench
