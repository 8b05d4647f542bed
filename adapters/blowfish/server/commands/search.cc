// Commands that look at many keys: DBSIZE, GREP, SEARCH and SCAN.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/slices.h"
#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/glob.h"
#include "resp/server/redis_commands.h"
#include "resp/server/search_options.h"
#include "stout/schema.h"

namespace stout::blowfish {
namespace {

using resp::kMaxFound;
using resp::RedisCommand;

// --- SEARCH and GREP -----------------------------------------------------------------------------

void SetSearch(Request& request, const LogQuery& query, const resp::SearchOptions& options) {
  if (options.hash_tag) {
    request.error = resp::kSyntaxError;
    return;
  }
  // If the client sets no limit, one key more than it may get shows that there are too many.
  request.parsed = KeySearch{
      .query = query, .limit = options.limit.value_or(kMaxFound + 1), .count = options.count};
}

void ParseSearch(Request& request, const ParseContext& context) {
  const resp::Arguments arguments = request.arguments;
  const auto options = resp::ParseSearchOptions(arguments);
  const auto attribute = context.schema.Find(arguments[1]);
  if (!options) {
    request.error = options.error();
  } else if (!attribute) {
    request.error = kNoSuchAttribute;
  } else {
    SetSearch(request,
              {.kind = options->prefix ? LogQuery::Kind::kPrefix : LogQuery::Kind::kEqual,
               .attribute = *attribute,
               .text = arguments[2]},
              *options);
  }
}

void ParseGrep(Request& request, const ParseContext&) {
  const auto options = resp::ParseGrepOptions(request.arguments);
  if (!options) {
    request.error = options.error();
  } else {
    SetSearch(request, {.kind = LogQuery::Kind::kContains, .text = request.arguments[1]}, *options);
  }
}

bool CountMatches(Slice& slice) {
  auto matches = static_cast<std::uint64_t>(slice.work.subrequest.number);
  bool more = true;
  while ((more = slice.search().StepToCount(matches)) && !slice.over()) continue;
  slice.work.subrequest.number = static_cast<std::int64_t>(matches);
  return !more;
}

bool FindKeys(Slice& slice) {
  const auto& search = slice.work.As<KeySearch>();
  if (search.count) return CountMatches(slice);
  Subrequest& found = slice.work.subrequest;
  const auto see = [&](KeyView key) {
    if (!slice.work.Keep(sizeof(std::string) + key.size())) return false;
    found.keys.emplace_back(key);
    return found.keys.size() < search.limit;
  };
  while (slice.search().Step(see)) {
    if (slice.over()) return false;
  }
  if (!found.error.empty()) found.FreeKeys();
  return true;
}

void GatherFound(Gather& gather) {
  const auto& search = gather.request.As<KeySearch>();
  const bool limited = search.limit <= kMaxFound;
  if (search.count) {
    const std::int64_t sum = gather.Sum();
    return gather.reply.Integer(limited ? std::min(sum, static_cast<std::int64_t>(search.limit))
                                        : sum);
  }
  std::size_t found = 0;
  for (const Batch::SubrequestId id : gather.subrequests) found += gather.At(id).keys.size();
  if (!limited && found > kMaxFound)
    return gather.reply.Error(
        fmt::format("ERR more than {} keys match: ask with LIMIT, or for their COUNT", kMaxFound));
  std::uint64_t left = std::min<std::uint64_t>(found, search.limit);
  gather.reply.ArrayHeader(left);
  for (const Batch::SubrequestId id : gather.subrequests) {
    for (const std::string& key : gather.At(id).keys) {
      if (left == 0) return;
      gather.reply.BulkString(key);
      --left;
    }
  }
}

// --- SCAN and DBSIZE -----------------------------------------------------------------------------

/// Keys that one SCAN returns at most, whatever COUNT is.
constexpr std::uint64_t kMaxScanned = 10'000;

void ParseScan(Request& request, const ParseContext& context) {
  const auto options = resp::ParseScanOptions(request.arguments);
  if (!options) {
    request.error = options.error();
    return;
  }
  const auto* const place = context.cursors.Find(options->cursor);
  if (options->cursor != 0 && place == nullptr) {
    request.error = "ERR the cursor is not known any more: begin again with 0";
    return;
  }
  request.parsed =
      ScanPage{.place = place,
               .limit = std::min(static_cast<std::uint64_t>(options->count), kMaxScanned),
               .match = options->match,
               .strings = !options->type || resp::EqualIgnoringCase(*options->type, "string")};
}

void ToCursor(FanOut& out) {
  const auto* const place = out.request.As<ScanPage>().place;
  Subrequest& subrequest = out.ToShard(place != nullptr ? place->shard : 0);
  if (place != nullptr) subrequest.scanned = place->after;
}

bool ScanKeys(Slice& slice) {
  const auto& page = slice.work.As<ScanPage>();
  Subrequest& found = slice.work.subrequest;
  std::optional<std::string> end;
  // Half of the replies: the rest has room for `end`, unless that is a large deleted key.
  found.keys = slice.work.shard().KeysAfter(found.scanned, page.limit, Shard::Keys::kWithValue,
                                            &end, slice.work.batch.batch->max_replies / 2);
  found.scanned = std::move(end);
  if (!page.strings) found.keys.clear();
  if (page.match) {
    std::erase_if(found.keys,
                  [&](const std::string& key) { return !resp::GlobMatch(*page.match, key); });
  }
  found.keys.shrink_to_fit();
  std::size_t bytes = SizeOf(found.keys) + (found.scanned ? found.scanned->size() : 0);
  // No page is smaller than one of one key.
  if (found.keys.size() <= 1) bytes = std::min(bytes, slice.work.batch.batch->max_replies);
  if (!slice.work.Keep(bytes)) {
    found.FreeKeys();
    found.scanned.reset();
  }
  return true;
}

// A scan goes through one shard after the other.
void GatherPage(Gather& gather) {
  const Batch::SubrequestId id = gather.subrequests.front();
  const Subrequest& found = gather.At(id);
  std::uint64_t next = 0;
  if (found.scanned) {
    next = gather.cursors.Keep({id.shard, found.scanned});
  } else if (id.shard + 1 < gather.shards()) {
    next = gather.cursors.Keep({id.shard + 1, std::nullopt});
  }
  gather.reply.ArrayHeader(2);
  gather.reply.BulkString(std::to_string(next));
  gather.reply.ArrayHeader(found.keys.size());
  for (const std::string& key : found.keys) gather.reply.BulkString(key);
}

Step CountKeys(Work& work) {
  if (work.batch.writes > 0) return Step::kAfterWrites;
  work.subrequest.number = static_cast<std::int64_t>(work.shard().size());
  return Step::kBegun;
}

using enum resp::CommandFlag::Bits;

// clang-format off
constexpr ShardCommand kSearchCommands[] = {
    {.command = RedisCommand(0, "dbsize"),
     .fan_out = ToAllShards, .begin = CountKeys, .gather = GatherSum},
    {.command = {0, "grep", -2, kReadonly, {}, 0,
                 "blowfish", "0.1.0",
                 "Finds keys by a part of a value: GREP substring [LIMIT n] [COUNT]."},
     .parse = ParseGrep, .fan_out = ToAllShards, .slice = FindKeys, .gather = GatherFound},
    {.command = RedisCommand(0, "scan"),
     .parse = ParseScan, .fan_out = ToCursor, .slice = ScanKeys, .gather = GatherPage,
     .needs_all = true},
    {.command = {0, "search", -3, kReadonly, {}, 0,
                 "blowfish", "0.1.0",
                 "Finds keys: SEARCH attribute value [PREFIX] [LIMIT n] [COUNT]."},
     .parse = ParseSearch, .fan_out = ToAllShards, .slice = FindKeys, .gather = GatherFound},
};
// clang-format on

}  // namespace

std::span<const ShardCommand> SearchCommands() { return kSearchCommands; }

}  // namespace stout::blowfish
