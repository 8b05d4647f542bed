#include "node/node_service.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "node/commands.h"
#include "node/node_batch.h"
#include "resp/server/info_text.h"

namespace stout::node {

NodeService::NodeService(WriteBackMap& keys, Store& keys_store, std::string required_password)
    : resp::Service("stout-node", "stout-node", KeyCommands(), std::move(required_password)),
      map(keys),
      store(keys_store) {}

std::unique_ptr<resp::Batch> NodeService::MakeBatch(resp::Session& session) {
  return std::make_unique<NodeBatch>(*this, session);
}

void NodeService::OnFenced() {
  if (std::exchange(fenced_, true)) return;
  spdlog::error("another node has taken over the store: this one ends");
  shut_down();
}

std::string NodeService::Info(resp::Arguments sections) const {
  resp::InfoText text(sections);
  DescribeServer(*this, "stout_version", text);
  DescribeStats(*this, text);
  if (text.Section("Replication")) text.Line("role", "master");
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
