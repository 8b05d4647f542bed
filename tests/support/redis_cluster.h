#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/redis_server.h"

namespace stout::test {

// A private Redis Cluster of three masters, each with a replica, on free ports of the loopback. A
// master that is silent for two seconds is replaced by its replica; meanwhile the others serve
// their slots. To start one takes some five seconds.
//
// Threads: none of its own; callers serialise.
class RedisCluster {
 public:
  static constexpr std::size_t kMasters = 3;
  static constexpr std::size_t kNodes = 2 * kMasters;
  // A server that has ended or hangs is replaced after this time without an answer.
  static constexpr int kNodeTimeoutMs = 2000;

  RedisCluster();

  // A node as the cluster's are, which knows none of them yet and serves nothing.
  [[nodiscard]] static std::unique_ptr<RedisServer> StartNode();

  // Returns the URL of a store with all nodes:
  // "redis-cluster://127.0.0.1:PORT,127.0.0.1:PORT...[?options]".
  [[nodiscard]] std::string Url(const std::string& options = {}) const;
  [[nodiscard]] RedisServer& node(std::size_t i) { return *nodes_[i]; }

  // The node that serves a key, by the word of those that answer. Throws if there is none.
  [[nodiscard]] RedisServer& MasterOf(const std::string& key);
  [[nodiscard]] RedisServer& ReplicaOf(const RedisServer& master);
  // A master that is not that one.
  [[nodiscard]] RedisServer& OtherMaster(const RedisServer& than);
  // Waits until a key is served by another node than that.
  void AwaitFailoverOf(const RedisServer& master, const std::string& key);

  // Restores the cluster: starts and wakes the killed and stopped nodes. Waits until three masters
  // serve all slots, each has a replica in step, and every node knows that.
  void Heal();
  // Removes all keys.
  void Clear();

  // The scripts that clients had run by the nodes since ResetStatistics().
  [[nodiscard]] std::size_t ScriptsRun() const;
  void ResetStatistics();

 private:
  // A line of CLUSTER NODES.
  struct Node {
    std::string id;
    int port = 0;
    std::string flags;
    std::string master;  // The id of a replica's master.
    long long epoch = 0;
    std::string link;
    std::vector<std::string> slots;  // "5", "0-5460", "[7->-id]" of one that is being moved.

    [[nodiscard]] bool Has(const std::string& flag) const;
    [[nodiscard]] bool Serves(int slot) const;
  };

  [[nodiscard]] static std::vector<Node> NodesAsSeenBy(const RedisServer& node);
  [[nodiscard]] bool Whole();

  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

// A slot on its way from one master to another. A test stands between any two of its steps:
//
//     SlotMigration move(cluster, "key");
//     move.Begin();          // from now on keys that the old master does not have: ASK
//     move.MoveKeys({"key"});
//     move.End();            // from now on: MOVED
class SlotMigration {
 public:
  // Prepares the move of the slot of `key` to another master.
  SlotMigration(RedisCluster& cluster, const std::string& key);

  void Begin();
  void MoveKeys(const std::vector<std::string>& keys);
  // Moves the rest, and the slot itself.
  void End();

  [[nodiscard]] RedisServer& from() { return from_; }
  [[nodiscard]] RedisServer& to() { return to_; }

 private:
  const std::string slot_;
  RedisServer& from_;
  RedisServer& to_;
};

}  // namespace stout::test
