#include "program/engine_options.h"

#include <fmt/format.h>

namespace stout::program {

void AddBatchingOptions(Options& options, EngineOptions& engine, std::string_view too_many,
                        std::string_view too_late, std::string_view share) {
  LaneOptions& lane = engine.lane;
  options.Time("--max-delay", lane.max_delay,
               fmt::format("A change older than this does not wait for the policy. It still waits "
                           "during the pause after a failure, and while {} batches are in flight",
                           lane.max_batches_in_flight));
  options.Count("--max-batch-items", lane.max_batch_items, 1, kMaxCount, "Maximum keys in a batch");
  options.Bytes("--max-batch-bytes", lane.max_batch_bytes, 1, "Maximum bytes in a batch");
  constexpr auto kDirty =
      "Maximum {} that are not durable, in each lane of the store (a master of a Redis Cluster, a "
      "shard of a blowfish-server), at each member if there are members; further changes {}{}{}";
  options.Count("--max-dirty-keys", lane.max_dirty_keys, 1, kMaxCount,
                fmt::format(kDirty, "keys", too_many, share, ""));
  options.Bytes("--max-dirty-bytes", lane.max_dirty_bytes, 1,
                fmt::format(kDirty, "bytes", too_many, share,
                            share.empty() ? "" : ", but at least --max-batch-bytes"));
  options.Time("--reply-deadline", engine.reply_deadline,
               fmt::format("A change that is not durable by then {}", too_late));
  options.Time("--attempt-timeout", lane.attempt_timeout,
               "A batch without an answer by then is sent again");
}

}  // namespace stout::program
