// The commands of operation on one range.

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "node/cluster.h"
#include "node/operation_commands.h"
#include "resp/server/ascii.h"
#include "resp/server/integer.h"
#include "stout/clock.h"
#include "stout/completion.h"
#include "stout/core/batch.h"
#include "stout/core/errc.h"
#include "stout/core/lease_table.h"
#include "stout/core/range_actions.h"
#include "stout/core/registry_table.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::node {

namespace asio = boost::asio;

namespace {

// Reads what shows that a member was filled. The store may need the batch longer than this
// connection lives.
asio::awaitable<ReadResult> ReadIdentity(Cluster& cluster, RangeId range, Store& store) {
  ReadBatch batch{
      .id = 1, .lane = 0, .keys = {internal::IdentityKeyOf(cluster.members->ScopeOf(range))}};
  co_return co_await Initiate<void(ReadResult)>(
      [&](Store::ReadHandler done) { store.ReadOwned(std::move(batch), std::move(done)); },
      asio::use_awaitable);
}

}  // namespace

std::optional<RangeId> OperationCommands::RangeIn(Request& request) const {
  const auto range = resp::ParseUnsigned(request.arguments[1]);
  const std::size_t ranges = table_->cluster->server.table()->ranges.size();
  if (range && *range < ranges) return static_cast<RangeId>(*range);
  request.error = ranges > 0
                      ? fmt::format("ERR there is no such range: use a number below {}", ranges)
                      : "TRYAGAIN the lease service has not answered yet";
  return std::nullopt;
}

asio::awaitable<std::string> OperationCommands::Move(Request& request) {
  if (table_->cluster == nullptr)
    co_return Refuse(request, "ERR this node is alone: start it and others with --join");
  const auto range = RangeIn(request);
  if (!range) co_return "";
  std::optional<std::string> node;
  if (!resp::EqualIgnoringCase(request.arguments[2], "AUTO")) {
    const auto table = table_->cluster->server.table();
    const auto& members = table->members;
    // CLUSTER NODES shows an IPv6 address without brackets.
    const auto named = std::find_if(members.begin(), members.end(), [&](const auto& member) {
      const auto [host, port] = HostAndPort(member);
      return request.arguments[2] == member ||
             request.arguments[2] == fmt::format("{}:{}", host, port);
    });
    if (named == members.end())
      co_return Refuse(request,
                       fmt::format("ERR no node has the address '{}' now: see CLUSTER NODES",
                                   request.arguments[2]));
    node = *named;
  }
  co_return co_await Change(request, WantOwner(*range, std::move(node))) ? "OK" : "";
}

asio::awaitable<std::string> OperationCommands::Force(Request& request) {
  Cluster& cluster = *table_->cluster;
  const auto range = RangeIn(request);
  if (!range) co_return "";
  const auto lease = table_->ranges.LeaseOf(*range);
  if (!lease) co_return Refuse(request, "TRYAGAIN no node owns the range at present: repeat");
  if (lease->address != cluster.self)
    co_return Refuse(
        request,
        fmt::format("ERR the owner of the range alone can do this: ask node {}", lease->address));
  RegistryTable table;
  if (!co_await Read(request, table)) co_return "";
  const auto found = table.sets.find(*range);
  // Their maps would go on writing to the former members.
  if (found != table.sets.end() && found->second.value.shared != 0)
    co_return Refuse(
        request,
        "ERR all nodes write this range, in mode aa+ec: change the mode first, with STOUT.MODE");
  bool known = false;
  bool was_in = false;  // at some time; otherwise it has a part of the range at most
  if (found != table.sets.end()) {
    for (RangeRecord::Member& member : found->second.value.members) {
      const bool in = member.datalet == request.arguments[2];
      known |= in;
      was_in |= in && (member.in || member.since != TimePoint());
      if (std::exchange(member.in, in) != in) member.since = UnixTime();
      if (in) member = {member.datalet, true, member.since};  // what it has need not be proved
    }
  }
  // The operator gives up what other members have, so no sweep may wait for them.
  if (found != table.sets.end()) found->second.value.merged = {};
  if (!known) co_return Refuse(request, "ERR the range has no such member; see STOUT.STATUS");
  Store* const store = cluster.members->StoreOf(std::string(request.arguments[2]));
  ReadResult identity{.errc = Errc::kTransient};
  if (store != nullptr) identity = co_await ReadIdentity(cluster, *range, *store);
  if (identity.errc != Errc::kOk)
    co_return Refuse(request, "ERR that member does not answer: it would hold the only copy");
  if (!was_in)
    co_return Refuse(request, "ERR that member was never in: it has a part of the range at most");
  const RangeRecord::Member forced{.datalet = std::string(request.arguments[2])};
  const StoredState& shown = identity.states.at(0);
  if (!shown.found || !forced.IsShownBy(shown.value))
    co_return Refuse(request,
                     "ERR that member came back empty: it has a part of the range at most");
  const auto& [record, revision] = found->second;
  const bool done = co_await Change(request, ChangeSet(*range, lease->epoch, record, revision));
  // Without an answer it may be done: the owner must not go on by its old record.
  if (done || !request.error.empty()) {
    spdlog::warn("range {}: forced to datalet {}; what it lacks is lost", *range,
                 request.arguments[2]);
    cluster.server.GiveUp(*range, lease->epoch, Errc::kTransient);
  }
  if (done) co_return "OK";
  co_return EnsureRefused(request, kChanged);
}

}  // namespace stout::node
