#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/slot_map.h"
#include "loss_watch.h"
#include "operations.h"
#include "stout/adapters/redis_options.h"
#include "stout/error.h"

namespace stout::redis {

// The facts that a cluster's nodes report about it and about themselves.
struct ClusterFacts {
  SlotMap map{};
  Replication replication{};
  bool durable = false;
  std::string why_not_durable{};
  Duration tombstone_ttl{};
  std::size_t max_batch_bytes = 0;
  std::vector<LossWatch::Known> masters{};
  std::string why_no_loss_detection{};  // empty: it is possible
};

// Blocks: asks the seeds in turn for the map, then every node how it is set up. Fails with kBadUrl
// (also: no cluster, wrong password) and kTransient (not reachable now, slots that nobody serves).
[[nodiscard]] Result<ClusterFacts> SetUpCluster(const std::shared_ptr<const RedisOptions>& options,
                                                std::span<const RedisAddress> seeds,
                                                Diagnostics* diagnostics);

}  // namespace stout::redis
