#include "node/table_commands.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/key_walk.h"
#include "node/operation_commands.h"
#include "node/records.h"
#include "resp/server/ascii.h"
#include "resp/server/integer.h"
#include "stout/adapters/hash_slot.h"
#include "stout/clock.h"
#include "stout/core/range_record.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using resp::EqualIgnoringCase;

constexpr std::string_view kNoTables =
    "ERR this node has no tables: start it with --join and --datalet";
constexpr std::string_view kTableSyntax =
    "ERR syntax: STOUT.TABLE LIST | USE NAME | DROP NAME | CREATE NAME [MODE m] [REPLICAS n] "
    "[MIN-IN n] [ACK n] [RANGES n]";
constexpr std::string_view kDefaultTable = "default";

/// Between two looks whether a table is open.
constexpr auto kLook = std::chrono::milliseconds(10);

// Reads the settings of CREATE. Returns the problem, or "".
std::string ReadSettings(resp::Arguments settings, ClusterConfig& config) {
  if (settings.size() % 2 != 0) return std::string(kTableSyntax);
  bool min_in = false;
  bool ack = false;
  for (; !settings.empty(); settings = settings.subspan(2)) {
    const std::string_view name = settings[0];
    if (EqualIgnoringCase(name, "MODE")) {
      std::string error;
      const auto mode = ReadMode(settings[1], error);
      if (!mode) return error;
      config.mode = *mode;
      continue;
    }
    const auto number = resp::ParseUnsigned(settings[1]);
    const std::uint64_t most = EqualIgnoringCase(name, "RANGES") ? redis::kSlots : kMaxMembers;
    if (!number || *number > most) {
      return fmt::format("ERR {} takes a number, at most {}", name.substr(0, 16), most);
    }
    const auto value = static_cast<std::uint32_t>(*number);
    if (EqualIgnoringCase(name, "REPLICAS")) {
      config.replicas = value;
    } else if (EqualIgnoringCase(name, "MIN-IN")) {
      config.min_in = value;
      min_in = true;
    } else if (EqualIgnoringCase(name, "ACK")) {
      config.ack = value;
      ack = true;
    } else if (EqualIgnoringCase(name, "RANGES")) {
      config.ranges = value;
    } else {
      return std::string(kTableSyntax);
    }
  }
  // The deployment's values may not fit fewer replicas.
  if (!min_in) config.min_in = std::min(config.min_in, std::max(config.replicas, 1U));
  if (!ack) config.ack = std::min(config.ack, std::max(config.replicas, 1U));
  const auto why = WhyInvalid(config);
  return why ? "ERR " + *why : "";
}

json::object TableJson(std::string_view name, const ClusterConfig& config) {
  return {{"name", name},
          {"mode", NameOf(config.mode)},
          {"replicas", config.replicas},
          {"min_in", config.min_in},
          {"ack", config.ack},
          {"ranges", config.ranges}};
}

// The settings of a table now.
ClusterConfig ConfigOf(const Table& table, const ClusterConfig& first) {
  const auto records = table.cluster->members->records();
  return records->config ? records->config->value : first;
}

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;

// clang-format off
constexpr KeyCommand kTableRows[] = {
    {{kStoutTable, "stout.table", -2, kWrite | kNoMulti | kEndsBatch, {}, 0,
      "cluster", "0.1.0", "Lists, creates or drops tables, or changes the table of the connection."}},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> TableRows() { return kTableRows; }

asio::awaitable<void> TableCommands::Run(Request& request) {
  const auto& arguments = request.arguments;
  std::string reply;
  if (service_.tables == nullptr) {
    request.error = kNoTables;
  } else if (EqualIgnoringCase(arguments[1], "LIST") && arguments.size() == 2) {
    reply = co_await List(request);
  } else if (EqualIgnoringCase(arguments[1], "USE") &&
             (arguments.size() == 3 || arguments.size() == 4)) {
    reply = co_await Use(request);
  } else if (EqualIgnoringCase(arguments[1], "CREATE") && arguments.size() >= 3) {
    reply = co_await Create(request);
  } else if (EqualIgnoringCase(arguments[1], "DROP") && arguments.size() == 3) {
    bool begun = false;
    reply = co_await Drop(request, begun);
    constexpr std::string_view kNotDone = "TRYAGAIN";
    if (begun && request.error.starts_with(kNotDone))
      request.error.replace(0, kNotDone.size(), "UNKNOWN");
  } else {
    request.error = kTableSyntax;
  }
  AppendReply(request, reply, session_.version, replies_);
}

asio::awaitable<std::string> TableCommands::List(Request& request) {
  RegistryTable records;
  if (!co_await ReadRecords(service_.tables->registry(), request, records)) co_return "";
  json::array all;
  if (records.config) {
    all.push_back(TableJson(kDefaultTable, records.config->value));
    all.back().as_object()["open"] = true;
  }
  for (const auto& [name, listed] : records.tables) {
    if (Tables::IsReserved(name)) continue;
    const std::string id = Tables::IdOf(listed.revision);
    const Table* const table = service_.tables->Find(name);
    const bool open = table != nullptr && table->id == id;
    json::object shown = TableJson(name, open ? ConfigOf(*table, listed.value) : listed.value);
    shown["id"] = id;
    shown["open"] = open;
    all.push_back(std::move(shown));
  }
  co_return json::serialize(all);
}

asio::awaitable<Table*> TableCommands::Await(Request& request, std::string_view name) {
  const TimePoint deadline = SteadyNow() + service_.reply_deadline;
  RegistryTable records;
  if (!co_await ReadRecords(service_.tables->registry(), request, records)) co_return nullptr;
  const auto listed = records.tables.find(std::string(name));
  if (listed == records.tables.end() || Tables::IsReserved(name))
    co_return Refuse<Table*>(
        request, fmt::format("ERR there is no table '{}': see STOUT.TABLE LIST, or CREATE it",
                             name.substr(0, 32)));
  const std::string id = Tables::IdOf(listed->second.revision);
  while (SteadyNow() < deadline && !service_.tables->leaving()) {
    Table* const table = service_.tables->Find(name);
    if (table != nullptr && table->id == id) co_return table;
    asio::steady_timer pause(co_await asio::this_coro::executor, kLook);
    co_await pause.async_wait(asio::use_awaitable);
  }
  co_return Refuse<Table*>(
      request, fmt::format("TRYAGAIN this node has not opened table {} yet: repeat", name));
}

asio::awaitable<std::string> TableCommands::Use(Request& request) {
  const std::string_view name = request.arguments[2];
  Table* table = &service_.main;
  if (request.arguments.size() == 4) {  // from another node
    table = service_.tables->Find(name);
    if (table == nullptr || table->id != request.arguments[3])
      co_return Refuse(request,
                       fmt::format("TRYAGAIN this node has not opened that table: {}", name));
  } else if (name != kDefaultTable) {
    table = co_await Await(request, name);  // the open one may be a former one
    if (table == nullptr) co_return "";
  }
  table_ = table;
  router_.writes().clear();
  // The client would follow to a node whose connection uses another table.
  if (table != &service_.main) router_.set_redirects(false);
  co_return "OK";
}

asio::awaitable<std::string> TableCommands::Create(Request& request) {
  Registry& registry = service_.tables->registry();
  const std::string name(request.arguments[2]);
  if (Tables::IsReserved(name))
    co_return Refuse(request,
                     fmt::format("ERR '{}' is a name that nodes need for themselves: use another",
                                 name.substr(0, 32)));
  RegistryTable records;
  if (!co_await ReadRecords(registry, request, records)) co_return "";
  ClusterConfig config = records.config ? records.config->value : ClusterConfig();
  config.ranges = ClusterConfig().ranges;
  config.partition = ClusterConfig().partition;
  request.error = ReadSettings(request.arguments.subspan(3), config);
  if (!request.error.empty()) co_return "";
  const bool taken = records.tables.contains(name);
  if (taken || !co_await ChangeRecord(registry, request, CreateTable(name, config)))
    co_return EnsureRefused(
        request, fmt::format("ERR there is a table {} already: USE it, or DROP it", name));
  co_return co_await Await(request, name) != nullptr ? "OK" : "";
}

asio::awaitable<std::string> TableCommands::Drop(Request& request, bool& begun) {
  Registry& registry = service_.tables->registry();
  const std::string name(request.arguments[2]);
  if (name == kDefaultTable)
    co_return Refuse(request, "ERR the default table cannot be dropped: FLUSHALL deletes its keys");
  RegistryTable records;
  if (!co_await ReadRecords(registry, request, records)) co_return "";
  const auto listed = records.tables.find(name);
  if (listed == records.tables.end() || Tables::IsReserved(name))
    co_return Refuse(request, fmt::format("ERR there is no table '{}': see STOUT.TABLE LIST",
                                          name.substr(0, 32)));
  const auto& [config, created] = listed->second;
  const std::string id = Tables::IdOf(created);
  constexpr std::string_view kChanged =
      "TRYAGAIN the table has changed meanwhile: repeat the command";
  if (Table* const table = co_await Await(request, name)) {
    // Another client may have created it again.
    if (table->id != id) co_return Refuse(request, kChanged);
    begun = true;
    co_await Empty(*table);
  } else {
    spdlog::warn("table {} is dropped, but its keys stay in the stores: {}", name, request.error);
    request.error = {};
  }
  // Its keys may not all be deleted yet.
  if (service_.draining || service_.tables->leaving()) co_return Refuse(request, kEnding);
  // First the id, by which nodes find the records to be removed. It may be listed already.
  const bool noted = co_await ChangeRecord(registry, request, CreateTable(id, config));
  if (!noted && !request.error.empty()) co_return "";
  begun = true;
  if (!co_await ChangeRecord(registry, request, DropTable(name, created)))
    co_return EnsureRefused(request, kChanged);
  // The id is listed until no node serves the table any more.
  const TimePoint deadline = SteadyNow() + service_.reply_deadline;
  while (SteadyNow() < deadline && !service_.tables->leaving()) {
    if (!co_await ReadRecords(registry, request, records)) co_return "";
    if (!records.tables.contains(id)) co_return "OK";
    asio::steady_timer pause(co_await asio::this_coro::executor, kLook);
    co_await pause.async_wait(asio::use_awaitable);
  }
  co_return Refuse(request,
                   fmt::format("UNKNOWN table {} is dropped, but a node may still serve it", name));
}

asio::awaitable<void> TableCommands::Empty(Table& table) {
  Table* const dropped = &table;
  ReplyRoom room;  // its commands reply with no value, but keys are read ahead by what is left
  room.Reset(service_.limits.max_replies);
  Router router(service_, dropped, session_, room);
  KeyWalk walk(service_, dropped, router, session_, room);
  const std::array<std::string_view, 1> words = {"flushall"};
  Request flush;
  flush.command = service_.commands.Find("flushall");
  flush.arguments = words;
  co_await walk.Run(flush);
  if (!flush.error.empty()) {
    spdlog::warn("table {} is dropped, but keys of it stay in the stores: {}", table.name,
                 flush.error);
  }
}

}  // namespace stout::node
