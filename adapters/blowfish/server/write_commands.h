#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "blowfish/store/shard.h"
#include "stout/core/batch.h"

namespace stout::blowfish {

/// A key and what it is set to; nothing: it is deleted.
struct PlainChange {
  std::string_view key;
  std::optional<std::string_view> value;
};

/// Stamps a batch of changes that came without stamps, as redis's commands do. Each gets the next
/// version of its key's epoch. All changes of a batch share the newest of their epochs. A client
/// that writes a key with stamps must not also write it without, because then neither side sees the
/// other's changes.
///
/// If a key appears twice, the last change wins. If a key has the largest version of the largest
/// epoch, the batch's epoch is above resp::kMaxStamp: it must not be written.
[[nodiscard]] WriteBatch StampBatch(const Shard& shard, std::span<const PlainChange> changes);

/// Shard::WillHaveRoom() for a batch of these.
[[nodiscard]] bool WillHaveRoom(const Shard& shard, std::span<const PlainChange> changes);

/// Reads STOUT.WRITE, see resp/store/store_commands.h, for the shard with this index in
/// [0, shards). Returns false with `error` if it is malformed, or has keys of other shards.
[[nodiscard]] bool ParseStoutWrite(std::span<const std::string_view> arguments, std::size_t number,
                                   std::size_t shards, WriteBatch& batch, std::string& error);

/// The answer to a client of redis's commands for a write that failed.
[[nodiscard]] std::string_view WriteError(Errc errc);

/// The answer for a command that has failed with this error, after a part of it was written.
[[nodiscard]] std::string ErrorOfRest(std::string_view error);

}  // namespace stout::blowfish
