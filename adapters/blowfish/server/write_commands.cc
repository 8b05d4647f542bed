#include "blowfish/server/write_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "blowfish/index/shard_of.h"
#include "blowfish/log/log_format.h"
#include "resp/store/store_commands.h"

namespace stout::blowfish {
namespace {

WriteItem ItemOf(const PlainChange& change) {
  return {.key = std::string(change.key),
          .value = std::string(change.value.value_or("")),
          .kind = change.value ? WriteKind::kPut : WriteKind::kDelete};
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
    // A version without a successor is followed by another epoch.
    const bool last = stamps[i].version >= resp::kMaxStamp;
    batch.epoch = std::max(batch.epoch, stamps[i].epoch + (last ? 1 : 0));
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
  if (!resp::ParseStoutWrite(arguments, batch, error)) return false;
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const std::size_t shard = ShardOf(batch.items[i].key, shards);
    if (shard == number) continue;
    error = fmt::format("ERR change {} belongs to shard {}, not {}", i, shard, number);
    return false;
  }
  return true;
}

static_assert(kMaxPayloadBytes / 2 == std::size_t{1} << 30, "see kTooLarge below");

std::string_view WriteError(Errc errc) {
  switch (errc) {
    case Errc::kTransient:
      return "MISCONF Nothing was written, because the log cannot be written at present: try "
             "again, and see INFO persistence for the reason";
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

std::string ErrorOfRest(std::string_view error) {
  constexpr std::string_view kNothing = "Nothing was";
  std::string text(error);
  const std::size_t at = text.find(kNothing);
  if (at != text.npos) return text.replace(at, kNothing.size(), "Only a part was");
  return text + "; only a part was written";
}

}  // namespace stout::blowfish
