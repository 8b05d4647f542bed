#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "stout/adapters/pending_calls.h"
#include "stout/adapters/redis_options.h"
#include "stout/adapters/store_url.h"
#include "stout/error.h"
#include "stout/store.h"

namespace stout {

/// A store on a Redis Cluster, of servers 5 or newer.
///
///     redis-cluster://app:secret@10.0.0.1:6379,10.0.0.2:6379?wait=1
///
/// The layout of states is that of RedisStore, each in the slot of its key (with hash tags, as
/// Redis has them). A batch is split by slots; the slots of a node share one round trip. A batch is
/// therefore atomic only within a slot. Keys that the same master served when the store opened
/// share a partition. Each master is a lane of its own, and a slow or unreachable master delays no
/// other lane.
///
/// The store learns of the cluster from any node of its URL that answers. It follows changes: slots
/// that move (MOVED, ASK), replicas that take over, new nodes. While a slot moves, a command that
/// needs several of its keys in one step is kTransient (TRYAGAIN).
///
/// Durable: a cluster replicates after it has answered, so a replica that takes over may lack
/// acknowledged writes. traits().durable is true if every node is set up as RedisStore requires,
/// and `wait` covers all replicas of every master, none of which is away. This is checked when the
/// store opens.
/// With RedisOptions::detect_loss, every call to a cluster that is not durable is kLost once a
/// master was started again, or a slot has got another master.
///
/// Fence() writes one key per slot, 16,384 in all, and takes some tenths of a second. A repetition
/// of the last fence that succeeded asks one slot of each range that a master serves. After
/// LimitScope() it writes in the slots of the scope only, unless the last fence of the scope was
/// under another limit, or the URL has a prefix.
///
/// Owner, Threads: as RedisStore.
/// Errors: as RedisStore, but often item by item, because nodes fail on their own. Also kTransient
///   if no node serves a slot (CLUSTERDOWN), and for a slot that keeps moving.
class RedisClusterStore final : public Store {
 public:
  struct Options : RedisOptions {
    std::vector<RedisAddress> seeds{};  ///< some nodes, at least one; they name the others
  };

  /// Counts of redirections: answers of nodes that did not have all of the requested keys.
  struct Redirections {
    std::uint64_t moved = 0;  ///< The slot is another's.
    std::uint64_t asked = 0;  ///< The slot is being moved.
  };

  /// Asks the seeds in turn, and every node how it is set up. Fails with kBadUrl (also: no cluster,
  /// wrong password) and kTransient (a node is not reachable, a slot is not served).
  [[nodiscard]] static Result<std::unique_ptr<RedisClusterStore>> Open(
      const Options& options, const boost::asio::any_io_executor& executor,
      Diagnostics* diagnostics);
  ~RedisClusterStore() override;

  static constexpr std::string_view kUrlSyntax =
      "redis-cluster://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][?options of redis:]";
  [[nodiscard]] static Result<std::unique_ptr<Store>> OpenUrl(
      const StoreUrl& url, const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  [[nodiscard]] LaneId PartitionOf(KeyView key) const override;
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  void NewEpoch(EpochHandler handler) override;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override;
  void LimitScope(const Scope& scope, HashSlots slots) override;
  void Scan(const ScanRequest& request, ScanHandler handler) override;

  /// Since the store opened.
  [[nodiscard]] Redirections redirections() const;

 private:
  class Engine;

  RedisClusterStore(StoreTraits traits, std::shared_ptr<Engine> engine,
                    std::shared_ptr<const LossFlag> lost);

  const StoreTraits traits_;
  PendingCalls pending_;
  const std::shared_ptr<Engine> engine_;
};

}  // namespace stout
