#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/types.h"

namespace stout::inline v1 {

/// The constants of the adaptive law, derived in docs/ADAPTIVE.md. None depends on the speed of the
/// store. "Measured": chosen on the tuning grid, whose results are flat around the value.
struct AdaptiveOptions {
  // --- The law -------------------------------------------------------------------------------

  /// cycle = linear * queue + square * queue^2 / service: the spacing that is best for all servers.
  /// `queue` is the smaller of two queueing delays in a row. Derived as 2.5..4 and 3..16; measured.
  double linear = 3;
  double square = 8;
  /// The cycle is at most this multiple of the queue, times the share of the fixed cost. Measured.
  double cap = 16;
  /// Share of the error in the queue by which one answer corrects the cycle. 0.5 is the largest
  /// value that converges without ringing if a longer cycle shortens the queue one for one.
  /// Derived.
  double gain = 0.5;
  /// Largest share by which one answer shortens the cycle when there is hardly any queue. Measured.
  double decay = 0.15;
  /// Weight of the newest batch in the averages (EWMA). Measured.
  double weight = 0.25;
  /// Cost of the items of a full batch, in idle latencies. It is smaller, down to 1, while full
  /// batches are served in parallel without a queue. Full batches are sent at once, because larger
  /// ones would save at most 1/16 of the cost. Measured: twice as large fills parallel servers too
  /// slowly, half as large loses capacity near saturation.
  double full = 16;
  /// Maximum cycle. One hour exceeds the need of any store.
  Duration ceiling = std::chrono::hours(1);

  // --- Probes and the start ----------------------------------------------------------------------

  /// Share of the batches that are cut in two to learn the cost of a batch. Each pair costs the
  /// store one more batch. Measured: 0.04 is worse, 0.005 learns too slowly.
  double probe_share = 0.01;
  /// Cycle at the start, as a multiple of the latest latency. It is long, so that a whole fleet
  /// that starts at once sees an empty queue. Measured.
  double polite = 4;
  /// Maximum number of answers of the polite start. Measured.
  std::size_t polite_answers = 6;

  // --- Several batches in flight, and doubt ------------------------------------------------------

  /// A cycle below this multiple of the least latency of a batch lets batches overlap. Measured.
  double pipelined = 0.9;
  /// Batches overlap only while the mean latency is below this multiple of the least. Measured:
  /// decision 19.
  double no_delay = 2;
  /// Number of pairs wanted at first: 8 * (1 + doubt * scatter). Measured: decision 19.
  double doubt = 3;

  bool operator==(const AdaptiveOptions&) const = default;
};

/// Reads "cap=20,probe_share=0.02". Returns nullopt if malformed or out of range; then `error`
/// gives the cause.
[[nodiscard]] std::optional<AdaptiveOptions> ReadAdaptiveOptions(std::string_view text,
                                                                 std::string& error);

/// Returns a line for each option: name, default, range, meaning.
[[nodiscard]] std::string DescribeAdaptiveOptions();

}  // namespace stout::inline v1
