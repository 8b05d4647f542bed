#include "node/operation_commands.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
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
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/store_url.h"
#include "stout/completion.h"
#include "stout/sharded.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

constexpr std::string_view kNoMembers =
    "ERR the ranges of this node have no members: start it with --datalet";
constexpr std::string_view kChanged =
    "TRYAGAIN the records have changed meanwhile: repeat the command";

// Attempts at a change that others may make at the same time.
constexpr int kChangeAttempts = 5;

TimePoint UnixTime() {
  return TimePoint(std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch()));
}

// The members of the ranges that this node serves, as their maps know them.
asio::awaitable<std::map<RangeId, std::vector<MemberStats>>> OwnMembers(const Ranges& ranges) {
  const auto served = ranges.Served();
  std::vector<std::vector<MemberStats>> members(served.size());
  (void)co_await Initiate<void(ErrorCode)>(
      [&](UniqueFunction<void(ErrorCode)> done) {
        const auto join = stout::internal::Join::Of(served.size() + 1, std::move(done));
        for (std::size_t i = 0; i < served.size(); ++i) {
          const auto strand = served[i]->map->get_executor();
          asio::post(strand, [&, i, join] {
            members[i] = served[i]->map->Members();
            join->Finish({});
          });
        }
        join->Finish({});
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
  std::uint64_t lag = 0;
  for (const LaneStats& lane : stats.engine.lanes) lag += lane.dirty_keys;
  json::object member = MemberJson(records, stats.datalet,
                                   stats.in        ? "in"
                                   : stats.filling ? "filling"
                                                   : "out");
  member["lag_keys"] = lag;
  member["filled"] = stats.copied;
  return member;
}

std::string Listed(const RegistryTable& records) {
  json::array datalets;
  for (const auto& [id, datalet] : records.datalets) {
    json::object each{{"id", id},
                      {"url", Redacted(datalet.value.url)},
                      {"node", nullptr},
                      {"capacity", datalet.value.capacity}};
    if (!datalet.value.node.empty()) each["node"] = datalet.value.node;
    datalets.push_back(std::move(each));
  }
  return json::serialize(datalets);
}

bool Is(std::string_view argument, std::string_view word) {
  return resp::EqualIgnoringCase(argument, word);
}

// Reads what follows STOUT.DATALET ADD: URL [ID] [CAPACITY n]. Returns false after an error.
bool ReadAdded(Request& request, std::string& id, Datalet& datalet) {
  auto rest = std::span(request.arguments).subspan(2);
  datalet.url = rest.front();
  rest = rest.subspan(1);
  id = DataletIdOf(datalet.url);
  if (!rest.empty() && !Is(rest.front(), "CAPACITY")) {
    id = rest.front();
    rest = rest.subspan(1);
  }
  if (!rest.empty()) {
    const auto capacity = rest.size() == 2 ? resp::ParseUnsigned(rest[1]) : std::nullopt;
    if (!Is(rest.front(), "CAPACITY") || !capacity || *capacity > 1'000'000) {
      request.error = "ERR STOUT.DATALET ADD URL [ID] [CAPACITY n], n at most 1000000";
      return false;
    }
    datalet.capacity = static_cast<std::uint32_t>(*capacity);
  }
  Diagnostics why;
  if (!ParseStoreUrl(datalet.url, &why)) {
    request.error = "ERR " + why.message;
  } else if (IsOfNode(datalet.url)) {
    request.error = "ERR a node adds its datalet by itself: start it with --datalet";
  } else if (IsEmbedded(datalet.url)) {
    request.error =
        "ERR one process alone can open such a store: start a node with --datalet and this URL";
  }
  return request.error.empty();
}

// Returns a range of which this datalet is the only member that is in.
std::optional<RangeId> RangeWithNoOther(const RegistryTable& table, const std::string& id) {
  for (const auto& [range, set] : table.sets) {
    const auto& members = set.value.members;
    const auto others = std::count_if(members.begin(), members.end(), [&](const auto& member) {
      return member.in && member.datalet != id;
    });
    const bool in = std::any_of(members.begin(), members.end(), [&](const auto& member) {
      return member.in && member.datalet == id;
    });
    if (in && others == 0) return range;
  }
  return std::nullopt;
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
    {{kStoutStatus, "stout.status", 1, kReadonly | kNoMulti, {}, 0,
      "cluster", "0.1.0", "Returns the ranges, their owners and their members as JSON."}},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> OperationRows() { return kOperationRows; }

bool OperationCommands::Runs(const Request& request) {
  if (!request.on_keys()) return false;
  const int id = request.command->id;
  return id == kStoutDatalet || id == kStoutForce || id == kStoutMode || id == kStoutStatus;
}

asio::awaitable<void> OperationCommands::Run(Request& request) {
  request.replies = &replies_;
  request.reply_begin = replies_.size();
  std::string reply;
  if (service_.cluster == nullptr || service_.cluster->members == nullptr) {
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
  resp::ReplyWriter writer(replies_, session_.version);
  if (reply == "OK") {
    writer.Ok();
  } else if (request.error.empty()) {
    writer.BulkString(reply);
  }
  request.reply_end = replies_.size();
}

asio::awaitable<bool> OperationCommands::Read(Request& request, RegistryTable& table) {
  auto [ec, read] =
      co_await service_.cluster->registry->AsyncRead(asio::as_tuple(asio::use_awaitable));
  if (ec)
    request.error = fmt::format("TRYAGAIN the lease service does not answer: {}", ec.message());
  table = std::move(read);
  co_return !ec;
}

asio::awaitable<bool> OperationCommands::Change(Request& request, RegistryChange change) {
  if (const auto why = WhyInvalid(change)) {
    request.error = "ERR " + *why;
    co_return false;
  }
  const auto [ec, answer] = co_await service_.cluster->registry->AsyncChange(
      std::move(change), asio::as_tuple(asio::use_awaitable));
  if (ec) {
    request.error =
        fmt::format("{} {}", ec == Errc::kUnknown ? "UNKNOWN" : "TRYAGAIN", ec.message());
  }
  co_return !ec && answer.outcome == ChangeOutcome::kDone;
}

asio::awaitable<std::string> OperationCommands::Status() {
  const Cluster& cluster = *service_.cluster;
  const auto own = co_await OwnMembers(service_.ranges);
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
    json::array members;
    const auto set = records->sets.find(range);
    if (const auto map = own.find(range); map != own.end()) {
      for (const MemberStats& stats : map->second) members.push_back(MemberJson(*records, stats));
    } else if (set != records->sets.end()) {
      for (const RangeRecord::Member& member : set->second.value.members) {
        members.push_back(MemberJson(*records, member.datalet, member.in ? "in" : "out"));
      }
    }
    if (set != records->sets.end()) {
      shown["mode"] =
          NameOf(set->second.value.strong ? ReplicationMode::kMsSc : ReplicationMode::kMsEc);
    }
    shown["members"] = std::move(members);
    ranges.push_back(std::move(shown));
  }
  json::object status{{"node", cluster.self}, {"mode", nullptr}};
  if (records->config) status["mode"] = NameOf(records->config->value.mode);
  status["ranges"] = std::move(ranges);
  co_return json::serialize(status);
}

asio::awaitable<std::string> OperationCommands::Mode(Request& request) {
  if (request.arguments.size() > 2) {
    request.error = "ERR STOUT.MODE [ms+sc | ms+ec | aa+sc]";
    co_return "";
  }
  for (int attempt = 0; attempt < kChangeAttempts; ++attempt) {
    RegistryTable table;
    if (!co_await Read(request, table)) co_return "";
    if (!table.config) {
      request.error = "ERR the deployment has no configuration";
      co_return "";
    }
    ClusterConfig config = table.config->value;
    if (request.arguments.size() == 1) co_return std::string(NameOf(config.mode));
    const auto mode = ParseReplicationMode(request.arguments[1]);
    if (!mode) {
      request.error = "ERR the mode is none of ms+sc, ms+ec and aa+sc";
      co_return "";
    }
    config.mode = *mode;
    if (co_await Change(request, ChangeConfig(config, table.config->revision))) co_return "OK";
    if (!request.error.empty()) co_return "";
  }
  request.error = kChanged;
  co_return "";
}

asio::awaitable<std::string> OperationCommands::Datalet(Request& request) {
  const auto& arguments = request.arguments;
  const std::string_view word = arguments[1];
  RegistryTable table;
  if (!co_await Read(request, table)) co_return "";
  if (Is(word, "LIST") && arguments.size() == 2) co_return Listed(table);
  if (Is(word, "ADD") && arguments.size() >= 3) {
    std::string id;
    stout::Datalet datalet{.since = UnixTime()};
    if (!ReadAdded(request, id, datalet)) co_return "";
    const auto named = table.datalets.find(id);
    const bool again = named != table.datalets.end() && named->second.value.node.empty() &&
                       named->second.value.url == datalet.url;
    for (const auto& [other, listed] : table.datalets) {
      if (listed.value.url != datalet.url || again) continue;
      request.error = fmt::format("ERR the store is there already, as datalet {}", other);
      co_return "";
    }
    // A name stands for the data of one store.
    if (named != table.datalets.end() && !again) {
      request.error = "ERR there is another datalet of this name: give another ID, or REMOVE it";
      co_return "";
    }
    RegistryChange change = AddDatalet(id, datalet, 0);
    change.read = again ? named->second.revision : Revision{0};
    if (co_await Change(request, std::move(change))) co_return "OK";
    if (request.error.empty()) request.error = kChanged;
    co_return "";
  }
  if (Is(word, "REMOVE") && arguments.size() == 3) {
    const auto found = table.datalets.find(std::string(arguments[2]));
    if (found == table.datalets.end()) {
      request.error = "ERR there is no such datalet; see STOUT.DATALET LIST";
    } else if (!found->second.value.node.empty()) {
      request.error =
          fmt::format("ERR the datalet is that of node {}: end the node", found->second.value.node);
    } else if (const auto range = RangeWithNoOther(table, found->first)) {
      request.error =
          fmt::format("ERR the datalet is the only one that is in for range {}", *range);
    } else if (co_await Change(request, RemoveDatalet(found->first))) {
      co_return "OK";
    }
    co_return "";
  }
  request.error = "ERR syntax: STOUT.DATALET LIST | ADD URL [ID] [CAPACITY n] | REMOVE ID";
  co_return "";
}

asio::awaitable<std::string> OperationCommands::Force(Request& request) {
  const Cluster& cluster = *service_.cluster;
  const auto range = resp::ParseUnsigned(request.arguments[1]);
  if (!range || *range >= cluster.server.table()->ranges.size()) {
    request.error = "ERR there is no such range; see STOUT.STATUS";
    co_return "";
  }
  const auto number = static_cast<RangeId>(*range);
  const auto lease = service_.ranges.LeaseOf(number);
  if (!lease) {
    request.error = "TRYAGAIN no node owns the range at present: repeat";
    co_return "";
  }
  if (lease->address != cluster.self) {
    request.error =
        fmt::format("ERR the owner of the range alone can do this: ask node {}", lease->address);
    co_return "";
  }
  RegistryTable table;
  if (!co_await Read(request, table)) co_return "";
  const auto found = table.sets.find(number);
  bool known = false;
  bool was_in = false;  // once: else it has no more than a part of the range
  if (found != table.sets.end()) {
    for (RangeRecord::Member& member : found->second.value.members) {
      const bool in = member.datalet == request.arguments[2];
      known |= in;
      was_in |= in && (member.in || member.since != TimePoint());
      if (std::exchange(member.in, in) != in) member.since = UnixTime();
    }
  }
  if (!known) {
    request.error = "ERR the range has no such member; see STOUT.STATUS";
    co_return "";
  }
  if (cluster.members->StoreOf(std::string(request.arguments[2])) == nullptr) {
    request.error = "ERR that member does not answer: it would hold the only copy";
    co_return "";
  }
  if (!was_in) {
    request.error = "ERR that member was never in: it has a part of the range at most";
    co_return "";
  }
  const auto& [record, revision] = found->second;
  const bool done = co_await Change(request, ChangeSet(number, lease->epoch, record, revision));
  // Without an answer it may be done: the owner must not go on by its old record.
  if (done || !request.error.empty()) {
    spdlog::warn("range {}: forced to datalet {}; what it lacks is lost", number,
                 request.arguments[2]);
    cluster.server.GiveUp(number, lease->epoch, Errc::kTransient);
  }
  if (done) co_return "OK";
  if (request.error.empty()) request.error = kChanged;
  co_return "";
}

}  // namespace stout::node
