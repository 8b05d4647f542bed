#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "cluster/gathering.h"
#include "cluster/redirection.h"
#include "cluster/slot_map.h"
#include "connection.h"
#include "server.h"
#include "stout/adapters/redis_options.h"

namespace stout::redis {

// The nodes of a cluster, the connections to them, and the owner of each slot. It asks the nodes
// again from time to time, and soon after an answer contradicted the map.
//
// Owner: shared; it lives until its coroutines have ended, which Close() ensures.
// Threads: Close() and the counters any; all other members run on strand().
class Topology : public std::enable_shared_from_this<Topology> {
 public:
  // `seeds` are asked where nobody of the last map answers. `watch` may be null. It also learns
  // when a slot has got another owner, which may lack writes.
  Topology(std::shared_ptr<const RedisOptions> options, SlotMap map,
           std::vector<RedisAddress> seeds, const boost::asio::any_io_executor& strand,
           std::shared_ptr<LossWatch> watch);

  // Begins to ask.
  void Start();
  // Ends all connections, and so what is under way.
  void Close();
  [[nodiscard]] const boost::asio::any_io_executor& strand() const { return strand_; }

  // Null: nobody is known to serve it.
  [[nodiscard]] const RedisAddress* OwnerOf(Slot slot) const { return map_.OwnerOf(slot); }
  // As SlotMap::RangeEnds.
  [[nodiscard]] std::vector<Slot> RangeEnds() const { return map_.RangeEnds(); }
  // Another number whenever a slot has got another owner.
  [[nodiscard]] std::uint64_t owners_version() const { return owners_version_; }
  [[nodiscard]] Server& At(const RedisAddress& address) { return NodeAt(address)->server; }

  // A node has said so.
  void Learn(const Redirection& redirection);
  // A node is away, or in trouble: another may have taken its place.
  void Doubt();

  [[nodiscard]] std::uint64_t moved() const { return moved_; }
  [[nodiscard]] std::uint64_t asked() const { return asked_; }

 private:
  struct Node {
    RedisAddress address;
    Server server;
    std::weak_ptr<Gathering::Ticket> being_asked{};  // for the map, until the job is destroyed
  };
  struct Search;

  [[nodiscard]] std::shared_ptr<Node> NodeAt(const RedisAddress& address);
  [[nodiscard]] boost::asio::awaitable<void> KeepMap();
  [[nodiscard]] boost::asio::awaitable<void> SearchMap();
  [[nodiscard]] std::vector<std::shared_ptr<Node>> NodesToAsk();
  // Returns nullopt if the node does not answer, or knows no other node.
  [[nodiscard]] static boost::asio::awaitable<std::optional<SlotMap>> Ask(
      Connection& connection, const RedisAddress& address);
  void Adopt(SlotMap map);
  // The map has changed.
  void CompareOwners();

  const std::shared_ptr<const RedisOptions> options_;
  const std::vector<RedisAddress> seeds_;
  const boost::asio::any_io_executor strand_;
  const std::shared_ptr<LossWatch> watch_;
  std::atomic<std::uint64_t> moved_{0};
  std::atomic<std::uint64_t> asked_{0};

  // On the strand.
  SlotMap complete_;  // Its owners had all acknowledged writes.
  SlotMap map_;
  std::uint64_t owners_version_ = 0;
  bool nobody_answered_ = false;  // The last time.
  bool doubted_ = false;
  bool closed_ = false;
  std::vector<std::shared_ptr<Node>> nodes_;
  boost::asio::steady_timer refresh_;  // Doubt() ends its wait.
  boost::asio::steady_timer pause_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace stout::redis
