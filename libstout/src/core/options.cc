#include "stout/core/options.h"

#include <fmt/format.h>

namespace stout::inline v1 {

std::optional<std::string> Validate(const EngineOptions& options) {
  const LaneOptions& lane = options.lane;
  std::optional<std::string> trouble;
  const auto require = [&](bool good, std::string_view name, std::string_view rule) {
    if (!good && !trouble) trouble = fmt::format("{} must be {}", name, rule);
  };
  require(lane.max_dirty_keys >= 1, "max_dirty_keys", "at least 1");
  require(lane.max_dirty_keys < (std::size_t{1} << 31), "max_dirty_keys", "less than 2^31");
  require(lane.max_dirty_bytes >= 1, "max_dirty_bytes", "at least 1");
  require(lane.yield_pause >= 0 && lane.yield_pause <= 1000, "yield_pause", "between 0 and 1000");
  require(lane.max_delay > Duration::zero(), "max_delay", "positive");
  require(lane.max_batch_items >= 1, "max_batch_items", "at least 1");
  require(lane.max_batch_bytes >= 1, "max_batch_bytes", "at least 1");
  require(lane.max_batches_in_flight >= 1, "max_batches_in_flight", "at least 1");
  require(lane.max_pending_reads >= 1, "max_pending_reads", "at least 1");
  require(lane.max_reads_in_flight >= 1, "max_reads_in_flight", "at least 1");
  require(lane.attempt_timeout > Duration::zero(), "attempt_timeout", "positive");
  require(lane.retry_first > Duration::zero(), "retry_first", "positive");
  require(lane.retry_cap >= lane.retry_first, "retry_cap", "at least retry_first");
  const auto require_policy = [&](const Policy& policy, std::string_view name) {
    const Decision start = policy.Start();
    require(start.window >= 1 && start.max_items >= 1 && start.interval >= Duration::zero(), name,
            "a policy that allows at least one batch of one item");
  };
  require_policy(lane.write_policy, "write_policy");
  require_policy(lane.read_policy, "read_policy");
  require(options.max_replies >= 1, "max_replies", "at least 1");
  require(options.max_replies < (std::size_t{1} << 31), "max_replies", "less than 2^31");
  require(options.reply_deadline > Duration::zero(), "reply_deadline", "positive");
  if (lane.prefix_ordering) {
    require(
        lane.max_dirty_keys <= lane.max_batch_items, "max_dirty_keys",
        "at most max_batch_items under prefix_ordering, because its batches carry all dirty keys");
    require(
        lane.max_dirty_bytes <= lane.max_batch_bytes, "max_dirty_bytes",
        "at most max_batch_bytes under prefix_ordering, because its batches carry all dirty keys");
  }
  return trouble;
}

}  // namespace stout::inline v1
