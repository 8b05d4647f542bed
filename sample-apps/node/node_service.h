#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "resp/server/service.h"
#include "stout/write_back_map.h"

namespace stout::node {

/// What stout-node adds to the protocol: commands on the keys of one map.
struct NodeService final : resp::Service {
  /// `keys` outlives it.
  NodeService(WriteBackMap& keys, std::string password);

  [[nodiscard]] std::unique_ptr<resp::Batch> MakeBatch(resp::Session& session) override;
  [[nodiscard]] std::string Info(resp::Arguments sections) const override;
  [[nodiscard]] std::vector<resp::Setting> Settings() const override;

  WriteBackMap& map;
};

}  // namespace stout::node
