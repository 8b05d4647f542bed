#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "node/value_format.h"

namespace stout::node {

/// Returns Unix time in milliseconds.
[[nodiscard]] inline std::int64_t UnixMilliseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// The clock of the deadlines of a node's keys, and the time of the next one.
///
/// Threads: any.
struct Deadlines {
  std::function<std::int64_t()> now = UnixMilliseconds;
  bool shared = false;  ///< other nodes set deadlines, too
  /// No key expires before it. 0 if that is not known.
  std::atomic<std::int64_t> earliest = 0;
  std::atomic<bool> over = false;  ///< the keys are gone: sweeps end, and none begins any more

  /// A key has this deadline.
  void Note(std::int64_t deadline) {
    if (deadline == kNoDeadline) return;
    for (std::int64_t known = earliest; deadline < known;) {
      if (earliest.compare_exchange_weak(known, deadline)) break;
    }
  }
};

}  // namespace stout::node
