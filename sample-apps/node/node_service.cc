#include "node/node_service.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "node/commands.h"
#include "node/node_batch.h"
#include "resp/server/clock.h"
#include "resp/server/info_text.h"
#include "stout/version.h"

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
  if (text.Section("Server")) {
    text.Line("redis_version", resp::kRedisVersion);
    text.Line("redis_mode", "standalone");
    text.Line("stout_version", STOUT_VERSION);
    text.Line("process_id", ::getpid());
    text.Line("tcp_port", port);
    text.Line("uptime_in_seconds",
              std::chrono::duration_cast<std::chrono::seconds>(resp::Now() - started).count());
  }
  if (text.Section("Clients")) {
    text.Line("connected_clients", sessions.size());
    text.Line("slow_readers_cut_off", connection_stats.slow_readers);
  }
  if (text.Section("Stats")) {
    text.Line("total_connections_received", connection_stats.connections);
    text.Line("total_commands_processed", connection_stats.commands);
    text.Line("rejected_connections", connection_stats.refused_connections);
    text.Line("protocol_errors", connection_stats.protocol_errors);
    text.Line("total_error_replies", command_stats.total_errors());
    text.Line("total_net_input_bytes", connection_stats.input_bytes);
    text.Line("total_net_output_bytes", connection_stats.output_bytes);
  }
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
