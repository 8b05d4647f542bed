#include "server/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "monitor/history.h"
#include "program/cluster_options.h"
#include "program/command_line.h"
#include "program/engine_options.h"
#include "program/options.h"
#include "program/tenant_options.h"
#include "protocol/fields.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"
#include "stout/core/policy/basic.h"

namespace stout::docstore {
namespace {

constexpr std::size_t kMaxShards = 4096;
// The scheme of a --store that is several stores; the URL of their lease service follows.
constexpr std::string_view kCluster = "cluster:";
// The limit of each shard. Sections of 1 MiB then bring at most 64 MiB into memory at once.
constexpr std::size_t kMaxReadsInFlight = 64;

std::string ReadPolicy(const PolicyLanguage& policies, const std::string& text, Policy& policy) {
  std::string error;
  auto parsed = policies.read(text, &error);
  if (!parsed) return error;
  policy = std::move(*parsed);
  return {};
}

void AddServiceOptions(program::Options& options, CLI::App& app, Config& config) {
  options.Group("Service");
  options.Text("--store", config.store,
               fmt::format("The store: {}\nOr cluster:URL for documents that are kept on several "
                           "stores (--datalet), with the URL of a lease service",
                           StoreUrlSyntax()),
               "URL");
  options.Service(config);
  app.get_option("--drain-timeout")->default_str("30s; with --leases long enough for a hand-over");
  options
      .Count("--lanes", config.documents.shards, 1, kMaxShards,
             "Number of shards of documents, each with its own batches; only without --leases")
      ->default_str("as many as threads");
  options.Text("--scope", config.documents.scope,
               "Without --leases: the name under which one server at a time owns the store. A "
               "server that starts shuts out the server that had the name before",
               "NAME");
  options.Parsed(
      "--page-history",
      "An answer of GET /history, whose runs the live page (GET /) shows beside this one", "FILE",
      "",
      [&config](const std::string& file) { return monitor::ReadRecorded(file, config.recorded); });
  options.Text(
      "--record", config.record,
      "Write time, key and bytes of each change to this new file as CSV, which `stout-sim "
      "run --trace` replays (docs/SIMULATION.md). Keys may be personal data: only the user "
      "of the server can read the file",
      "FILE");
}

void AddMemberOptions(program::Options& options, Config& config) {
  options.Group("Sharing the store with other servers");
  options.Text("--leases", config.leases,
               fmt::format("The lease service that assigns documents to servers: {}",
                           LeaseServiceUrlSyntax()),
               "URL");
  options.Parsed("--advertise",
                 "Where routers and clients reach this server, if it differs from --listen",
                 "HOST:PORT", "--listen", [&config](const std::string& text) {
                   const auto address = program::ParseAddress(text);
                   if (!address || address->host.empty() || address->port == 0) {
                     return fmt::format("'{}' is not HOST:PORT, like 10.0.0.7:8080", text);
                   }
                   config.advertise = text;
                   return std::string();
                 });
  options.Count(
      "--ranges", config.ranges, 1, kMaxRanges,
      "Number of ranges of documents. All servers have the same number, which never changes");
  program::AddLeaseOptions(options, config.lease.ttl, config.lease.handover_timeout);

  options.Group("Documents on several stores");
  options.Texts("--datalet", config.datalets,
                "With --store cluster: the URL of a store that all servers can reach. May be given "
                "several times. Each range of documents is kept equal on several of these stores, "
                "its members",
                "URL");
  program::AddClusterOptions(options, config.cluster, /*has_aa_ec=*/false);
}

void AddBatchingOptions(program::Options& options, Config& config, const PolicyLanguage& policies) {
  EngineOptions& engine = config.documents.map.engine;
  LaneOptions& lane = engine.lane;
  constexpr auto kMax = program::kMaxCount;
  options.Group("Batching, per shard, and per member with --store cluster:");
  options.Parsed("--policy", fmt::format("When to send: {}", policies.syntax()), "POLICY",
                 lane.write_policy.Name(), [&lane, policies](const std::string& text) {
                   return ReadPolicy(policies, text, lane.write_policy);
                 });
  options.Parsed("--read-policy", "The same for reads of states that are not in memory", "POLICY",
                 lane.read_policy.Name(), [&lane, policies](const std::string& text) {
                   return ReadPolicy(policies, text, lane.read_policy);
                 });
  program::AddBatchingOptions(options, engine, "are answered 503", "is answered 504");
  options.Count("--max-batches-in-flight", lane.max_batches_in_flight, 1, kMax,
                "Maximum batches that wait for the store's answer");
  options.Count("--max-reads-in-flight", lane.max_reads_in_flight, 1, kMax,
                "Maximum states in the reads in flight; further reads wait");
  options.Count("--max-replies", engine.max_replies, 1, kMax,
                "Maximum answers that wait for the store; further requests are answered 503");
  options.Time("--retry-first", lane.retry_first,
               "The first pause after a failed batch; it doubles up to --retry-cap");
  options.Time("--retry-cap", lane.retry_cap, "The longest pause after a failed batch");
  options.Flag("--prefix-ordering", lane.prefix_ordering,
               "After a crash the store holds a prefix of each shard's changes. Needs a store with "
               "atomic batches, --max-dirty-keys <= --max-batch-items and --max-dirty-bytes <= "
               "--max-batch-bytes");
}

void AddLimitOptions(program::Options& options, Config& config) {
  http::HttpOptions& http = config.http;
  constexpr auto kMax = program::kMaxCount;
  options.Group("Limits");
  options.Bytes("--cache-bytes", config.documents.map.cache_bytes, 1 << 20,
                "Memory for documents over all shards, also for requested ids that do not exist");
  program::AddTenantOptions(options, std::string(kTenantField), config.tenants,
                            config.documents.map.engine.lane.yield_pause);
  options.Flag("--trust-tenant-header", config.trust_tenant_field,
               "The header Docstore-Tenant of a request names its tenant. Without this, it is "
               "ignored, because clients can forge it: set it if a proxy writes the header");
  options.Bytes("--max-section-bytes", http.max_body_bytes, 1,
                "Largest section; a larger one is answered 413");
  options.Bytes(
      "--max-body-bytes-in-flight", http.max_body_bytes_in_flight, 1,
      "Maximum bytes of request bodies in memory over all connections; further bodies wait. Also "
      "the maximum bytes that answers hold beside the cache; further reads are answered 503");
  options.Count("--max-sections", config.documents.max_sections, 1, kMax,
                "Maximum sections of a document; a further one is answered 507");
  options.Bytes("--max-header-bytes", http.max_header_bytes, 256,
                "Largest request header, trailer or line of a chunk; a larger one is answered 431");
  options.Count("--max-connections", http.max_connections, 1, kMax,
                "Maximum connections at once; a further one is answered 503");
  options.Count("--max-pipelined", http.max_pipelined, 1, kMax,
                "Maximum requests of a connection that wait for answers; further requests are not "
                "read yet");
  options.Time("--idle-timeout", http.idle_timeout,
               "A connection without a request for this time is closed");
  options.Time("--request-timeout", http.request_timeout,
               "Longest time for a client to send a request (otherwise 408), or to take an answer");
  options.Bytes("--min-body-rate", http.min_body_rate, 0,
                "Minimum average rate of a request body in bytes per second, from the time when it "
                "has room in memory. Checked after 10 s (otherwise 408); 0 allows any rate");
}

void AddOptions(CLI::App& app, Config& config, const PolicyLanguage& policies) {
  program::Options options(app);
  AddServiceOptions(options, app, config);
  AddMemberOptions(options, config);
  AddBatchingOptions(options, config, policies);
  AddLimitOptions(options, config);
}

// Returns why a store cannot be a datalet, or "".
std::string WhyNoDatalet(const std::string& url) {
  Diagnostics why;
  if (!ParseStoreUrl(url, &why)) return why.message;
  if (!IsEmbedded(url) && !IsOfNode(url)) return {};
  return fmt::format(
      "{} is a store that other servers cannot open: use one like redis: or postgres:",
      Redacted(url));
}

// Checks what depends on --store cluster:. Returns the problem, or "".
std::string CompleteMembers(const CLI::App& app, Config& config) {
  if (!config.store.starts_with(kCluster)) {
    const std::string given =
        app.count("--datalet") > 0 ? "--datalet" : program::GivenClusterOption(app);
    return given.empty() ? "" : given + " needs --store cluster:URL, with that of a lease service";
  }
  if (!config.leases.empty()) {
    return "--store cluster:URL has the URL of the lease service in it: leave --leases out";
  }
  config.leases = config.store.substr(kCluster.size());
  if (config.leases.empty()) {
    return "--store cluster: needs the URL of a lease service, like "
           "cluster:etcd://10.0.0.1:2379/docs";
  }
  if (config.datalets.empty()) {
    return "--store cluster: needs --datalet, the URL of a store that all servers can reach";
  }
  for (const std::string& url : config.datalets) {
    if (const std::string why = WhyNoDatalet(url); !why.empty()) return "--datalet: " + why;
  }
  if (config.documents.map.engine.lane.prefix_ordering) {
    return "--prefix-ordering does not go with --store cluster:, because a store that was away is "
           "filled in another order: leave it out";
  }
  if (config.cluster.mode == ReplicationMode::kAaEc) {
    return "--mode aa+ec is not for documents, whose changes are conditional: use ms+sc or ms+ec";
  }
  config.cluster.partition = kMembersPartition;
  config.cluster.ranges = static_cast<RangeId>(config.ranges);
  // No command changes the mode of documents, so that another one is an error.
  config.given = [given = program::GivenSettings(app, config.cluster), mode = config.cluster.mode,
                  mode_given = app.count("--mode") > 0](ClusterConfig& kept) {
    given(kept);
    if (mode_given) kept.mode = mode;
  };
  return "";
}

// Returns true if servers of other processes can join the lease service of this URL.
bool IsSharedByProcesses(const std::string& leases) {
  const auto url = ParseStoreUrl(leases, nullptr);
  return url && url->scheme != "in-process";
}

// Returns the problem that only the combination of options shows, or "".
std::string CheckTogether(const CLI::App& app, Config& config) {
  const EngineOptions& engine = config.documents.map.engine;
  // Each server would have documents that the others do not see.
  if (IsSharedByProcesses(config.leases) && IsEmbedded(config.store)) {
    return "--leases needs a --store that all servers can reach, like postgres: or redis:";
  }
  if (!config.leases.empty() && config.advertise.empty() &&
      program::IsAnyAddress(config.listen.host)) {
    return "--listen is no address that other machines can reach: give that address with "
           "--advertise";
  }
  // A section must fit into one batch with its key and the batch's other bytes.
  if (config.http.max_body_bytes + 1024 > engine.lane.max_batch_bytes) {
    return "--max-batch-bytes must exceed --max-section-bytes by 1KiB: raise the former or lower "
           "the latter";
  }
  if (!config.leases.empty()) {
    const LeaseOptions& lease = config.lease;
    if (std::string wrong = program::FitDrainTimeout(app, lease.handover_timeout, lease.ttl,
                                                     lease.farewell, config);
        !wrong.empty())
      return wrong;
  }
  std::string wrong = Validate(engine).value_or("");
  std::replace(wrong.begin(), wrong.end(), '_', '-');  // names of fields to names of options
  return wrong;
}

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv, Config& config,
                                    const PolicyLanguage& policies) {
  config.documents.shards = 0;  // as many as threads
  config.documents.map.engine.lane.max_reads_in_flight = kMaxReadsInFlight;
  CLI::App app("Serves documents made of sections over HTTP, from memory, and keeps them durable.",
               "docstore-server");
  app.footer(
      PolicyOptions() +
      "\n"
      "After SIGTERM or SIGINT the server hands its ranges over (with --leases or --store "
      "cluster:), accepts no new connections, answers the requests that it has read, and flushes.\n"
      "It prints 'listening on HOST:PORT' on stdout once it serves, and logs on stderr. A server "
      "that shares documents serves its ranges a moment after it has joined; until then it answers "
      "503.");
  AddOptions(app, config, policies);
  program::AddConfigFile(app);
  return program::ReadArguments(app, argc, argv, [&app, &config] {
    if (std::string wrong = CompleteMembers(app, config); !wrong.empty()) return wrong;
    if (!config.leases.empty() && config.documents.shards != 0) {
      return std::string(
          "--lanes does not go with --leases or --store cluster:, because each of --ranges has a "
          "lane: leave it out");
    }
    if (config.documents.shards == 0) config.documents.shards = config.threads;
    config.lease.ranges = static_cast<RangeId>(config.ranges);
    config.documents.max_lent_bytes = config.http.max_body_bytes_in_flight;
    if (config.trust_tenant_field) config.http.tenant_field = kTenantField;
    std::string wrong;
    config.documents.tenants = program::MakeTenants(config.tenants, &wrong);
    if (!config.documents.tenants) return wrong;
    return CheckTogether(app, config);
  });
}

}  // namespace stout::docstore
