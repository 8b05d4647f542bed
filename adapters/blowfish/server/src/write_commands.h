#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shard.h"
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
/// If a key appears twice, the last change wins.
[[nodiscard]] WriteBatch StampBatch(const Shard& shard, std::span<const PlainChange> changes);

/// Shard::WillHaveRoom() for a batch of these.
[[nodiscard]] bool WillHaveRoom(const Shard& shard, std::span<const PlainChange> changes);

/// Reads STOUT.WRITE shard scope epoch (PUT key version value | DEL key version)*
///
/// Returns false if it is malformed; then `error` has the problem. `number`: this shard's index, in
/// [0, shards).
[[nodiscard]] bool ParseStoutWrite(std::span<const std::string_view> arguments, std::size_t number,
                                   std::size_t shards, WriteBatch& batch, std::string& error);

/// The answer to the adapter for an outcome: "OK", "FENCED", ...
[[nodiscard]] std::string_view OutcomeName(Errc errc);

/// The answer to a client of redis's commands for a write that failed.
[[nodiscard]] std::string_view WriteError(Errc errc);

}  // namespace stout::blowfish
