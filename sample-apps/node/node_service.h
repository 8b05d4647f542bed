#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "node/cluster.h"
#include "node/hot_keys.h"
#include "node/ranges.h"
#include "node/table.h"
#include "resp/server/service.h"
#include "stout/store.h"
#include "stout/tenants.h"

namespace stout::node {

class Tables;

/// The service of stout-node: commands on the keys of a store.
struct NodeService final : resp::Service {
  /// All outlive it. `node_cluster`: null if the node is alone.
  NodeService(Ranges& key_ranges, Store& key_store, Cluster* node_cluster,
              std::string required_password);

  [[nodiscard]] std::unique_ptr<resp::Batch> MakeBatch(resp::Session& session) override;
  [[nodiscard]] std::string Info(resp::Arguments sections) const override;
  [[nodiscard]] std::vector<resp::Setting> Settings() const override;
  /// Nodes begin with one of these: see Peers and BlowfishStore.
  [[nodiscard]] bool IsOfServers(std::string_view command) const override;
  /// The largest value of a client that has a deadline must fit the datalet.
  [[nodiscard]] resp::CommandLimits InputLimits() const override;

  Table main;        ///< the default table
  HotKeys hot_keys;  ///< of the default table
  /// The other tables. Null: there can be none.
  Tables* tables = nullptr;
  /// The tenants of all connections.
  std::shared_ptr<Tenants> tenants = std::make_shared<Tenants>();
  /// The store that this process has opened, if it has one: it may have a cache that tenants share.
  Store* local_store = nullptr;
  /// The store that this node serves to the others as stout://. Null: none. It must not be closed
  /// before the connections, nor after their context.
  Store* datalet = nullptr;
  /// Identifies the data of a durable datalet: clients with detect_loss take others for a loss.
  std::string data_id = "durable";
  /// Identifies the data of a datalet that is not durable, which end with this process.
  const std::string boot_id;
  /// How long commands wait for a range that has no owner.
  Duration reply_deadline = std::chrono::seconds(30);
};

}  // namespace stout::node
