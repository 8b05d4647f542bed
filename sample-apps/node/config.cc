#include "node/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "program/cluster_options.h"
#include "program/command_line.h"
#include "program/engine_options.h"
#include "program/options.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/hash_slot.h"
#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/open_store.h"
#include "stout/core/policy/basic.h"

namespace stout::node {
namespace {

constexpr std::uint16_t kDefaultPort = 7001;

/// A value must fit into one batch with its key and the batch's other bytes.
constexpr std::size_t kBatchRoom = 1024;

/// Room for the name and key of a command, as in blowfish-server.
constexpr std::size_t kRequestRoom = 4096;
/// Enough for 48 other nodes: each has up to 16 connections for commands, and 5 for the datalet.
constexpr std::size_t kServerConnections = 1024;

// The default of --partition.
constexpr std::string_view kSlots = "slots";

// A page of a scan, whose last value may go beyond.
constexpr std::size_t kPageRoom = std::size_t{8} << 20;

void AddMemberOptions(program::Options& options, Config& config) {
  options.Group("Several nodes, each with a store");
  options.Text("--datalet", config.datalet,
               "Instead of --store, with --join: the store that this node brings. Each range of "
               "keys is kept equal on several of these stores, its members. Other nodes reach "
               "rocksdb: and memory: through this node",
               "URL");
  options
      .Text("--datalet-id", config.datalet_id,
            "Its name in the deployment. A store that returns under its name gets only the states "
            "that it missed",
            "NAME")
      ->default_str("made from --advertise, or from the URL of a store that other nodes reach");
  options.Count("--capacity", config.capacity, 0, 1'000'000,
                "Share of the ranges that the store gets, relative to other stores");
  program::AddClusterOptions(options, config.cluster, /*has_aa_ec=*/true);
}

void AddServiceOptions(program::Options& options, CLI::App& app, Config& config) {
  options.Group("Service");
  options.Text("--store", config.store, fmt::format("The store: {}", StoreUrlSyntax()), "URL");
  options.Text("--scope", config.scope,
               "The name under which one node, or the nodes that join, own the store. A node that "
               "starts without --join shuts out the node that had the name before",
               "NAME");
  options.Service(config);
  app.get_option("--drain-timeout")->default_str("30s; with --join long enough for a hand-over");
  options.Metrics(config.metrics,
                  "Address that serves /metrics, /stats, /healthz and a live page over HTTP");
}

void AddJoinOptions(program::Options& options, Config& config) {
  options.Group("Several nodes on one store");
  options.Text("--join", config.join,
               fmt::format("The lease service that assigns ranges of keys to the nodes. Nodes of a "
                           "deployment have the same --store and --scope: {}",
                           LeaseServiceUrlSyntax()),
               "URL");
  options
      .Peer("--advertise", config.advertise,
            "Where clients and other nodes reach this node, if it differs from --listen")
      ->default_str("--listen");
  options.Count("--ranges", config.ranges, 1, redis::kSlots,
                "Ranges that the 16384 slots are divided into. All nodes have the same number, "
                "which never changes");
  options
      .Text("--partition", config.partition_name,
            "slots, or range:KEY,KEY,...: each range is an interval of keys instead, so that "
            "STOUT.RANGE asks few nodes. KEY is the first key of a further range; write ',', '%' "
            "and all but printable ASCII as %XX. Clients of Redis Cluster cannot route by it. All "
            "nodes have the same, which never changes",
            "PARTITION")
      ->default_str("slots, or with --datalet what the deployment has");
  program::AddLeaseOptions(options, config.lease_ttl, config.handover_timeout);
}

void AddClientOptions(program::Options& options, Config& config) {
  resp::ConnectionLimits& limits = config.limits;
  options.Group("Clients");
  options.PasswordFile("--password-file", config.password,
                       "A file whose first line is the password that clients send with AUTH; "
                       "without it clients need none");
  options.UnixSocket(config.unix_socket.path, config.unix_socket.mode);
  options.Tls(config.tls.certificate, config.tls.key);
  options
      .Text(
          "--tls-ca", config.tls.authorities,
          "With --join: a PEM file with the certificates of the authorities that the nodes trust. "
          "Each node needs a certificate from one of them, for the host at which other nodes reach "
          "it. After SIGHUP the node reads the file again",
          "FILE")
      ->needs("--tls-cert")
      ->needs("--join");
  options.Count("--max-clients", limits.max_clients, 1, 1'000'000,
                "Maximum connections at once. With --join, other nodes may have 1024 more");
  options.Bytes("--max-value", limits.commands.max_bulk, 64, std::size_t{512} << 20,
                "Maximum bytes of a value, and of any other argument; at least 1KiB below "
                "--max-batch-bytes");
  options
      .Bytes("--max-request", limits.commands.max_request, 64, std::size_t{4} << 30,
             "Maximum bytes of a command: --max-value and 4KiB at least")
      ->default_str("twice --max-value, 256MiB at least");
  options.Bytes("--max-replies", limits.max_replies, 64,
                "Maximum reply bytes for one pipelined batch");
  options.Seconds("--write-timeout", limits.write_timeout, std::chrono::milliseconds(1),
                  std::chrono::seconds(1'000'000'000),
                  "A client that takes no replies for this time is disconnected");
  options.Bytes("--min-read-rate", limits.min_read_rate, 1,
                "A client that takes fewer bytes per second is disconnected after --write-timeout");
}

void AddBatchingOptions(program::Options& options, Config& config) {
  LaneOptions& lane = config.map.engine.lane;
  options.Group("Batching");
  options.Parsed("--policy", fmt::format("When to send: {}", PolicySyntax()), "POLICY",
                 lane.write_policy.Name(), [&lane](const std::string& text) {
                   std::string error;
                   auto policy = MakePolicy(text, &error);
                   if (policy) lane.write_policy = *std::move(policy);
                   return error;
                 });
  program::AddBatchingOptions(options, config.map.engine, "get an error", "gets an error",
                              ". With --join, each range has an equal part");
  options.Bytes("--cache-bytes", config.map.cache_bytes, 1 << 20,
                "Memory for keys and values, also for requested keys that do not exist");
  program::AddTenantOptions(options, "STOUT.TAG", config.tenant_options, lane.yield_pause);
}

void AddOptions(CLI::App& app, Config& config) {
  program::Options options(app);
  AddServiceOptions(options, app, config);
  AddJoinOptions(options, config);
  AddMemberOptions(options, config);
  AddClientOptions(options, config);
  AddBatchingOptions(options, config);
  options.Group("Expiry");
  options.Time("--sweep-interval", config.sweep_interval, std::chrono::milliseconds(1),
               std::chrono::hours(24 * 365),
               "Time between two searches of the store for expired keys, which are then deleted");
}

// Checks --ranges and --partition. Returns the problem, or "".
std::string CompletePartition(const CLI::App& app, Config& config) {
  if (config.join.empty() && app.count("--ranges") > 0) {
    return "--ranges needs --join: a node that is alone has one range";
  }
  if (config.partition_name.empty() || config.partition_name == kSlots) return "";
  Diagnostics why;
  const auto partition = ParseIntervals(config.partition_name, &why);
  if (!partition) return "--partition: " + why.message;
  if (config.join.empty()) return "--partition needs --join: a node that is alone has one range";
  if (app.count("--ranges") > 0 && config.ranges != partition->ranges) {
    return fmt::format("--partition has {} ranges: leave --ranges out", partition->ranges);
  }
  config.ranges = partition->ranges;
  config.cluster.partition = partition->name;
  return "";
}

// Checks what depends on --datalet. Returns the problem, or "".
std::string CompleteMembers(const CLI::App& app, Config& config) {
  if (config.store.empty() == config.datalet.empty()) {
    return "give either --store, the store of all keys, or --datalet, the store that this node "
           "brings to a deployment";
  }
  if (config.datalet.empty()) {
    std::string given = program::GivenClusterOption(app);
    for (const char* const name : {"--datalet-id", "--capacity"}) {
      if (app.count(name) > 0) given = name;
    }
    return given.empty() ? "" : given + " needs --datalet";
  }
  if (IsOfNode(config.datalet)) {
    return "--datalet is the store of another node, which is a datalet already: name a store of "
           "your own";
  }
  if (config.join.empty()) {
    return "--datalet needs --join, the lease service of the deployment, like "
           "etcd://HOST:2379/NAME";
  }
  if (!config.datalet_id.empty()) {
    if (auto why = WhyInvalid(AddDatalet(config.datalet_id, {.url = "memory:"}, 0)))
      return "--datalet-id: " + *why;
  }
  config.cluster.ranges = config.ranges;
  config.given = [given = program::GivenSettings(app, config.cluster), mine = config.cluster,
                  any = config.partition_name.empty()](ClusterConfig& kept) {
    const std::string partition = kept.partition;
    given(kept);
    if (any && ParseIntervals(partition)) kept.partition = partition;
    if (IsIntervals(mine.partition)) kept.ranges = mine.ranges;
  };
  config.mode_given = app.count("--mode") > 0;
  return "";
}

// Applies defaults and checks that depend on several options. Returns the problem, or "".
std::string Complete(const CLI::App& app, Config& config) {
  resp::CommandLimits& commands = config.limits.commands;
  const EngineOptions& engine = config.map.engine;
  if (app.count("--max-request") == 0) {  // a key may be as large as a value
    commands.max_request = std::max(commands.max_request, 2 * commands.max_bulk + kRequestRoom);
  }
  if (commands.max_request < commands.max_bulk + kRequestRoom) {
    return "--max-request must exceed --max-value by 4KiB: raise the former or lower the latter";
  }
  if (commands.max_bulk + kBatchRoom > engine.lane.max_batch_bytes) {
    return "--max-batch-bytes must exceed --max-value by 1KiB: raise the former or lower the "
           "latter";
  }
  if (std::string wrong = CompletePartition(app, config); !wrong.empty()) return wrong;
  if (std::string wrong = CompleteMembers(app, config); !wrong.empty()) return wrong;
  if (!config.datalet.empty() && config.limits.max_replies < commands.max_bulk + kPageRoom) {
    return "--max-replies must exceed --max-value by 8MiB, because owners read this node's datalet "
           "in pages: raise the former or lower the latter";
  }
  if (!config.join.empty() && IsEmbedded(config.store)) {
    return "--join needs a --store that all nodes can reach, like postgres: or redis:, or a "
           "--datalet";
  }
  if (!config.join.empty() && !config.tls.certificate.empty() && config.tls.authorities.empty()) {
    return "--join with --tls-cert needs --tls-ca, because nodes talk to each other by TLS: give a "
           "file with the certificates of the authorities that they trust";
  }
  config.tls.host = config.advertise.host.empty() ? config.listen.host : config.advertise.host;
  if (!config.join.empty() && config.advertise.host.empty() &&
      program::IsAnyAddress(config.listen.host)) {
    return "--listen is no address that other machines can reach: give that address with "
           "--advertise";
  }
  if (!config.join.empty()) {
    if (std::string wrong = program::FitDrainTimeout(app, config.handover_timeout, config.lease_ttl,
                                                     kFarewell, config);
        !wrong.empty())
      return wrong;
  }
  if (!config.join.empty()) config.limits.max_servers = kServerConnections;
  Diagnostics why;
  if (!resp::LoadTls(config.tls, &why)) return why.message;
  std::string wrong;
  config.map.tenants = config.tenants = program::MakeTenants(config.tenant_options, &wrong);
  if (!config.tenants) return wrong;
  wrong = Validate(engine).value_or("");
  std::replace(wrong.begin(), wrong.end(), '_', '-');  // names of fields to names of options
  return wrong;
}

}  // namespace

Config::Config() {
  listen.port = kDefaultPort;
  threads = 1;
  limits.commands.max_bulk = std::size_t{4} << 20;
}

Partition Config::partition() const {
  return IsIntervals(cluster.partition) ? *ParseIntervals(cluster.partition)
                                        : SlotPartition(ranges);
}

std::optional<int> ParseCommandLine(int argc, const char* const* argv, Config& config) {
  CLI::App app(
      "Serves the keys of a store to clients of Redis, from memory. Changes are batched, and an "
      "answer is sent only when all that it reveals is durable.",
      "stout-node");
  app.footer(PolicyOptions() +
             "\n"
             "After SIGTERM or SIGINT the node hands its ranges over (with --join), accepts no new "
             "connections, answers the commands that it has read, and flushes.\n"
             "It prints 'listening on HOST:PORT' on stdout once it serves, and logs on stderr.");
  AddOptions(app, config);
  program::AddConfigFile(app);
  return program::ReadArguments(app, argc, argv, [&] { return Complete(app, config); });
}

}  // namespace stout::node
