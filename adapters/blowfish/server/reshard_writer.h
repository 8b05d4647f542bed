#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "blowfish/server/shard_worker.h"
#include "stout/core/batch.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Writes into the new shards of a reshard. A call that succeeds has made all of it durable.
///
/// Blocks.   Threads: one.   Requires that the shards were started.
/// Errors: kTransient, with the reason and a remedy.
class ReshardWriter {
 public:
  /// `patience`: see ReshardOptions.   `go_on`: called while there is no room; false stops it.
  ReshardWriter(std::chrono::milliseconds patience, std::function<bool()> go_on)
      : patience_(patience), go_on_(std::move(go_on)) {}

  /// Asks again until there is room. Gives up if the patience is over, and the shard has failed to
  /// write its log or a merge meanwhile.
  [[nodiscard]] ErrorCode Write(ShardWorker& worker, const WriteBatch& batch,
                                Diagnostics* diagnostics);
  [[nodiscard]] ErrorCode Fence(ShardWorker& worker, const Scope& scope, Epoch epoch,
                                Diagnostics* diagnostics);

 private:
  const std::chrono::milliseconds patience_;
  const std::function<bool()> go_on_;
};

/// The error of a reshard that `go_on` has stopped.
[[nodiscard]] ErrorCode FailReshardStopped(Diagnostics* diagnostics);

}  // namespace stout::blowfish
