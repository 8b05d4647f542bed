#include "node/value_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "node/commands.h"
#include "node/limits.h"
#include "resp/server/reply_writer.h"
#include "stout/adapters/hash_slot.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

using enum CommandId::Number;
using enum resp::CommandFlag::Bits;
using resp::kMaxFound;

/// A search that lacks keys is repeated with this multiple of its limit.
constexpr std::size_t kGrowth = 16;
/// The smallest limit of a search, because stores also count keys that are not shown.
constexpr std::size_t kMinLimit = 1024;
/// A key takes at most this many bytes in a reply beside its own.
constexpr std::size_t kKeyRoom = 16;

constexpr std::string_view kNoSearch =
    "ERR no store of these keys can search their values: only blowfish-servers can";

std::string NoSuchAttribute(std::string_view attribute, const Schema& schema) {
  return fmt::format("ERR no attribute is named '{}'; there are: {}", attribute,
                     fmt::join(schema.names(), ", "));
}

constexpr std::string_view kNoSearchNow =
    "TRYAGAIN for some keys no blowfish-server answers within the timeout in its URL";

std::string SearchError(Errc why) {
  if (why == Errc::kTransient) return std::string(kNoSearchNow);
  if (why == Errc::kTooLarge)
    return "ERR a store cannot return so many keys: search for a longer text, or use LIMIT";
  return fmt::format("ERR the store cannot search: {}", ErrorCode(why).message());
}

// Returns the value in the reply to GET, in RESP2 or RESP3; nullopt for null.
std::optional<std::string_view> ValueIn(std::string_view reply) {
  if (!reply.starts_with('$') || reply.starts_with("$-")) return std::nullopt;
  constexpr std::size_t kLineEnd = 2;
  reply.remove_prefix(reply.find("\r\n") + kLineEnd);
  reply.remove_suffix(kLineEnd);
  return reply;
}

bool IsGrep(const Request& request) { return request.command->id == kGrep; }

resp::Parsed<resp::SearchOptions> ParseOptions(const Request& request) {
  return IsGrep(request) ? resp::ParseGrepOptions(request.arguments)
                         : resp::ParseSearchOptions(request.arguments);
}

void ParseSearch(Request& request) {
  if (const auto options = ParseOptions(request); !options) request.error = options.error();
}

// clang-format off
constexpr KeyCommand kSearchRows[] = {
    {{kGetattr, "getattr", 3, kReadonly | kFast | kNoMulti, {1, 1, 1}, resp::CommandCategory::kString,
      "blowfish", "0.1.0", "Returns an attribute of a key: GETATTR key attribute."}},
    {{kGrep, "grep", -2, kReadonly | kNoMulti, {}, 0,
      "blowfish", "0.1.0",
      "Finds keys by a part of a value: GREP substring [LIMIT n] [COUNT] [HASHTAG tag]."},
     ParseSearch},
    {{kSchema, "schema", 1, kReadonly | kNoMulti, {}, 0,
      "blowfish", "0.1.0", "Shows the delimiter and the attributes of values."}},
    {{kSearch, "search", -3, kReadonly | kNoMulti, {}, 0,
      "blowfish", "0.1.0",
      "Finds keys: SEARCH attribute value [PREFIX] [LIMIT n] [COUNT] [HASHTAG tag]."},
     ParseSearch},
};
// clang-format on

}  // namespace

std::span<const KeyCommand> SearchRows() { return kSearchRows; }

std::optional<Schema> ValueSearch::SchemaOfTable(Request& request) {
  std::optional<Schema>& schema = table_->schema;
  const MemberRanges* const members =
      table_->cluster != nullptr ? table_->cluster->members : nullptr;
  bool all_open = true;
  if (members == nullptr) {
    schema = table_->store.traits().schema;
  } else {
    const auto records = members->records();
    for (const auto& datalet : records->datalets) {
      const Store* const store = members->StoreOf(datalet.first);
      all_open = all_open && store != nullptr;
      if (store == nullptr || !store->traits().schema) continue;
      schema = store->traits().schema;
      break;
    }
  }
  if (!schema) request.error = all_open ? kNoSearch : kNoSearchNow;
  return schema;
}

asio::awaitable<void> ValueSearch::Run(Request& request) {
  request.replies = &replies_;
  request.reply_begin = replies_.size();
  if (const auto schema = SchemaOfTable(request); !schema) {
    // request.error is the reply.
  } else if (request.command->id == kSchema) {
    ShowSchema(*schema);
  } else if (request.command->id == kGetattr) {
    co_await ReadAttribute(request, *schema);
  } else {
    co_await Search(request, *schema);
  }
  request.reply_end = replies_.size();
}

void ValueSearch::ShowSchema(const Schema& schema) {
  resp::ReplyWriter reply(replies_, session_.version);
  const char delimiter = schema.delimiter();
  reply.MapHeader(2);
  reply.BulkString("delimiter");
  reply.BulkString(std::string_view(&delimiter, 1));
  reply.BulkString("attributes");
  reply.ArrayHeader(schema.size());
  for (const std::string& name : schema.names()) reply.BulkString(name);
}

asio::awaitable<void> ValueSearch::ReadAttribute(Request& request, const Schema& schema) {
  const auto attribute = schema.Find(request.arguments[2]);
  if (!attribute) co_return Refuse<void>(request, NoSuchAttribute(request.arguments[2], schema));
  const std::array<std::string_view, 2> words = {"get", request.arguments[1]};
  Request get;
  get.command = service_.commands.Find("get");
  get.arguments = words;
  get.tenant = request.tenant;
  get.levels = request.levels;
  value_room_.Reset(service_.limits.max_replies);
  co_await reader_.Run({&get, 1});
  request.error = std::move(get.error);
  if (request.error.empty()) {
    const auto value = ValueIn(get.reply());
    const auto part = value ? schema.Attribute(*value, *attribute) : std::nullopt;
    if (part && !room_.Take(part->size())) {
      request.error = kRepliesTooLarge;
    } else {
      resp::ReplyWriter reply(replies_, session_.version);
      part ? reply.BulkString(*part) : reply.Null();
    }
  }
  reader_.Clear();
}

asio::awaitable<void> ValueSearch::Search(Request& request, const Schema& schema) {
  const auto& arguments = request.arguments;
  const auto options = *ParseOptions(request);
  using Match = SearchRequest::Match;
  SearchRequest search;
  if (IsGrep(request)) {
    search.text = arguments[1];
  } else if (!schema.Find(arguments[1])) {
    request.error = NoSuchAttribute(arguments[1], schema);
    co_return;
  } else {
    search.match = options.prefix ? Match::kBegins : Match::kEquals;
    search.attribute = arguments[1];
    search.text = arguments[2];
  }
  // Without LIMIT, one key more than is allowed shows that there are too many.
  const std::size_t wanted = options.limit.value_or(kMaxFound + 1);
  SearchResult found = co_await Find(request, std::move(search), options, wanted);
  if (!request.error.empty()) co_return;
  if (found.keys.size() > wanted) found.keys.resize(wanted);
  resp::ReplyWriter reply(replies_, session_.version);
  if (options.count) {
    reply.Integer(static_cast<std::int64_t>(found.keys.size()));
    co_return;
  }
  std::size_t bytes = 0;
  for (const std::string& key : found.keys) bytes += kKeyRoom + key.size();
  if (!room_.Take(bytes)) co_return Refuse<void>(request, kRepliesTooLarge);
  reply.ArrayHeader(found.keys.size());
  for (const std::string& key : found.keys) reply.BulkString(key);
}

// The limit of a store counts keys that are left out here, and by MemberScan.
asio::awaitable<SearchResult> ValueSearch::Find(Request& request, SearchRequest search,
                                                const resp::SearchOptions& options,
                                                std::size_t wanted) {
  if (wanted == 0) co_return SearchResult();
  const bool tagged = options.hash_tag && table_->ranges.partition().name == "slots";
  if (tagged) search.beside = fmt::format("{{{}}}", *options.hash_tag);
  SearchResult found;
  for (std::size_t limit = std::max(wanted, kMinLimit);; limit *= kGrowth) {
    search.limit = std::min<std::size_t>(limit, kMaxFound);
    found = co_await table_->store.AsyncSearch(search, asio::use_awaitable);
    if (found.errc != Errc::kOk) co_return Refuse<SearchResult>(request, SearchError(found.errc));
    if (options.hash_tag) {
      std::erase_if(found.keys, [&](const std::string& key) {
        const std::string_view tag = redis::HashedPart(key);
        return tag != *options.hash_tag || tag.size() == key.size();
      });
    }
    if (!found.more || found.keys.size() >= wanted || search.limit == kMaxFound) break;
  }
  const bool too_many = !options.limit && found.keys.size() >= kMaxFound;
  if (too_many || (found.more && found.keys.size() < wanted))
    request.error = fmt::format(
        "ERR {} keys or more match, those of other tables included: search for a longer text",
        kMaxFound);
  co_return found;
}

}  // namespace stout::node
