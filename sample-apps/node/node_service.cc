#include "node/node_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "node/commands.h"
#include "node/node_batch.h"
#include "node/value_format.h"
#include "resp/server/ascii.h"
#include "resp/server/info_text.h"
#include "resp/store/store_commands.h"
#include "stout/adapters/datalet_keys.h"

namespace stout::node {

NodeService::NodeService(Ranges& key_ranges, Store& key_store, Cluster* node_cluster,
                         std::string required_password)
    : resp::Service("stout-node", "stout-node", AllCommands(), std::move(required_password)),
      main{.name = {}, .ranges = key_ranges, .store = key_store, .cluster = node_cluster},
      boot_id(resp::DrawDataId()) {
  if (node_cluster == nullptr) return;
  mode = "cluster";
  node_cluster->peers.UseTls(tls_context);
}

std::unique_ptr<resp::Batch> NodeService::MakeBatch(resp::Session& session) {
  return std::make_unique<NodeBatch>(*this, session);
}

std::string NodeService::Info(resp::Arguments sections) const {
  resp::InfoText text(sections);
  DescribeServer(*this, "stout_version", text);
  resp::DescribeMemory(0, text);
  if (text.Section("Persistence")) text.Line("loading", 0);
  DescribeStats(*this, text);
  resp::DescribeReplication(*this, text);
  resp::DescribeCpu(text);
  resp::DescribeCommands(command_stats, text);
  if (text.Section("Hotkeys", false)) {
    std::size_t place = 0;
    for (const HotKeys::Key& hot : hot_keys.Hottest(10)) {
      text.Line(fmt::format("hot_key{}", place++),
                fmt::format("key={:?},share={:.3f}", hot.key, hot.share));
    }
  }
  resp::DescribeKeyspace(
      static_cast<std::uint64_t>(std::max<std::int64_t>(main.key_count.keys(), 0)), text);
  return text.Take();
}

std::vector<resp::Setting> NodeService::Settings() const {
  return {{"databases", "1"},
          {"max-value", std::to_string(limits.commands.max_bulk)},
          {"maxclients", std::to_string(limits.max_clients)},
          {"maxmemory", "0"},
          {"port", std::to_string(port)},
          {"proto-max-bulk-len", std::to_string(limits.commands.max_bulk)},
          {"save", ""}};
}

bool NodeService::IsOfServers(std::string_view command) const {
  return resp::EqualIgnoringCase(command, "STOUT.PEER") ||
         resp::EqualIgnoringCase(command, "STOUT.SHARDS");
}

resp::CommandLimits NodeService::InputLimits() const {
  resp::CommandLimits commands = limits.commands;
  commands.named_bulk = commands.max_bulk;
  // STOUT.RANGE may begin behind a key of --max-value, with one byte more.
  constexpr std::size_t kBeyond = std::max(kValueHeader, internal::kMaxTablePrefix);
  commands.max_bulk += datalet != nullptr ? kBeyond : 1;
  commands.max_bulk = std::min(commands.max_bulk, resp::CommandLimits::kMaxBulk);
  return commands;
}

}  // namespace stout::node
