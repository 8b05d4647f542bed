#include "node/operation_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "node/commands.h"
#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/integer.h"
#include "resp/server/reply_writer.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/store_url.h"
#include "stout/completion.h"
#include "stout/join.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::string_view kNoMembers =
    "ERR the ranges of this node have no members: start it with --datalet";

constexpr std::string_view kNoLazy =
    "ERR in mode aa+ec there is no owner that a lazy member could follow: remove the lazy datalets";

// Attempts at a change that others may make at the same time.
constexpr int kChangeAttempts = 5;

// The members of the ranges that this node serves, as their maps know them.
asio::awaitable<std::map<RangeId, std::vector<MemberStats>>> OwnMembers(const Ranges& ranges) {
  const auto served = ranges.Served();
  std::vector<std::vector<MemberStats>> members(served.size());
  (void)co_await Initiate<void(ErrorCode)>(
      [&](UniqueFunction<void(ErrorCode)> done) {
        const auto join = stout::internal::Join::Of(served.size(), std::move(done));
        for (std::size_t i = 0; i < served.size(); ++i) {
          const auto strand = served[i]->map->get_executor();
          asio::post(strand, [&, i, join] {
            members[i] = served[i]->map->Members();
            join->Finish({});
          });
        }
      },
      asio::as_tuple(asio::use_awaitable));
  std::map<RangeId, std::vector<MemberStats>> result;
  for (std::size_t i = 0; i < served.size(); ++i) result[served[i]->range] = std::move(members[i]);
  co_return result;
}

json::object MemberJson(const RegistryTable& records, const std::string& id,
                        std::string_view state) {
  const auto datalet = records.datalets.find(id);
  json::object member{{"id", id}, {"url", nullptr}, {"state", state}};
  if (datalet != records.datalets.end()) member["url"] = Redacted(datalet->second.value.url);
  member["lag_keys"] = nullptr;
  member["filled"] = nullptr;
  return member;
}

json::object MemberJson(const RegistryTable& records, const MemberStats& stats) {
  json::object member = MemberJson(records, stats.datalet,
                                   stats.in        ? "in"
                                   : stats.filling ? "filling"
                                   : stats.lazy    ? "lazy"
                                                   : "out");
  member["lag_keys"] = stats.engine.DirtyKeys();
  member["filled"] = stats.copied;
  return member;
}

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

// clang-format off
constexpr KeyCommand kOperationRows[] = {
    {{kStoutDatalet, "stout.datalet", -2, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Lists, adds or removes stores that ranges may have as members."}},
    {{kStoutForce, "stout.force", 3, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Makes a store the only member of a range that is in. What it lacks is lost."}},
    {{kStoutMode, "stout.mode", -1, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns or changes the mode of the deployment."}},
    {{kStoutMove, "stout.move", 3, kWrite | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Makes a node the wanted owner of a range, or none with AUTO."}},
    {{kStoutStatus, "stout.status", 1, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns the ranges, their owners and their members as JSON."}},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> OperationRows() { return kOperationRows; }

void AppendReply(Request& request, std::string_view reply, resp::Resp version,
                 std::string& replies) {
  request.replies = &replies;
  request.reply_begin = replies.size();
  resp::ReplyWriter writer(replies, version);
  if (reply == "OK") {
    writer.Ok();
  } else if (request.error.empty()) {
    writer.BulkString(reply);
  }
  request.reply_end = replies.size();
}

std::optional<ReplicationMode> ReadMode(std::string_view text, std::string& error) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), resp::ToLower);
  const auto mode = ParseReplicationMode(name);
  if (!mode) {
    error =
        fmt::format("ERR '{}' is no mode: use ms+sc, ms+ec, aa+sc or aa+ec", name.substr(0, 16));
  }
  return mode;
}

asio::awaitable<void> OperationCommands::Run(Request& request) {
  std::string reply;
  if (request.command->id == kStoutMove) {
    reply = co_await Move(request);
  } else if (table_->cluster == nullptr || table_->cluster->members == nullptr) {
    request.error = kNoMembers;
  } else if (request.command->id == kStoutStatus) {
    reply = co_await Status();
  } else if (request.command->id == kStoutMode) {
    reply = co_await Mode(request);
  } else if (request.command->id == kStoutDatalet) {
    reply = co_await Datalet(request);
  } else {
    reply = co_await Force(request);
  }
  AppendReply(request, reply, session_.version, replies_);
}

asio::awaitable<std::string> OperationCommands::Status() {
  const Cluster& cluster = *table_->cluster;
  const auto own = co_await OwnMembers(table_->ranges);
  const auto records = cluster.members->records();
  const auto table = cluster.server.table();
  json::array ranges;
  for (RangeId range = 0; range < table->ranges.size(); ++range) {
    const auto& lease = table->ranges[range];
    json::object shown{{"range", range}, {"epoch", nullptr}, {"owner", nullptr}};
    if (lease) {
      shown["epoch"] = lease->epoch;
      shown["owner"] = lease->address;
    }
    const auto wanted = records->wanted_owners.find(range);
    if (wanted != records->wanted_owners.end()) shown["wanted_owner"] = wanted->second.value.node;
    json::array members;
    const auto set = records->sets.find(range);
    const bool shared = set != records->sets.end() && set->second.value.shared != 0;
    if (const auto map = own.find(range); map != own.end() && !shared) {
      for (const MemberStats& stats : map->second) members.push_back(MemberJson(*records, stats));
    } else if (set != records->sets.end()) {
      for (const RangeRecord::Member& member : set->second.value.members) {
        members.push_back(MemberJson(*records, member.datalet, member.in ? "in" : "out"));
      }
      for (const auto& [id, datalet] : records->datalets) {
        if (datalet.value.lazy && !IsIn(set->second.value, id))
          members.push_back(MemberJson(*records, id, "lazy"));
      }
    }
    if (set != records->sets.end()) {
      const RangeRecord& record = set->second.value;
      shown["mode"] = NameOf(ModeOf(record));
      json::array awaits;
      for (const RangeRecord::Member& member : record.members) {
        if (IsAwaited(record, member)) awaits.emplace_back(member.datalet);
      }
      if (!awaits.empty()) shown["awaits"] = std::move(awaits);
    }
    shown["members"] = std::move(members);
    ranges.push_back(std::move(shown));
  }
  json::object status{{"node", cluster.self}, {"mode", nullptr}};
  if (!table_->name.empty()) status["table"] = table_->name;
  if (records->config) status["mode"] = NameOf(records->config->value.mode);
  status["ranges"] = std::move(ranges);
  co_return json::serialize(status);
}

asio::awaitable<std::string> OperationCommands::Mode(Request& request) {
  const bool changes = request.arguments.size() > 1;
  if (request.arguments.size() > 2)
    co_return Refuse(request, "ERR syntax: STOUT.MODE [ms+sc | ms+ec | aa+sc | aa+ec]");
  const auto mode = changes ? ReadMode(request.arguments[1], request.error) : std::nullopt;
  if (changes && !mode) co_return "";
  for (int attempt = 0; attempt < kChangeAttempts; ++attempt) {
    RegistryTable table;
    if (!co_await Read(request, table)) co_return "";
    if (!table.config) co_return Refuse(request, "ERR the deployment has no configuration");
    ClusterConfig config = table.config->value;
    if (!changes) co_return std::string(NameOf(config.mode));
    const auto is_lazy = [](const auto& datalet) { return datalet.second.value.lazy; };
    if (*mode == ReplicationMode::kAaEc && std::ranges::any_of(table.datalets, is_lazy))
      co_return Refuse(request, kNoLazy);
    config.mode = *mode;
    if (co_await Change(request, ChangeConfig(config, table.config->revision))) co_return "OK";
    if (!request.error.empty()) co_return "";
  }
  co_return Refuse(request, kChanged);
}

}  // namespace stout::node
