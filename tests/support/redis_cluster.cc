#include "tests/support/redis_cluster.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/eventually.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

std::string AddressOf(const RedisServer& node) {
  return "127.0.0.1:" + std::to_string(node.port());
}

// As RedisServer::Execute, without a process of its own. Replies with elements are not printed as
// redis-cli does: "[$slave, :7001]".
std::string Ask(const RedisServer& node, const std::vector<std::string>& command) {
  std::string reply = RespClient(node.port()).Do(command);
  if (reply.starts_with("-")) throw std::runtime_error(command[0] + ": " + reply);
  const bool prints = reply.starts_with("[") || reply.starts_with("(");
  return prints ? reply : reply.substr(1);
}

bool IsMaster(const RedisServer& node) { return Ask(node, {"ROLE"}).starts_with("[$master"); }

void Await(const char* what, const std::function<bool()>& done) {
  if (!Eventually(done)) throw std::runtime_error(what);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

RedisCluster::RedisCluster() {
  while (nodes_.size() < kNodes) nodes_.push_back(StartNode());
  std::vector<std::string> create = {"redis-cli",     "--cluster-replicas", "1",
                                     "--cluster-yes", "--cluster",          "create"};
  for (const auto& node : nodes_) {
    create.push_back(
        AddressOf(*node) + "@" +
        node->Execute({"CONFIG", "GET", "cluster-port"}).substr(sizeof "cluster-port"));
  }
  RunToEnd(create);
  Heal();
}

std::unique_ptr<RedisServer> RedisCluster::StartNode() {
  // As with the server's own port, another may take it first.
  for (int attempts = 10;; --attempts) {
    try {
      return std::make_unique<RedisServer>(std::vector<std::string>{
          "--cluster-enabled", "yes", "--cluster-port", std::to_string(FreePort()),
          "--cluster-node-timeout", std::to_string(kNodeTimeoutMs),
          "--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no",
          "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"});
    } catch (const std::runtime_error&) {
      if (attempts == 1) throw;
    }
  }
}

std::string RedisCluster::Url(const std::string& options) const {
  std::string url;
  for (const auto& node : nodes_)
    url += (url.empty() ? "redis-cluster://" : ",") + AddressOf(*node);
  return url + (options.empty() ? "" : "?" + options);
}

bool RedisCluster::Node::Has(const std::string& flag) const {
  return ("," + flags + ",").find("," + flag + ",") != std::string::npos;
}

bool RedisCluster::Node::Serves(int slot) const {
  return std::any_of(slots.begin(), slots.end(), [slot](const std::string& range) {
    if (range.front() == '[') return false;
    const std::size_t dash = range.find('-');
    const int first = std::stoi(range.substr(0, dash));
    const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
    return first <= slot && slot <= last;
  });
}

// ID ADDRESS:PORT@BUS_PORT FLAGS MASTER PING PONG EPOCH LINK SLOTS...
std::vector<RedisCluster::Node> RedisCluster::NodesAsSeenBy(const RedisServer& server) {
  std::vector<Node> nodes;
  for (const std::string& line : Lines(Ask(server, {"CLUSTER", "NODES"}))) {
    std::istringstream words(line);
    Node node;
    std::string address, ping, pong;
    words >> node.id >> address >> node.flags >> node.master >> ping >> pong >> node.epoch >>
        node.link;
    node.port = std::stoi(address.substr(address.find(':') + 1));
    for (std::string slot; words >> slot;) node.slots.push_back(slot);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

RedisServer& RedisCluster::MasterOf(const std::string& key) {
  // One that was away may still take itself for a master: the newest has the word.
  RedisServer* master = nullptr;
  long long epoch = -1;
  for (const auto& server : nodes_) {
    if (!server->Up()) continue;
    const int slot = std::stoi(Ask(*server, {"CLUSTER", "KEYSLOT", key}));
    for (const Node& node : NodesAsSeenBy(*server)) {
      if (node.Has("myself") && node.Has("master") && node.Serves(slot) && node.epoch > epoch) {
        master = server.get();
        epoch = node.epoch;
      }
    }
  }
  if (master == nullptr) throw std::runtime_error("nobody serves the key " + key);
  return *master;
}

RedisServer& RedisCluster::ReplicaOf(const RedisServer& master) {
  const std::string role = "[$slave, $127.0.0.1, :" + std::to_string(master.port()) + ",";
  for (const auto& node : nodes_) {
    if (node->Up() && Ask(*node, {"ROLE"}).starts_with(role)) return *node;
  }
  throw std::runtime_error("no replica");
}

RedisServer& RedisCluster::OtherMaster(const RedisServer& than) {
  for (const auto& node : nodes_) {
    if (node.get() != &than && node->Up() && IsMaster(*node)) return *node;
  }
  throw std::runtime_error("no other master");
}

void RedisCluster::AwaitFailoverOf(const RedisServer& master, const std::string& key) {
  Await("no replica took over", [&] {
    try {
      return &MasterOf(key) != &master;
    } catch (const std::runtime_error&) {
      return false;
    }
  });
}

void RedisCluster::Heal() {
  for (const auto& node : nodes_) {
    if (node->Up()) continue;
    node->Kill();
    node->Start();
  }
  Await("the cluster does not become whole", [this] { return Whole(); });
}

bool RedisCluster::Whole() {
  for (const auto& server : nodes_) {
    if (Ask(*server, {"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos) {
      return false;
    }
    const std::vector<Node> nodes = NodesAsSeenBy(*server);
    const std::string slots = Ask(*server, {"CLUSTER", "SLOTS"});
    std::map<std::string, int> replicas;
    for (const Node& node : nodes) {
      // It lacks a replica that is not known to have data.
      if (slots.find(":" + std::to_string(node.port) + ",") == std::string::npos) return false;
      if (node.link != "connected" || node.Has("fail") || node.Has("fail?")) return false;
      if (node.Has("slave")) ++replicas[node.master];
      if (node.Has("myself") && node.Has("slave") &&
          Ask(*server, {"INFO", "replication"}).find("master_link_status:up") ==
              std::string::npos) {
        return false;
      }
    }
    if (nodes.size() != kNodes || replicas.size() != kMasters) return false;
  }
  return true;
}

void RedisCluster::Clear() {
  for (const auto& node : nodes_) {
    if (IsMaster(*node)) Ask(*node, {"FLUSHALL"});
  }
}

std::size_t RedisCluster::ScriptsRun() const {
  const std::string before = "cmdstat_evalsha:calls=";
  std::size_t calls = 0;
  for (const auto& node : nodes_) {
    for (const std::string& line : Lines(Ask(*node, {"INFO", "commandstats"}))) {
      if (line.starts_with(before)) calls += std::stoul(line.substr(before.size()));
    }
  }
  return calls;
}

void RedisCluster::ResetStatistics() {
  for (const auto& node : nodes_) Ask(*node, {"CONFIG", "RESETSTAT"});
}

SlotMigration::SlotMigration(RedisCluster& cluster, const std::string& key)
    : slot_(Ask(cluster.MasterOf(key), {"CLUSTER", "KEYSLOT", key})),
      from_(cluster.MasterOf(key)),
      to_(cluster.OtherMaster(from_)) {}

void SlotMigration::Begin() {
  Ask(to_, {"CLUSTER", "SETSLOT", slot_, "IMPORTING", Ask(from_, {"CLUSTER", "MYID"})});
  Ask(from_, {"CLUSTER", "SETSLOT", slot_, "MIGRATING", Ask(to_, {"CLUSTER", "MYID"})});
}

void SlotMigration::MoveKeys(const std::vector<std::string>& keys) {
  std::vector<std::string> migrate = {"MIGRATE", "127.0.0.1", std::to_string(to_.port()), "", "0",
                                      "5000",    "KEYS"};
  migrate.insert(migrate.end(), keys.begin(), keys.end());
  Ask(from_, migrate);
}

void SlotMigration::End() {
  while (true) {
    const auto keys = Lines(from_.Execute({"CLUSTER", "GETKEYSINSLOT", slot_, "100"}));
    if (keys.empty()) break;
    MoveKeys(keys);
  }
  const std::string id = Ask(to_, {"CLUSTER", "MYID"});
  Ask(to_, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
  Ask(from_, {"CLUSTER", "SETSLOT", slot_, "NODE", id});
}

}  // namespace stout::test
