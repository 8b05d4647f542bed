#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stout/core/types.h"

namespace stout::bench {

/// Clients that each wait for the answer to a SET before they send the next one.
struct Load {
  std::size_t clients = 64;
  std::size_t pipeline = 1;  ///< SETs that a client sends at once
  std::uint64_t keys = 100'000;
  std::size_t value_bytes = 100;
  Duration warm_up = std::chrono::seconds(1);
  Duration measure = std::chrono::seconds(2);
};

/// What the clients saw in the measured time.
class LoadResult {
 public:
  /// `now`: when the answer came, from the start of the load.
  void Add(const Load& load, TimePoint begin, TimePoint sent, TimePoint now, std::size_t sets);

  [[nodiscard]] double rate_per_s(const Load& load) const;
  /// Of a client's answer, in microseconds. Requires an answer.
  [[nodiscard]] double quantile_us(double p);

 private:
  std::uint64_t sets_ = 0;
  std::vector<Duration> latencies_;
};

/// The members are RocksDB directories below `directory`, in this process.
[[nodiscard]] LoadResult RunOnRocksDb(const Load& load, const std::string& directory,
                                      std::size_t members);

/// The server speaks RESP. After each SET the client asks it to `WAIT` for so many replicas, unless
/// that is 0. Throws std::runtime_error.
[[nodiscard]] LoadResult RunOnServer(const Load& load, const std::string& address,
                                     std::size_t wait);

[[nodiscard]] std::string KeyOf(std::uint64_t number);

}  // namespace stout::bench
