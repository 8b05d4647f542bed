// STOUT.DATALET.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "node/operation_commands.h"
#include "node/tables.h"
#include "resp/server/ascii.h"
#include "resp/server/integer.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"
#include "stout/clock.h"
#include "stout/completion.h"
#include "stout/unique_function.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using resp::EqualIgnoringCase;

std::string Listed(const RegistryTable& records) {
  json::array datalets;
  for (const auto& [id, datalet] : records.datalets) {
    json::object each{{"id", id},
                      {"url", Redacted(datalet.value.url)},
                      {"node", nullptr},
                      {"capacity", datalet.value.capacity},
                      {"leaving", datalet.value.leaving},
                      {"lazy", datalet.value.lazy}};
    if (!datalet.value.node.empty()) each["node"] = datalet.value.node;
    datalets.push_back(std::move(each));
  }
  return json::serialize(datalets);
}

// Reads what follows STOUT.DATALET ADD: URL [ID] [CAPACITY n | LAZY]. Returns false after an error.
bool ReadAdded(Request& request, std::string& id, Datalet& datalet,
               std::optional<std::uint32_t>& capacity) {
  auto rest = std::span(request.arguments).subspan(2);
  datalet.url = rest.front();
  rest = rest.subspan(1);
  id = DataletIdOf(datalet.url);
  const auto is_next = [&rest](std::string_view word) {
    return !rest.empty() && EqualIgnoringCase(rest.front(), word);
  };
  if (!rest.empty() && !is_next("CAPACITY") && !is_next("LAZY")) {
    id = rest.front();
    rest = rest.subspan(1);
  }
  if (is_next("LAZY") && rest.size() == 1) {
    datalet.lazy = true;
  } else if (!rest.empty()) {
    const auto read = rest.size() == 2 ? resp::ParseUnsigned(rest[1]) : std::nullopt;
    if (!is_next("CAPACITY") || !read || *read > 1'000'000)
      return Refuse<bool>(request,
                          "ERR STOUT.DATALET ADD URL [ID] [CAPACITY n | LAZY], n at most 1000000");
    capacity = static_cast<std::uint32_t>(*read);
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

// Returns true, with an error, if a datalet has this URL.
bool IsThere(Request& request, const RegistryTable& table, const std::string& url) {
  for (const auto& [id, listed] : table.datalets) {
    if (listed.value.url != url) continue;
    request.error = fmt::format("ERR the store is there already, as datalet {}", id);
    return true;
  }
  return false;
}

// As stout::WhyUnusable. No thread that serves clients waits for the store.
asio::awaitable<std::optional<std::string>> WhyUnusable(Table& table, const std::string& url) {
  using Why = std::optional<std::string>;
  co_return co_await Initiate<void(Why)>(
      [&](UniqueFunction<void(Why)> done) {
        asio::post(table.cluster->blocking, [url, id = table.id, done = std::move(done)]() mutable {
          asio::thread_pool pool(1);  // the node's contexts may end first
          const auto open = [&pool](const std::string& each, Diagnostics* why) {
            return OpenStore(each, pool.get_executor(), why);
          };
          done(stout::WhyUnusable(url, OpenerOf(open, id)));
        });
      },
      asio::use_awaitable);
}

// Returns a range of which this datalet is the only member that is in and stays so.
std::optional<RangeId> RangeWithNoOther(const RegistryTable& table, const std::string& id) {
  const auto stays = [&table](const std::string& each) {
    const auto found = table.datalets.find(each);
    return found == table.datalets.end() ||
           (!found->second.value.leaving && !found->second.value.lazy);
  };
  for (const auto& [range, set] : table.sets) {
    const auto& members = set.value.members;
    const auto others = std::count_if(members.begin(), members.end(), [&](const auto& member) {
      return member.in && member.datalet != id && stays(member.datalet);
    });
    if (IsIn(set.value, id) && others == 0) return range;
  }
  return std::nullopt;
}

// The nodes remove its record once it is in for no range, see Registration.
RegistryChange Removal(const std::string& id, const Recorded<Datalet>& datalet) {
  Datalet leaving = datalet.value;
  leaving.leaving = true;
  RegistryChange change = AddDatalet(id, std::move(leaving), 0);
  change.read = datalet.revision;
  return change;
}

}  // namespace

asio::awaitable<std::string> OperationCommands::Datalet(Request& request) {
  const auto& arguments = request.arguments;
  const std::string_view word = arguments[1];
  RegistryTable table;
  if (!co_await Read(request, table)) co_return "";
  if (EqualIgnoringCase(word, "LIST") && arguments.size() == 2) co_return Listed(table);
  if (EqualIgnoringCase(word, "ADD") && arguments.size() >= 3) {
    std::string id;
    stout::Datalet datalet{.since = UnixTime()};
    std::optional<std::uint32_t> capacity;
    if (!ReadAdded(request, id, datalet, capacity)) co_return "";
    const bool shares = table.config && table.config->value.mode == ReplicationMode::kAaEc;
    if (datalet.lazy && shares)
      co_return Refuse(
          request,
          "ERR in mode aa+ec there is no owner that a lazy member could follow: use another mode");
    const auto named = table.datalets.find(id);
    const bool again = named != table.datalets.end() && named->second.value.node.empty() &&
                       named->second.value.url == datalet.url;
    datalet.capacity = capacity.value_or(again ? named->second.value.capacity : datalet.capacity);
    if (!again && IsThere(request, table, datalet.url)) co_return "";
    const auto alone = again && datalet.lazy ? RangeWithNoOther(table, id) : std::nullopt;
    if (alone)
      co_return Refuse(request, fmt::format("ERR the datalet cannot be lazy: it is the only one "
                                            "that is in and stays for range {}",
                                            *alone));
    // A name stands for the data of one store.
    if (named != table.datalets.end() && !again)
      co_return Refuse(request,
                       "ERR there is another datalet of this name: give another ID, or REMOVE it");
    std::optional<std::string> why;
    if (!again) why = co_await WhyUnusable(*table_, datalet.url);
    if (why) co_return Refuse(request, fmt::format("ERR the store cannot be a datalet: {}", *why));
    // Another may have added it meanwhile.
    if (!again && (!co_await Read(request, table) || IsThere(request, table, datalet.url)))
      co_return "";
    RegistryChange change = AddDatalet(id, datalet, 0);
    change.read = again ? named->second.revision : Revision{0};
    if (co_await Change(request, std::move(change))) co_return "OK";
    co_return EnsureRefused(request, kChanged);
  }
  if (EqualIgnoringCase(word, "REMOVE") && arguments.size() == 3) {
    const auto found = table.datalets.find(std::string(arguments[2]));
    if (found == table.datalets.end()) {
      request.error = "ERR there is no such datalet; see STOUT.DATALET LIST";
    } else if (!found->second.value.node.empty()) {
      request.error =
          fmt::format("ERR the datalet is that of node {}: end the node", found->second.value.node);
    } else if (const auto range = RangeWithNoOther(table, found->first)) {
      request.error =
          fmt::format("ERR the datalet is the only one that is in and stays for range {}", *range);
    } else if (co_await Change(request, Removal(found->first, found->second))) {
      co_return "OK";
    }
    co_return EnsureRefused(request, kChanged);
  }
  co_return Refuse(request,
                   "ERR syntax: STOUT.DATALET LIST | ADD URL [ID] [CAPACITY n | LAZY] | REMOVE ID");
}

}  // namespace stout::node
