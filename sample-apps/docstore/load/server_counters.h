#pragma once

#include <optional>
#include <string_view>

namespace stout::load {

/// The counters of the server's /metrics page, added over all lanes. The difference of two samples
/// describes the time between them.
struct ServerCounters {
  double keys_marked = 0;
  double writes_sent = 0;
  double batches_sent = 0;

  /// Writes per batch; 0 if there was no batch.
  [[nodiscard]] double BatchSize() const;
  /// Changes per write sent: 1 where nothing collapsed; 0 if nothing was written.
  [[nodiscard]] double CollapseRatio() const;

  friend ServerCounters operator-(const ServerCounters& a, const ServerCounters& b) {
    return {a.keys_marked - b.keys_marked, a.writes_sent - b.writes_sent,
            a.batches_sent - b.batches_sent};
  }
  bool operator==(const ServerCounters&) const = default;
};

/// Reads Prometheus' text format, and adds up the series of a name. Returns nullopt if a counter is
/// missing.
[[nodiscard]] std::optional<ServerCounters> ParseServerCounters(std::string_view metrics);

}  // namespace stout::load
