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

  /// Chooses the times of the sends and the number of batches in flight. Consider Adaptive{} if
  /// several servers keep one store busy; see docs/choose-a-policy.md.
  Policy write_policy = Natural{};
  /// As write_policy, for batches of reads.
  Policy read_policy = Natural{.window = 4};
  /// Pause of reads that yield (FetchOptions::yields), which are sent one batch at a time. After
  /// such a batch they pause for `yield_pause` times the time for which other reads were in flight
  /// with it, at most 100 ms. In [0, 1000]. Measured in bench/tenants.
  double yield_pause = 6;

  /// Commits batches one after another, each whole. After a crash the store holds a prefix of the
  /// lane's changes, in the order in which they were marked. Requires a store with atomic batches.
  /// Each batch carries all dirty keys, so max_dirty_keys <= max_batch_items and max_dirty_bytes <=
  /// max_batch_bytes must hold. A refused key breaks the prefix; it is reported.
  bool prefix_ordering = false;

  // --- Limits that hold under every policy ---------------------------------------------------

  /// Maximum number of keys that are not yet durable. Beyond it MarkDirty returns kPushedBack. In
  /// [1, 2^31).
  std::size_t max_dirty_keys = 1'000'000;
  /// Maximum bytes that are not yet durable: sizes passed to MarkDirty, plus key sizes. >= 1.
  std::size_t max_dirty_bytes = std::size_t{256} << 20;
  /// A change that could have been sent for this time does not wait any longer for the policy's
  /// interval and window. The time begins anew after a write of its key, and after a failure with
  /// its back-off. The change still waits while max_batches_in_flight batches are in flight, and
  /// with prefix_ordering for the batch in flight. > 0.
  Duration max_delay = std::chrono::seconds(10);
  /// Maximum items in a batch. >= 1.
  std::size_t max_batch_items = 4096;
  /// Maximum bytes in a batch, keys and values. A larger state is refused with kTooLarge. >= 1.
  std::size_t max_batch_bytes = std::size_t{8} << 20;
  /// Maximum write batches in flight, and maximum read batches in flight. The batch of reads that
  /// yield does not count. >= 1.
  std::size_t max_batches_in_flight = 64;
  /// Maximum number of waiting fetches. Further ones fail with kPushedBack. Fetches that yield may
  /// be half of them. >= 1.
  std::size_t max_pending_reads = 1'000'000;
  /// Maximum keys in the read batches in flight. It limits the values that reads bring into
  /// memory at once; further fetches wait. Reads that yield add a sixteenth of it, but at least 16
  /// keys. >= 1.
  std::size_t max_reads_in_flight = 4096;

  // --- Failure -------------------------------------------------------------------------------

  /// An attempt that has no answer after this time counts as kUnknown. > 0.
  Duration attempt_timeout = std::chrono::seconds(10);
  /// The first pause after a failed attempt. Later pauses double, up to `retry_cap`. > 0.
  Duration retry_first = std::chrono::milliseconds(10);
  /// The longest pause. >= retry_first.
  Duration retry_cap = std::chrono::seconds(5);
};

/// The options of an engine: those of its lanes, and those that all lanes share.
struct EngineOptions {
  LaneOptions lane;

  /// Maximum number of waiting replies and flushes. Further ones fail with kPushedBack. In [1,
  /// 2^31).
  std::size_t max_replies = 1'000'000;
  /// A reply whose keys are not durable within this time runs with kDeadline, and so does a fetch
  /// that is not answered. > 0.
  Duration reply_deadline = std::chrono::seconds(30);
  /// Seed of the jitter of retries. Servers must use different seeds. 0: the shell draws one.
  std::uint64_t seed = 0;
};

/// Returns nullopt if the options are in range, otherwise one line with the option and the remedy.
[[nodiscard]] std::optional<std::string> Validate(const EngineOptions& options);

}  // namespace stout::inline v1
