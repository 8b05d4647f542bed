#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "members/timeline.h"
#include "stout/core/types.h"

namespace stout::bench {

/// Clients that each wait for the answer to a SET before they send the next one.
struct Load {
  std::size_t clients = 64;
  /// Client i has only keys of range i % ranges, as a node with this number of ranges cuts them.
  std::size_t ranges = 1;
  /// SETs per second of all clients, each due at its own time. 0: no limit.
  std::uint64_t rate = 0;
  std::size_t pipeline = 1;  ///< SETs that a client sends at once
  std::uint64_t keys = 100'000;
  std::size_t value_bytes = 100;
  Duration warm_up = std::chrono::seconds(1);
  Duration measure = std::chrono::seconds(2);
};

/// What the clients saw in the measured time.
class LoadResult {
 public:
  /// `now`: when the answer came. `sent`: when the request was sent or was due.
  void Add(const Load& load, TimePoint begin, TimePoint sent, TimePoint now, std::size_t requests);

  [[nodiscard]] double rate_per_s(const Load& load) const;
  /// A quantile of the latencies, in microseconds. Throws std::runtime_error if no answer came in
  /// the measured time.
  [[nodiscard]] double quantile_us(double p);

 private:
  std::uint64_t requests_ = 0;
  std::vector<Duration> latencies_;
};

/// The members are RocksDB directories below `directory`, in this process.
[[nodiscard]] LoadResult RunOnRocksDb(const Load& load, const std::string& directory,
                                      std::size_t members);

/// The server speaks RESP. After each SET the client asks it to `WAIT` for so many replicas, unless
/// that is 0. `timeline`, or null, gets what the clients see. With it, a client that is refused
/// tries again after 5 ms. SIGTERM ends the load early: then `load.measure` becomes the time that
/// was measured. Throws std::runtime_error.
[[nodiscard]] LoadResult RunOnServer(Load& load, const std::string& address, std::size_t wait,
                                     Timeline* timeline);

/// On the clock of RunOnServer.
[[nodiscard]] TimePoint SteadyNow();

[[nodiscard]] std::string KeyOf(std::uint64_t number);

}  // namespace stout::bench
