#include "server_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "layout.h"

namespace stout::redis {
namespace {

// Returns a value of CONFIG GET, which answers pairs.
std::string_view Value(const Reply& reply) {
  return reply.elements.size() == 2 ? std::string_view(reply.elements[1].text) : "";
}

std::size_t ToNumber(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "7.2.4" is at least 7.2.
bool AtLeast(std::string_view version, std::size_t major, std::size_t minor) {
  const std::size_t dot = version.find('.');
  if (dot == version.npos) return false;
  return std::pair(ToNumber(version.substr(0, dot)), ToNumber(version.substr(dot + 1))) >=
         std::pair(major, minor);
}

}  // namespace

Commands Questions() {
  Commands questions;
  AppendAskForIncarnation(&questions);
  // One each: several at once are new in Redis 7.
  for (const char* name : {"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "maxmemory",
                           "maxmemory-policy", "proto-max-bulk-len"}) {
    questions.Add({"CONFIG", "GET", name});
  }
  return questions;
}

bool IsMaster(const Reply& replication) { return InfoField(replication.text, "role") == "master"; }

std::size_t ReplicasOf(const Reply& replication) {
  return ToNumber(InfoField(replication.text, "connected_slaves"));
}

ServerFacts FactsOf(std::span<const Reply> answers) {
  ServerFacts facts;
  facts.waits_for_aof = AtLeast(InfoField(answers[0].text, "redis_version"), 7, 2);
  facts.replica = InfoField(answers[1].text, "role") == "slave";
  facts.replicas = ReplicasOf(answers[1]);
  facts.incarnation = IncarnationOf(answers[0], answers[1]);
  facts.has_aof = Value(answers[2]) == "yes";
  facts.syncs = facts.has_aof && Value(answers[3]) == "always" && Value(answers[4]) == "no";
  const bool limited = ToNumber(Value(answers[5])) > 0;
  facts.evicts = limited && Value(answers[6]).starts_with("allkeys");
  facts.evicts_tombstones = limited && Value(answers[6]) != "noeviction";
  facts.max_argument = ToNumber(Value(answers[7]));
  const auto refused = std::find_if(answers.begin(), answers.end(),
                                    [](const Reply& answer) { return answer.error(); });
  if (refused != answers.end()) facts.unknown = refused->text;
  return facts;
}

std::size_t MaxBatchBytes(const ServerFacts& facts) {
  // A server takes 512 MiB in one argument unless it is set to less, and does nothing else while it
  // reads that argument.
  constexpr std::size_t kWise = std::size_t{64} << 20;
  return facts.max_argument == 0 ? kWise : std::min(kWise, facts.max_argument - Layout::kHeader);
}

Replication ReplicationOf(const RedisOptions& options, const ServerFacts& facts) {
  constexpr Duration kDefault = std::chrono::seconds(3);
  const Duration limit = options.wait_timeout > Duration::zero()
                             ? options.wait_timeout
                             : std::min(kDefault, options.timeout / 2);
  return {.replicas = options.wait,
          .on_disk = facts.has_aof && facts.waits_for_aof,
          .timeout = std::chrono::ceil<std::chrono::milliseconds>(limit)};
}

Duration TombstoneTtl(const RedisOptions& options, const ServerFacts& facts) {
  return facts.evicts_tombstones ? Duration::zero() : options.tombstone_ttl;
}

bool IsDurable(const ServerFacts& facts, const Replication& replication) {
  const bool waited = replication.replicas > 0 && replication.on_disk;
  return (facts.syncs || waited) && !facts.evicts;
}

std::string WhyNoLossDetection(const ServerFacts& facts) {
  if (!facts.unknown.empty()) {
    return fmt::format("detect_loss needs INFO and CONFIG GET ({}): permit them", facts.unknown);
  }
  if (facts.evicts) {
    return "detect_loss does not notice evicted keys: set maxmemory-policy to noeviction";
  }
  if (facts.incarnation.process.empty()) return "detect_loss needs run_id in INFO server";
  return {};
}

std::string WhyNotDurable(const ServerFacts& facts) {
  if (!facts.unknown.empty()) return fmt::format("its settings are not known ({})", facts.unknown);
  if (facts.evicts) return "its maxmemory-policy evicts keys";
  return "it is not set to appendonly yes, appendfsync always and no-appendfsync-on-rewrite no";
}

}  // namespace stout::redis
