#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cluster/cluster_write.h"
#include "cluster/dispatch.h"
#include "cluster/topology.h"
#include "layout.h"
#include "operations.h"
#include "scan.h"
#include "stout/adapters/redis_cluster_store.h"

namespace stout {

// The state that a store's calls need until they have ended, which may be after the store. It also
// executes each call, on the topology's strand.
class RedisClusterStore::Engine {
 public:
  Engine(const Options& options, const redis::Replication& replication, redis::SlotMap map,
         const boost::asio::any_io_executor& strand, std::shared_ptr<redis::LossWatch> watch);

  [[nodiscard]] boost::asio::awaitable<WriteResult> Write(Epoch epoch, redis::ClusterWrite write);
  // One key a request.
  [[nodiscard]] boost::asio::awaitable<ReadResult> Read(std::vector<redis::Request> requests);
  [[nodiscard]] boost::asio::awaitable<Result<Epoch>> NewEpoch();
  // In all slots; a repetition in one slot of each range that a master serves. If the slots of the
  // scope are limited, in these, and in all after they were others. See the source.
  [[nodiscard]] boost::asio::awaitable<Errc> Fence(Scope scope, Epoch epoch);
  // On the strand.
  void LimitScope(const Scope& scope, HashSlots slots) { limits_[scope] = slots; }

  // A page, see the source.
  [[nodiscard]] boost::asio::awaitable<ScanResult> Scan(ScanRequest request,
                                                        redis::ScanPlace place);

  const RedisMode mode;
  const redis::Layout layout;
  const redis::SlotMap map_at_open;  // Which lanes are made by.
  const std::shared_ptr<redis::Topology> topology;

 private:
  // A fence that all slots have had, and who served them.
  struct FullFence {
    Scope scope;
    Epoch epoch;
    std::uint64_t owners_version;

    bool operator==(const FullFence&) const = default;
  };
  // The outcome of a fence in several slots.
  struct Fenced {
    Errc errc;          // kOk: all of them have it.
    bool kept = false;  // And had it before.
  };

  [[nodiscard]] boost::asio::awaitable<Errc> FenceLimited(Scope scope, Epoch epoch,
                                                          HashSlots slots);
  // In all slots.
  [[nodiscard]] boost::asio::awaitable<Fenced> FenceAll(Scope scope, Epoch epoch);
  // Returns true if the note has these slots, and nullopt if it cannot be read.
  [[nodiscard]] boost::asio::awaitable<std::optional<bool>> AreNoted(Scope scope, HashSlots slots);
  // Makes the cluster remember these slots as those of the scope's last fence, and fences slot 0.
  [[nodiscard]] boost::asio::awaitable<Errc> NoteSlots(Scope scope, Epoch epoch, HashSlots slots);
  [[nodiscard]] boost::asio::awaitable<Fenced> FenceIn(std::vector<redis::Slot> slots,
                                                       const Scope& scope, Epoch epoch);
  // Finds keys at the node that serves the first slot that is not done.
  [[nodiscard]] boost::asio::awaitable<Errc> FindKeys(std::size_t count, redis::ScanPlace* place);
  // The largest epoch that the cluster is known to remember, and at which connections. The owner of
  // the epoch's slot may lose it, or be replaced by a replica that lags. Connections then end, or
  // the slot gets another owner.
  struct NotedEpoch {
    Epoch epoch = 0;
    std::uint64_t owners_version = 0;
    std::uint64_t generation = 0;

    [[nodiscard]] bool IsAt(const NotedEpoch& other) const {
      return owners_version == other.owners_version && generation == other.generation;
    }
  };

  // `epoch` at the present connections.
  [[nodiscard]] NotedEpoch AtPresent(Epoch epoch) const;
  // `noted`: from before the epoch was sent. Connections that were made since do not count.
  void Noted(const NotedEpoch& noted);
  // Makes the request for the epoch's own slot.
  [[nodiscard]] redis::Request EpochRequest() const;
  // False: the cluster could not be made to remember it.
  [[nodiscard]] boost::asio::awaitable<bool> NoteEpoch(Epoch epoch);
  [[nodiscard]] boost::asio::awaitable<void> Run(std::span<redis::Request> requests,
                                                 redis::IsAnswer is_answer);

  const redis::Replication replication_;

  // On the strand.
  NotedEpoch noted_;
  std::optional<FullFence> full_fence_;  // The last one, unless a slot may have lost it.
  std::map<Scope, HashSlots> limits_;    // Scopes that are not listed have all slots.
};

}  // namespace stout
