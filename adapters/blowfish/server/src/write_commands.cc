#include "write_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <utility>

#include "log_format.h"
#include "resp/server/ascii.h"
#include "resp/server/integer.h"
#include "shard_of.h"

namespace stout::blowfish {
namespace {

WriteItem ItemOf(const PlainChange& change) {
  return {.key = std::string(change.key),
          .value = std::string(change.value.value_or("")),
          .kind = change.value ? WriteKind::kPut : WriteKind::kDelete};
}

// Reads an epoch or a version. It fits the integers of replies, and so does its successor.
std::optional<std::uint64_t> ParseStamp(std::string_view text) {
  const auto number = resp::ParseInteger(text);
  if (!number || *number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

}  // namespace

WriteBatch StampBatch(const Shard& shard, std::span<const PlainChange> changes) {
  WriteBatch batch;
  batch.items.reserve(changes.size());
  boost::unordered_flat_map<std::string_view, std::size_t, BytesHash> places;
  for (const PlainChange& change : changes) {
    WriteItem item = ItemOf(change);
    if (changes.size() > 1) {
      const auto [place, is_new] = places.try_emplace(change.key, batch.items.size());
      if (!is_new) {
        batch.items[place->second] = std::move(item);
        continue;
      }
    }
    batch.items.push_back(std::move(item));
  }

  std::vector<Stamp> stamps(batch.items.size());
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    stamps[i] = shard.NewestStamp(batch.items[i].key).value_or(Stamp());
    batch.epoch = std::max(batch.epoch, stamps[i].epoch);
  }
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    WriteItem& item = batch.items[i];
    item.version = stamps[i].epoch == batch.epoch ? stamps[i].version + 1 : 1;
    batch.bytes += item.key.size() + item.value.size();
  }
  return batch;
}

bool WillHaveRoom(const Shard& shard, std::span<const PlainChange> changes) {
  std::size_t bytes = MaxOperationBytes(0, 0);
  bool deletes_only = true;
  for (const PlainChange& change : changes) {
    bytes += MaxOperationBytes(change.key.size(), change.value.value_or("").size());
    deletes_only = deletes_only && !change.value;
  }
  return shard.WillHaveRoom(bytes, deletes_only);
}

bool ParseStoutWrite(std::span<const std::string_view> arguments, std::size_t number,
                     std::size_t shards, WriteBatch& batch, std::string& error) {
  const auto fail = [&](std::string why) {
    error = "ERR " + std::move(why);
    return false;
  };
  if (arguments.size() < 4) return fail("STOUT.WRITE shard scope epoch, then its changes");
  batch.scope = arguments[2];
  const auto epoch = ParseStamp(arguments[3]);
  if (!epoch) return fail("the epoch is not a number from 0 to 2^63 - 1");
  batch.epoch = *epoch;

  boost::unordered_flat_set<std::string_view, BytesHash> keys;
  for (std::size_t at = 4; at < arguments.size();) {
    const bool put = resp::EqualIgnoringCase(arguments[at], "PUT");
    const std::size_t words = put ? 4 : 3;
    if (!put && !resp::EqualIgnoringCase(arguments[at], "DEL"))
      return fail("a change is PUT key version value, or DEL key version");
    if (arguments.size() - at < words) return fail("the last change is cut off");
    const std::string_view key = arguments[at + 1];
    const auto version = ParseStamp(arguments[at + 2]);
    if (!version) return fail("a version is not a number from 0 to 2^63 - 1");
    if (ShardOf(key, shards) != number) {
      return fail(fmt::format("change {} belongs to shard {}, not {}", batch.items.size(),
                              ShardOf(key, shards), number));
    }
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

std::string_view OutcomeName(Errc errc) {
  switch (errc) {
    case Errc::kOk:
      return "OK";
    case Errc::kFenced:
      return "FENCED";
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

static_assert(kMaxPayloadBytes / 2 == std::size_t{1} << 30, "see kTooLarge below");

std::string_view WriteError(Errc errc) {
  switch (errc) {
    case Errc::kTransient:
      return "MISCONF Nothing was written, because the log cannot be written at present: try "
             "again, and see "
             "INFO persistence for the reason";
    case Errc::kUnknown:
      return "MISCONF The outcome of this write is unknown: the disk has failed";
    case Errc::kTooLarge:
      return "ERR the command changes more than 1 GiB of a shard: split it";
    case Errc::kFenced:
      return "FENCED The key belongs to a newer owner";
    default:
      return "ERR the key or value cannot be kept";
  }
}

}  // namespace stout::blowfish
