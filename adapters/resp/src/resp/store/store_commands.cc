#include "resp/store/store_commands.h"

#include <fmt/format.h>

#include <boost/unordered/unordered_flat_set.hpp>
#include <functional>
#include <random>
#include <utility>

#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/integer.h"

namespace stout::resp {
namespace {

// Reads an epoch or a version.
std::optional<std::uint64_t> ParseStamp(std::string_view text) {
  const auto number = ParseUnsigned(text);
  return number && *number <= kMaxStamp ? number : std::nullopt;
}

// The reply begins with the length of a queue, and has this number of further elements.
void Begin(std::uint64_t queue, std::size_t elements, ReplyWriter& reply) {
  reply.ArrayHeader(1 + elements);
  reply.Integer(static_cast<std::int64_t>(queue));
}

}  // namespace

void ReplyFacts(const StoreFacts& facts, ReplyWriter& reply) {
  reply.MapHeader(facts.tombstone_life ? 9 : 8);
  reply.NamedInteger("version", 1);
  reply.NamedInteger("shards", static_cast<std::int64_t>(facts.shards));
  reply.NamedInteger("max-batch-items", static_cast<std::int64_t>(facts.batch.items));
  reply.NamedInteger("max-batch-bytes", static_cast<std::int64_t>(facts.batch.bytes));
  reply.NamedInteger("max-value", static_cast<std::int64_t>(facts.max_value));
  if (facts.tombstone_life) reply.NamedInteger("tombstone-ms", facts.tombstone_life->count());
  reply.NamedInteger("durable", facts.durable ? 1 : 0);
  reply.NamedInteger("stamps", 1);  // It has STOUT.STAMPS.
  reply.BulkString("data-id");
  reply.BulkString(facts.data_id);
}

std::string DrawDataId() {
  std::random_device random;
  std::string id;
  while (id.size() < kDataIdDigits) id += fmt::format("{:08x}", random());
  return id;
}

std::optional<std::size_t> ParseShard(const Command& command, Arguments arguments,
                                      std::size_t shards, std::string& error) {
  if (arguments.size() < 2) {
    error = WrongArityError(command.name);
    return std::nullopt;
  }
  const auto shard = ParseUnsigned(arguments[1]);
  if (shard && *shard < shards) return *shard;
  error = fmt::format("ERR no such shard; they are numbered from 0 to {}", shards - 1);
  return std::nullopt;
}

bool ParseStoutWrite(Arguments arguments, WriteBatch& batch, std::string& error) {
  const auto fail = [&](std::string why) {
    error = "ERR " + std::move(why);
    return false;
  };
  if (arguments.size() < 4) return fail("STOUT.WRITE shard scope epoch, then its changes");
  batch.scope = arguments[2];
  const auto epoch = ParseStamp(arguments[3]);
  if (!epoch) return fail("the epoch is not a number from 0 to 2^63 - 1");
  batch.epoch = *epoch;

  boost::unordered_flat_set<std::string_view, std::hash<std::string_view>> keys;
  for (std::size_t at = 4; at < arguments.size();) {
    const bool put = EqualIgnoringCase(arguments[at], "PUT");
    const std::size_t words = put ? 4 : 3;
    if (!put && !EqualIgnoringCase(arguments[at], "DEL"))
      return fail("a change is PUT key version value, or DEL key version");
    if (arguments.size() - at < words) return fail("the last change is cut off");
    const std::string_view key = arguments[at + 1];
    const auto version = ParseStamp(arguments[at + 2]);
    if (!version) return fail("a version is not a number from 0 to 2^63 - 1");
    if (!keys.insert(key).second)
      return fail(fmt::format("change {} has a key that appears twice", batch.items.size()));
    batch.items.push_back({.key = std::string(key),
                           .value = std::string(put ? arguments[at + 3] : ""),
                           .kind = put ? WriteKind::kPut : WriteKind::kDelete,
                           .version = *version});
    batch.bytes += key.size() + batch.items.back().value.size();
    at += words;
  }
  return true;
}

std::optional<StoutScan> ParseStoutScan(Arguments arguments) {
  if (arguments.size() != 4 && arguments.size() != 6) return std::nullopt;
  const auto limit = ParseUnsigned(arguments[2]);
  const bool values = EqualIgnoringCase(arguments[3], "VALUES");
  if (!limit || *limit == 0) return std::nullopt;
  if (!values && !EqualIgnoringCase(arguments[3], "STAMPS")) return std::nullopt;
  StoutScan scan{.limit = *limit, .values = values};
  if (arguments.size() == 6) {
    if (!EqualIgnoringCase(arguments[4], "AFTER")) return std::nullopt;
    scan.after = arguments[5];
  }
  return scan;
}

std::optional<Epoch> ParseStoutFence(Arguments arguments) {
  if (arguments.size() != 3) return std::nullopt;
  return ParseStamp(arguments[2]);
}

std::string_view OutcomeName(Errc errc) {
  switch (errc) {
    case Errc::kOk:
      return "OK";
    case Errc::kCorrupt:
      return "CORRUPT";
    case Errc::kFenced:
      return "FENCED";
    case Errc::kLost:
      return "LOST";
    case Errc::kTooLarge:
      return "TOOLARGE";
    case Errc::kTransient:
      return "TRANSIENT";
    case Errc::kUnknown:
      return "UNKNOWN";
    default:
      return "REFUSED";
  }
}

void ReplyWritten(std::uint64_t queue, const WriteResult& result, ReplyWriter& reply) {
  Begin(queue, 1 + 2 * result.items.size(), reply);
  reply.SimpleString(OutcomeName(result.batch));
  for (const ItemError& item : result.items) {
    reply.Integer(item.index);
    reply.SimpleString(OutcomeName(item.errc));
  }
}

void ReplyEpoch(std::uint64_t queue, Epoch epoch, ReplyWriter& reply) {
  if (epoch > kMaxStamp) return reply.Error("REFUSED all epochs to 2^63 - 1 are used");
  Begin(queue, 1, reply);
  reply.Integer(static_cast<std::int64_t>(epoch));
}

void ReplyFenced(std::uint64_t queue, Errc outcome, ReplyWriter& reply) {
  Begin(queue, 1, reply);
  reply.SimpleString(OutcomeName(outcome));
}

void ReplyState(Stamp stamp, std::optional<std::string_view> value, ReplyWriter& reply) {
  reply.ArrayHeader(3);
  reply.Integer(static_cast<std::int64_t>(stamp.epoch));
  reply.Integer(static_cast<std::int64_t>(stamp.version));
  value ? reply.BulkString(*value) : reply.Null();
}

}  // namespace stout::resp
