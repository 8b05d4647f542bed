#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "stout/core/policy.h"
#include "stout/core/policy/adaptive.h"
#include "stout/core/policy/basic.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The options of a lane. The defaults suit a server of a few thousand requests per second.
struct LaneOptions {
  // --- Behaviour -----------------------------------------------------------------------------

  /// Decides when to send, and the number of batches in flight. Consider Adaptive{} if several
  /// servers keep one store busy; see docs/choose-a-policy.md.
  Policy write_policy = Natural{};
  /// The same for batches of reads.
  Policy read_policy = Natural{.window = 4};
  /// Reads that yield are sent one batch at a time, beside the batches of other reads. Then they
  /// pause: for the time that other reads were in flight beside that batch, times this factor, at
  /// most 100 ms. In [0, 1000]. Measured in bench/tenants.
  double yield_pause = 6;

  /// Commits batches one after another, each whole. After a crash the store then holds a prefix of
  /// the lane's changes, in the order in which they were marked. Requires a store with atomic
  /// batches. A batch then carries all dirty keys, so max_dirty_keys <= max_batch_items and
  /// max_dirty_bytes <= max_batch_bytes must hold. A refused key breaks the prefix; it is reported.
  bool prefix_ordering = false;

  // --- Limits that hold under every policy ---------------------------------------------------

  /// Keys not yet durable, beyond which MarkDirty answers kPushedBack. >= 1.
  std::size_t max_dirty_keys = 1'000'000;
  /// Bytes not yet durable: the sizes passed to MarkDirty plus the key sizes. >= 1.
  std::size_t max_dirty_bytes = std::size_t{256} << 20;
  /// A change older than this is sent at once, beyond the policy's interval and window. > 0.
  Duration max_delay = std::chrono::seconds(10);
  /// Items in a batch. >= 1.
  std::size_t max_batch_items = 4096;
  /// Bytes in a batch, keys and values. A single state beyond it is refused (kTooLarge). >= 1.
  std::size_t max_batch_bytes = std::size_t{8} << 20;
  /// Write batches in flight; the same for read batches, without that of reads that yield. >= 1.
  std::size_t max_batches_in_flight = 64;
  /// Fetches that may wait, beyond which a further one fails with kPushedBack. >= 1.
  std::size_t max_pending_reads = 1'000'000;
  /// Keys in the read batches that the store has not answered. It bounds the number of values that
  /// reads bring into memory at once. Further fetches wait. Reads that yield add a sixteenth at
  /// most, or 16. >= 1.
  std::size_t max_reads_in_flight = 4096;

  // --- Failure -------------------------------------------------------------------------------

  /// An attempt without an answer within this time counts as kUnknown. > 0.
  Duration attempt_timeout = std::chrono::seconds(10);
  /// The first pause after a failed attempt; it doubles up to `retry_cap`. > 0.
  Duration retry_first = std::chrono::milliseconds(10);
  /// >= retry_first.
  Duration retry_cap = std::chrono::seconds(5);
};

/// The options of an engine: those of its lanes, and those that all lanes share.
struct EngineOptions {
  LaneOptions lane;

  /// Replies and flushes that may wait, beyond which a further one fails with kPushedBack. >= 1.
  std::size_t max_replies = 1'000'000;
  /// A reply whose keys are not durable within this time runs with kDeadline. > 0.
  Duration reply_deadline = std::chrono::seconds(30);
  /// Seeds the jitter of retries. Servers must use different seeds; 0: the shell draws one.
  std::uint64_t seed = 0;
};

/// Returns nullopt if the options are in range, otherwise a line with the option and the remedy.
[[nodiscard]] std::optional<std::string> Validate(const EngineOptions& options);

}  // namespace stout::inline v1
