#include "server/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <string>
#include <utility>

#include "program/options.h"
#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/open_store.h"
#include "stout/core/policy/basic.h"

namespace stout::docstore {
namespace {

constexpr std::size_t kMaxShards = 4096;
// The limit of each shard. Sections of 1 MiB then bring at most 64 MiB into memory at once.
constexpr std::size_t kMaxReadsInFlight = 64;

std::string ReadPolicy(const PolicyLanguage& policies, const std::string& text, Policy& policy) {
  std::string error;
  auto parsed = policies.read(text, &error);
  if (!parsed) return error;
  policy = std::move(*parsed);
  return {};
}

void AddOptions(CLI::App& app, Config& config, const PolicyLanguage& policies) {
  program::Options options(app);
  EngineOptions& engine = config.documents.map.engine;
  LaneOptions& lane = engine.lane;
  HttpOptions& http = config.http;

  options.Group("Service");
  options.Text("--store", config.store, fmt::format("The store: {}", StoreUrlSyntax()), "URL");
  options.Service(config);
  options.Count("--lanes", config.documents.shards, kMaxShards,
                "Shards that documents are spread over, each with its own batches");
  options.Text("--scope", config.documents.scope,
               "Without --leases: the name under which one server at a time owns the store. A "
               "server that starts shuts out the one that had the name before",
               "NAME");

  options.Group("Sharing the store with other servers");
  options.Text("--leases", config.leases,
               fmt::format("The lease service that says which server serves which documents: {}",
                           LeaseServiceUrlSyntax()),
               "URL");
  options.Parsed(
      "--advertise", "Where routers and clients reach this server, if not where it listens",
      "HOST:PORT", "--listen", [&config](const std::string& text) {
        const auto address = program::ParseAddress(text);
        if (!address || address->host.empty() || address->port == 0) {
          return fmt::format("'{}' is no address: use HOST:PORT, like 10.0.0.7:8080", text);
        }
        config.advertise = text;
        return std::string();
      });
  options.Count("--ranges", config.ranges, kMaxRanges,
                "Ranges that documents are cut into; the same for all servers, for good");
  options.Time("--lease-ttl", config.lease.ttl,
               "A server that is silent for so long has lost its ranges to others");
  options.Time("--handover-timeout", config.lease.handover_timeout,
               "Longest flush of a range that is handed over, and then the longest end of its "
               "requests; what is not written by then is left out");

  options.Group("Batching, of each shard");
  options.Parsed("--policy", fmt::format("When to send: {}", policies.syntax()), "POLICY",
                 lane.write_policy.Name(), [&lane, policies](const std::string& text) {
                   return ReadPolicy(policies, text, lane.write_policy);
                 });
  options.Parsed("--read-policy", "The same for reads of what is not in memory", "POLICY",
                 lane.read_policy.Name(), [&lane, policies](const std::string& text) {
                   return ReadPolicy(policies, text, lane.read_policy);
                 });
  options.Time("--max-delay", lane.max_delay,
               "A change older than this is sent whatever the policy says");
  options.Count("--max-batch-items", lane.max_batch_items, program::kMaxCount,
                "Most states in a batch");
  options.Bytes("--max-batch-bytes", lane.max_batch_bytes, 1, "Most bytes in a batch");
  options.Count("--max-batches-in-flight", lane.max_batches_in_flight, program::kMaxCount,
                "Most batches that the store has not answered");
  options.Count("--max-dirty-keys", lane.max_dirty_keys, program::kMaxCount,
                "Most states that are not durable; changes beyond are answered 503");
  options.Count("--max-reads-in-flight", lane.max_reads_in_flight, program::kMaxCount,
                "Most states that the store is asked for at once; further reads wait");
  options.Bytes("--max-dirty-bytes", lane.max_dirty_bytes, 1,
                "Most bytes that are not durable; changes beyond are answered 503");
  options.Count("--max-replies", engine.max_replies, program::kMaxCount,
                "Most answers that wait for the store; requests beyond are answered 503");
  options.Time("--reply-deadline", engine.reply_deadline,
               "A change that is not durable by then is answered 504");
  options.Time("--attempt-timeout", lane.attempt_timeout,
               "A batch without an answer by then is sent again");
  options.Time("--retry-first", lane.retry_first,
               "The first pause after a failed batch; it doubles up to --retry-cap");
  options.Time("--retry-cap", lane.retry_cap, "The longest pause after a failed batch");
  app.add_flag("--prefix-ordering", lane.prefix_ordering,
               "After a crash the store holds a prefix of each shard's changes; needs a store with "
               "atomic batches, --max-dirty-keys <= --max-batch-items and --max-dirty-bytes <= "
               "--max-batch-bytes")
      ->group("Batching, of each shard");

  options.Group("Limits");
  options.Bytes("--cache-bytes", config.documents.map.cache_bytes, 1 << 20,
                "Memory for documents, also for ids that were asked for and do not exist, over all "
                "shards");
  options.Bytes("--max-section-bytes", http.max_body_bytes, 1, "Largest section; beyond it 413");
  options.Bytes(
      "--max-body-bytes-in-flight", http.max_body_bytes_in_flight, 1,
      "Most bytes of requests' bodies in memory, over all connections: beyond it they are "
      "not read. Also the most bytes that answers hold beyond the cache: beyond it reads "
      "are answered 503");
  options.Count("--max-sections", config.documents.max_sections, program::kMaxCount,
                "Most sections of a document; beyond it 507");
  options.Bytes("--max-header-bytes", http.max_header_bytes, 256,
                "Largest request header, trailer or line of a chunk; beyond it 431");
  options.Count("--max-connections", http.max_connections, program::kMaxCount,
                "Most connections at once; beyond it 503");
  options.Count("--max-pipelined", http.max_pipelined, program::kMaxCount,
                "Most requests of a connection that await their answers; it is not read beyond");
  options.Time("--idle-timeout", http.idle_timeout,
               "A connection without a request for this long is closed");
  options.Time("--request-timeout", http.request_timeout,
               "Longest time for a client to send a request (else 408), or to take an answer");
}

// Whether it stands for every address of the machine, which is none where others find it.
bool IsAnyAddress(const std::string& host) {
  boost::system::error_code is_name;
  const auto address = boost::asio::ip::make_address(host, is_name);
  return host.empty() || (!is_name && address.is_unspecified());
}

// What only the combination of options shows.
std::string CheckTogether(const Config& config) {
  const EngineOptions& engine = config.documents.map.engine;
  if (!config.leases.empty() && config.advertise.empty() && IsAnyAddress(config.listen.host)) {
    return "--listen names no address that others can reach: say it with --advertise";
  }
  // A section must fit into one batch with its key and the batch's other bytes.
  if (config.http.max_body_bytes + 1024 > engine.lane.max_batch_bytes) {
    return "--max-batch-bytes must exceed --max-section-bytes by 1KiB: raise the one or lower the "
           "other";
  }
  if (!config.leases.empty() &&
      2 * config.lease.handover_timeout + config.lease.farewell >= config.drain_timeout) {
    return "--drain-timeout must exceed twice --handover-timeout by more than 1s: raise the one or "
           "lower the other";
  }
  if (config.documents.scope.empty()) return "--scope is empty: give it a name, like docstore";
  std::string wrong = Validate(engine).value_or("");
  std::replace(wrong.begin(), wrong.end(), '_', '-');  // names of fields to names of options
  return wrong;
}

}  // namespace

std::optional<int> ParseCommandLine(int argc, const char* const* argv, Config& config,
                                    const PolicyLanguage& policies) {
  config.documents.shards = 0;  // as many as threads
  config.documents.map.engine.lane.max_reads_in_flight = kMaxReadsInFlight;
  CLI::App app("Serves sectioned documents over HTTP, from memory, durably.", "docstore-server");
  app.footer(
      PolicyOptions() +
      "\nSIGTERM or SIGINT ends it in order: it accepts no more, answers what it has read, and "
      "flushes.\nIt prints 'listening on HOST:PORT' on stdout once it serves, and logs on stderr.");
  AddOptions(app, config, policies);
  return program::Parse(app, argc, argv, [&config] {
    if (!config.leases.empty() && config.documents.shards != 0) {
      return std::string("--lanes counts without --leases only: each of --ranges has its own");
    }
    if (config.documents.shards == 0) config.documents.shards = config.threads;
    config.lease.ranges = static_cast<RangeId>(config.ranges);
    config.documents.max_lent_bytes = config.http.max_body_bytes_in_flight;
    return CheckTogether(config);
  });
}

}  // namespace stout::docstore
