// Commands that write keys, without stamps.
#include <boost/unordered/unordered_flat_set.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/bytes_hash.h"
#include "blowfish/log/log_format.h"
#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/slices.h"
#include "blowfish/server/work.h"
#include "resp/server/ascii.h"
#include "resp/server/redis_commands.h"

namespace stout::blowfish {
namespace {

using resp::RedisCommand;
using resp::SetOptions;
using Condition = resp::SetOptions::Condition;

/// Bytes of the keys that DEL or FLUSHALL deletes in one batch, about: some milliseconds of work.
constexpr std::size_t kMaxDeletedBytes = std::size_t{1} << 20;

// --- SET, SETNX, GETSET --------------------------------------------------------------------------

void ParseSet(Request& request, const ParseContext&) {
  const auto options = resp::ParseSetOptions(request.arguments);
  if (!options) {
    request.error = options.error();
  } else if (options->expiry) {
    request.error = "ERR keys do not expire here: use SET without EX, PX, EXAT and PXAT";
  } else {
    request.parsed = *options;
  }
}

void ParseSetnx(Request& request, const ParseContext&) {
  request.parsed = SetOptions{.condition = Condition::kIfAbsent};
}

void ParseGetset(Request& request, const ParseContext&) {
  request.parsed = SetOptions{.get = true};
}

// `before`: the value that the key had. `met`: the condition holds.
void ReplySet(const SetOptions& options, const std::optional<std::string>& before, bool met,
              resp::ReplyWriter& reply) {
  if (options.get ? !before : !met) {
    reply.Null();
  } else if (options.get) {
    reply.BulkString(*before);
  } else {
    reply.Ok();
  }
}

void ReplySetnx(const SetOptions&, const std::optional<std::string>&, bool met,
                resp::ReplyWriter& reply) {
  reply.Integer(met);
}

template <auto kReply>
Step Set(Work& work) {
  const auto& options = work.As<SetOptions>();
  const PlainChange change{work.argument(1), work.argument(2)};
  const std::span changes(&change, 1);
  if (work.MustWait(changes)) return Step::kAfterPoll;

  std::optional<std::string> before;  // only with GET
  bool exists = false;
  if (options.get || options.condition != Condition::kAlways) {
    if (work.MustWaitForWrites(changes)) return Step::kAfterPoll;
    if (options.get) before = work.ReadNow(change.key);
    exists = options.get ? before.has_value() : work.Exists(change.key);
  }
  if (options.get && before && !work.Keep(before->size())) return Step::kBegun;
  const bool met = options.condition == Condition::kAlways ||
                   exists == (options.condition == Condition::kIfPresent);
  work.Reply([&](resp::ReplyWriter& reply) { kReply(options, before, met, reply); });
  if (met) work.Write(changes);
  return Step::kBegun;
}

// --- MSET ----------------------------------------------------------------------------------------

void ParseMset(Request& request, const ParseContext&) {
  if (request.arguments.size() % 2 == 0) request.error = resp::WrongArityError("mset");
}

void ToShardsOfPairs(FanOut& out) {
  std::vector<bool> concerned(out.shards());
  for (std::size_t i = 1; i < out.request.arguments.size(); i += 2)
    concerned[out.ShardOf(i)] = true;
  for (std::size_t shard = 0; shard < out.shards(); ++shard) {
    if (concerned[shard]) out.ToShard(shard);
  }
}

Step SetMany(Work& work) {
  const resp::Arguments arguments = work.request().arguments;
  std::vector<PlainChange> changes;
  for (std::size_t i = 1; i + 1 < arguments.size(); i += 2) {
    if (ShardOf(arguments[i], work.shards()) == work.shard_number())
      changes.push_back({arguments[i], arguments[i + 1]});
  }
  if (work.MustWait(changes)) return Step::kAfterPoll;
  work.Write(changes);
  return Step::kBegun;
}

// --- DEL -----------------------------------------------------------------------------------------

// All keys of the command that are of this shard, or as many as one batch takes: the rest is begun
// next.
Step Delete(Work& work) {
  std::span<Subrequest> deletes = work.batch.OfNextRequest();
  std::vector<PlainChange> changes;
  std::vector<std::string_view> keys;
  for (std::size_t bytes = 0; keys.size() < deletes.size() && bytes < kMaxDeletedBytes;) {
    keys.push_back(work.argument(deletes[keys.size()].argument));
    changes.push_back({keys.back(), std::nullopt});
    bytes += MaxOperationBytes(keys.back().size(), 0);
  }
  deletes = deletes.first(keys.size());
  if (work.MustWait(changes) || work.MustWaitForWrites(changes)) return Step::kAfterPoll;

  changes.clear();
  boost::unordered_flat_set<std::string_view, BytesHash> there;
  work.shard().ReadStamps(keys, [&](std::size_t i, Stamp, std::optional<std::string_view> value) {
    if (!value || !there.insert(keys[i]).second) return;  // A key that is named twice counts once.
    deletes[i].number = 1;
    changes.push_back({keys[i], std::nullopt});
  });
  if (!changes.empty()) work.Write(changes);
  work.batch.next += deletes.size() - 1;
  return Step::kBegun;
}

// --- FLUSHALL and FLUSHDB ------------------------------------------------------------------------

/// Keys that are deleted in one batch, about: some milliseconds of work.
constexpr std::size_t kFlushAtOnce = 1000;

void ParseFlush(Request& request, const ParseContext&) {
  const resp::Arguments arguments = request.arguments;
  const auto is = [&](std::string_view word) {
    return resp::EqualIgnoringCase(arguments[1], word);
  };
  if (arguments.size() > 2 || (arguments.size() == 2 && !is("ASYNC") && !is("SYNC"))) {
    request.error = resp::kSyntaxError;
  } else {
    request.parsed = KeySearch{.query = {.kind = LogQuery::Kind::kContains}};
  }
}

// The keys that exist when it begins are found in slices, into the subrequest. They are deleted
// part by part, each when the part before is durable.
Step Flush(Work& work) {
  std::vector<std::string>& keys = work.subrequest.keys;
  if (!work.subrequest.error.empty()) {
    work.CloseSearch();
    return Step::kBegun;
  }
  if (work.batch.writes > 0) return Step::kAfterWrites;
  if (keys.empty()) return Step::kInSlices;
  std::vector<PlainChange> changes;
  changes.reserve(keys.size());
  for (const std::string& key : keys) changes.push_back({key, std::nullopt});
  if (work.MustWait(changes)) return Step::kAfterPoll;
  work.Write(changes);
  keys.clear();
  return work.batch.search ? Step::kAfterWrites : Step::kBegun;
}

bool FindToFlush(Slice& slice) {
  std::vector<std::string>& keys = slice.work.subrequest.keys;
  std::size_t bytes = SizeOf(keys);
  const auto see = [&](KeyView key) {
    keys.emplace_back(key);
    bytes += sizeof(std::string) + key.size();
    return true;
  };
  while (keys.size() < kFlushAtOnce && bytes < kMaxDeletedBytes) {
    if (!slice.search().Step(see)) {
      slice.work.CloseSearch();
      break;
    }
    if (slice.over()) return false;
  }
  return true;
}

// clang-format off
constexpr ShardCommand kWriteCommands[] = {
    {.command = RedisCommand(0, "del"),
     .fan_out = ToEachKey<>, .begin = Delete, .gather = GatherSum},
    {.command = RedisCommand(0, "flushall"), .parse = ParseFlush,
     .fan_out = ToAllShards, .begin = Flush, .slice = FindToFlush, .gather = GatherOk},
    {.command = RedisCommand(0, "flushdb"), .parse = ParseFlush,
     .fan_out = ToAllShards, .begin = Flush, .slice = FindToFlush, .gather = GatherOk},
    {.command = RedisCommand(0, "getset"), .parse = ParseGetset,
     .fan_out = ToKey, .begin = Set<ReplySet>, .gather = GatherCopy},
    {.command = RedisCommand(0, "mset"), .parse = ParseMset,
     .fan_out = ToShardsOfPairs, .begin = SetMany, .gather = GatherOk},
    {.command = RedisCommand(0, "set"), .parse = ParseSet,
     .fan_out = ToKey, .begin = Set<ReplySet>, .gather = GatherCopy},
    {.command = RedisCommand(0, "setnx"), .parse = ParseSetnx,
     .fan_out = ToKey, .begin = Set<ReplySetnx>, .gather = GatherCopy},
};
// clang-format on

}  // namespace

std::span<const ShardCommand> WriteCommands() { return kWriteCommands; }

}  // namespace stout::blowfish
