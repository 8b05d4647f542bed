#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/commands.h"
#include "node/node_service.h"
#include "resp/client/address.h"
#include "resp/server/command_replies.h"
#include "resp/server/reply_writer.h"
#include "stout/adapters/hash_slot.h"
#include "stout/adapters/partition.h"
#include "stout/core/lease_table.h"

namespace stout::node {
namespace {

// Slots from `first` to `last`, inclusive, that one node owns.
struct Span {
  std::size_t first;
  std::size_t last;
  Lease owner;
};

// Returns the slots that are owned, in order.
std::vector<Span> OwnedSlots(const LeaseTable& table) {
  std::vector<Span> spans;
  const Partition partition = SlotPartition(static_cast<RangeId>(table.ranges.size()));
  for (RangeId range = 0; range < partition.ranges; ++range) {
    const std::optional<Lease>& lease = table.ranges[range];
    if (!lease) continue;
    const auto [first, last] = *partition.SlotsOf(range);
    const bool extends = !spans.empty() && spans.back().last + 1 == first &&
                         spans.back().owner.address == lease->address;
    extends ? void(spans.back().last = last) : spans.push_back({first, last, *lease});
  }
  return spans;
}

// Redis names nodes by 40 hexadecimal digits.
std::string NodeId(std::string_view address) {
  const std::uint64_t hash = internal::NameHash(address);
  return fmt::format("{:016x}{:016x}{:08x}", hash, internal::Mix(hash),
                     static_cast<std::uint32_t>(internal::Mix(~hash)));
}

// Returns the node's cluster, or null after an error.
const Cluster* ClusterOf(const resp::Call& call) {
  const Cluster* const cluster = static_cast<const NodeService&>(call.service).main.cluster;
  if (cluster == nullptr) {
    call.reply.Error(
        "ERR This instance has cluster support disabled: start it and others with --join");
  }
  return cluster;
}

// As ClusterOf. No client that routes by slots may hear of ranges that are intervals.
const Cluster* ClusterWithSlots(const resp::Call& call) {
  const Cluster* const cluster = ClusterOf(call);
  if (cluster == nullptr || !cluster->server.partition().intervals()) return cluster;
  call.reply.Error(
      "ERR the ranges of this deployment are intervals of keys (--partition), not slots: use any "
      "node as a Redis without cluster; it forwards");
  return nullptr;
}

void Slots(const resp::Call& call) {
  const Cluster* const cluster = ClusterWithSlots(call);
  if (cluster == nullptr) return;
  const auto spans = OwnedSlots(*cluster->server.table());
  call.reply.ArrayHeader(spans.size());
  for (const Span& span : spans) {
    const auto [host, port] = HostAndPort(span.owner.address);
    call.reply.ArrayHeader(3);
    call.reply.Integer(static_cast<std::int64_t>(span.first));
    call.reply.Integer(static_cast<std::int64_t>(span.last));
    call.reply.ArrayHeader(4);
    call.reply.BulkString(host);
    call.reply.Integer(port);
    call.reply.BulkString(NodeId(span.owner.address));
    call.reply.ArrayHeader(0);
  }
}

void Shards(const resp::Call& call) {
  const Cluster* const cluster = ClusterWithSlots(call);
  if (cluster == nullptr) return;
  const auto table = cluster->server.table();
  std::map<std::string, std::vector<Span>> nodes;
  for (const std::string& member : table->members) nodes[member];
  for (const Span& span : OwnedSlots(*table)) nodes[span.owner.address].push_back(span);
  call.reply.ArrayHeader(nodes.size());
  for (const auto& [address, spans] : nodes) {
    const auto [host, port] = HostAndPort(address);
    const auto text = [&](std::string_view name, std::string_view value) {
      call.reply.BulkString(name);
      call.reply.BulkString(value);
    };
    call.reply.MapHeader(2);
    call.reply.BulkString("slots");
    call.reply.ArrayHeader(2 * spans.size());
    for (const Span& span : spans) {
      call.reply.Integer(static_cast<std::int64_t>(span.first));
      call.reply.Integer(static_cast<std::int64_t>(span.last));
    }
    call.reply.BulkString("nodes");
    call.reply.ArrayHeader(1);
    call.reply.MapHeader(7);
    text("id", NodeId(address));
    call.reply.NamedInteger(call.service.tls_context ? "tls-port" : "port", port);
    text("ip", host);
    text("endpoint", host);
    text("role", "master");
    call.reply.NamedInteger("replication-offset", 0);
    text("health", "online");
  }
}

void Nodes(const resp::Call& call) {
  const Cluster* const cluster = ClusterOf(call);
  if (cluster == nullptr) return;
  const auto table = cluster->server.table();
  const auto spans = OwnedSlots(*table);
  std::string text;
  const auto out = std::back_inserter(text);
  for (const std::string& member : table->members) {
    const auto [host, port] = HostAndPort(member);
    fmt::format_to(out, "{} {}:{}@0 {}master - 0 0 0 connected", NodeId(member), host, port,
                   member == cluster->self ? "myself," : "");
    for (const Span& span : spans) {
      if (span.owner.address == member && !cluster->server.partition().intervals())
        fmt::format_to(out, " {}-{}", span.first, span.last);
    }
    text += '\n';
  }
  call.reply.Verbatim("txt", text);
}

void Info(const resp::Call& call) {
  const Cluster* const cluster = ClusterOf(call);
  if (cluster == nullptr) return;
  const auto table = cluster->server.table();
  std::size_t assigned = 0;
  std::vector<std::string> owners;
  for (const Span& span : OwnedSlots(*table)) {
    assigned += span.last - span.first + 1;
    owners.push_back(span.owner.address);
  }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  call.reply.Verbatim(
      "txt", fmt::format("cluster_state:{}\r\ncluster_slots_assigned:{}\r\ncluster_slots_ok:{}\r\n"
                         "cluster_slots_pfail:0\r\ncluster_slots_fail:{}\r\n"
                         "cluster_known_nodes:{}\r\ncluster_size:{}\r\n",
                         assigned == redis::kSlots ? "ok" : "fail", assigned, assigned,
                         redis::kSlots - assigned, table->members.size(), owners.size()));
}

void Myid(const resp::Call& call) {
  const Cluster* const cluster = ClusterOf(call);
  if (cluster != nullptr) call.reply.BulkString(NodeId(cluster->self));
}

void Keyslot(const resp::Call& call) {
  if (ClusterOf(call) != nullptr) call.reply.Integer(redis::SlotOf(call.arguments[2]));
}

void Help(const resp::Call& call) {
  resp::ReplyToHelp(call.service.commands, call.command, call.reply);
}

// NodeBatch changes the level of the connection's reads.
void Ok(const resp::Call& call) {
  if (ClusterOf(call) != nullptr) call.reply.Ok();
}

using enum resp::CommandFlag::Bits;
using resp::CommandCategory::kConnection;

// As in session_commands.cc.
// clang-format off
constexpr resp::Command kRows[] = {
    {0, "cluster", -2, 0, {}, 0,
     "cluster", "3.0.0", "Commands on the nodes that share the store."},
    {0, "cluster|help", 2, kLoading | kStale, {}, 0,
     "cluster", "5.0.0", "Lists the subcommands.", {}, Help},
    {0, "cluster|info", 2, kStale, {}, 0,
     "cluster", "3.0.0", "Describes the state of the cluster.", {}, Info},
    {0, "cluster|keyslot", 3, kStale, {}, 0,
     "cluster", "3.0.0", "Returns the slot of a key.", "key", Keyslot},
    {0, "cluster|myid", 2, kStale, {}, 0,
     "cluster", "3.0.0", "Returns the name of this node.", {}, Myid},
    {0, "cluster|nodes", 2, kStale, {}, 0,
     "cluster", "3.0.0", "Lists the nodes and their slots, as text.", {}, Nodes},
    {0, "cluster|shards", 2, kLoading | kStale, {}, 0,
     "cluster", "7.0.0", "Lists the nodes and their slots.", {}, Shards},
    {0, "cluster|slots", 2, kLoading | kStale, {}, 0,
     "cluster", "3.0.0", "Lists the slots and their nodes.", {}, Slots},
    {0, "readonly", 1, kLoading | kStale | kFast, {}, kConnection,
     "cluster", "3.0.0", "Lets the connection read at members, which may lag.", {}, Ok},
    {0, "readwrite", 1, kLoading | kStale | kFast, {}, kConnection,
     "cluster", "3.0.0", "Lets the connection read at the owners of the keys again.", {}, Ok},
};
// clang-format on

}  // namespace

std::pair<std::string, std::uint16_t> HostAndPort(const std::string& address) {
  const auto authority = resp::ReadAuthority(address, 0);
  if (!authority || authority->addresses.empty()) return {address, 0};
  return {authority->addresses.front().host, authority->addresses.front().port};
}

std::span<const resp::Command> ClusterCommands() { return kRows; }

bool ShowsOwners(const resp::Command& command) {
  return command.run == Slots || command.run == Shards || command.run == Nodes;
}

}  // namespace stout::node
