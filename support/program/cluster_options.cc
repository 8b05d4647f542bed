#include "program/cluster_options.h"

#include <fmt/format.h>

#include <chrono>

namespace stout::program {
namespace {

// Less could end between two renewals on a busy machine.
constexpr auto kMinLeaseTtl = std::chrono::milliseconds(100);

}  // namespace

void AddLeaseOptions(Options& options, Duration& ttl, Duration& handover_timeout) {
  options.Time("--lease-ttl", ttl, kMinLeaseTtl, kMaxLeaseTime,
               "A process that is silent for this time loses its ranges to others");
  options.Time("--handover-timeout", handover_timeout, Duration(1), kMaxLeaseTime,
               "Longest time to flush a range that is handed over, and again to finish its "
               "requests. Changes that are not written by then are dropped");
}

void AddClusterOptions(Options& options, ClusterConfig& cluster, bool has_aa_ec) {
  options.Count("--replicas", cluster.replicas, 1, kMaxMembers,
                "Members of each range. The first process of a deployment decides this, --min-in, "
                "--ack and --member-timeout; later ones need not give them");
  options.Count("--min-in", cluster.min_in, 1, kMaxMembers,
                "Writes are refused while fewer members are in sync");
  options.Count("--ack", cluster.ack, 1, kMaxMembers,
                fmt::format("Members that have a write before it is answered, in {}",
                            has_aa_ec ? "modes ms+ec and aa+ec" : "mode ms+ec"));
  options.Time("--member-timeout", cluster.member_timeout, std::chrono::milliseconds(1),
               std::chrono::hours(24),
               "A member that makes no progress for this time is out of sync, and writes no longer "
               "wait for it");
  options.Read(
      "--mode",
      fmt::format("The mode of a new deployment. ms+sc: a write is answered when all members in "
                  "sync have it. ms+ec: when --ack members have it. aa+sc is another name of ms+sc"
                  "{}",
                  has_aa_ec ? ". aa+ec: as ms+ec, and every node writes every key; the newest "
                              "write wins"
                            : ""),
      "MODE", std::string(NameOf(cluster.mode)), ParseReplicationMode,
      has_aa_ec ? "ms+sc, ms+ec, aa+sc or aa+ec" : "ms+sc, ms+ec or aa+sc",
      [&cluster](ReplicationMode mode) { cluster.mode = mode; });
}

std::string GivenClusterOption(const CLI::App& app) {
  for (const char* const name : {"--replicas", "--min-in", "--ack", "--member-timeout", "--mode"}) {
    if (app.count(name) > 0) return name;
  }
  return {};
}

std::function<void(ClusterConfig&)> GivenSettings(const CLI::App& app,
                                                  const ClusterConfig& cluster) {
  const auto given = [&app](const char* name) { return app.count(name) > 0; };
  return [cluster, ranges = given("--ranges"), replicas = given("--replicas"),
          min_in = given("--min-in"), ack = given("--ack"),
          timeout = given("--member-timeout")](ClusterConfig& kept) {
    kept.partition = cluster.partition;
    if (ranges) kept.ranges = cluster.ranges;
    if (replicas) kept.replicas = cluster.replicas;
    if (min_in) kept.min_in = cluster.min_in;
    if (ack) kept.ack = cluster.ack;
    if (timeout) kept.member_timeout = cluster.member_timeout;
  };
}

}  // namespace stout::program
