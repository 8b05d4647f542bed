#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "policies/opponents/linger.h"
#include "stout/core/policy.h"

namespace stout::bench {

/// The Java producer of Kafka 4.0 with its defaults and one partition. A batch is sent when it
/// holds 16 KiB or is 5 ms old, while fewer than 5 requests are in flight. Nothing adapts.
///
/// | regime                              | limiting factor                                     |
/// |-------------------------------------|-----------------------------------------------------|
/// | light load                          | the linger: 5 ms between sends                      |
/// | 16 KiB gather in less than 5 ms     | the size: batches of 16 KiB, up to 5 in flight      |
/// | the store is slower than that       | the window: 5 batches of 16 KiB per round trip      |
///
/// Source: apache/kafka, clients/src/main/java/org/apache/kafka/clients/producer/
/// ProducerConfig.java (linger.ms, batch.size, max.in.flight.requests.per.connection). For
/// differences see Linger().
struct Kafka {
  static constexpr Duration kLinger = std::chrono::milliseconds(5);
  static constexpr std::size_t kBatchBytes = 16384;
  static constexpr std::size_t kInFlight = 5;

  [[nodiscard]] Decision Start() const { return {.interval = kLinger, .window = kInFlight}; }
  Decision Observe(const BatchSample& sample) {
    return Linger(kLinger, kBatchBytes, kInFlight, sample);
  }
  [[nodiscard]] std::string Name() const { return "kafka"; }

  bool operator==(const Kafka&) const = default;
};

}  // namespace stout::bench
