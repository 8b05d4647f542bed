#include "node/node_service.h"

#include <utility>

#include "node/commands.h"
#include "node/node_batch.h"
#include "resp/server/info_text.h"

namespace stout::node {

NodeService::NodeService(Ranges& key_ranges, Store& key_store, Cluster* node_cluster,
                         std::string required_password)
    : resp::Service("stout-node", "stout-node", AllCommands(), std::move(required_password)),
      ranges(key_ranges),
      store(key_store),
      cluster(node_cluster) {
  if (cluster != nullptr) mode = "cluster";
}

std::unique_ptr<resp::Batch> NodeService::MakeBatch(resp::Session& session) {
  return std::make_unique<NodeBatch>(*this, session);
}

std::string NodeService::Info(resp::Arguments sections) const {
  resp::InfoText text(sections);
  DescribeServer(*this, "stout_version", text);
  DescribeStats(*this, text);
  if (text.Section("Replication")) text.Line("role", "master");
  if (text.Section("Cluster")) text.Line("cluster_enabled", cluster != nullptr ? "1" : "0");
  resp::DescribeCommands(command_stats, text);
  return text.Take();
}

std::vector<resp::Setting> NodeService::Settings() const {
  return {{"databases", "1"},
          {"max-value", std::to_string(limits.commands.max_bulk)},
          {"port", std::to_string(port)},
          {"proto-max-bulk-len", std::to_string(limits.commands.max_bulk)},
          {"save", ""}};
}

}  // namespace stout::node
