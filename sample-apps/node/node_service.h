#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "resp/server/scan_cursors.h"
#include "resp/server/service.h"
#include "stout/store.h"
#include "stout/write_back_map.h"

namespace stout::node {

/// The service of stout-node: commands on the keys of one map.
struct NodeService final : resp::Service {
  /// `keys` and its store outlive it.
  NodeService(WriteBackMap& keys, Store& keys_store, std::string password);

  [[nodiscard]] std::unique_ptr<resp::Batch> MakeBatch(resp::Session& session) override;
  [[nodiscard]] std::string Info(resp::Arguments sections) const override;
  [[nodiscard]] std::vector<resp::Setting> Settings() const override;

  /// Logs that another node has taken over the keys, and ends this node. Only the first call
  /// counts.
  void OnFenced();

  WriteBackMap& map;
  Store& store;
  resp::ScanCursors cursors;  ///< used on the strand of the map

 private:
  bool fenced_ = false;
};

}  // namespace stout::node
