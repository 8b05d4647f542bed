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

/// A batch of changes that came without stamps, as redis's commands do: each gets the next version
/// of the epoch that its key has. All of a batch share the newest of their epochs. Who writes a key
/// with stamps besides should not write it so, for then neither knows what the other does.
///
/// Of a key that stands twice the last change counts.
[[nodiscard]] WriteBatch StampBatch(const Shard& shard, std::span<const PlainChange> changes);

/// Shard::WillHaveRoom() for a batch of these.
[[nodiscard]] bool WillHaveRoom(const Shard& shard, std::span<const PlainChange> changes);

/// STOUT.WRITE shard scope epoch (PUT key version value | DEL key version)*
/// False: `error` says what is wrong with it. `number`: of this shard, of so many.
[[nodiscard]] bool ParseStoutWrite(std::span<const std::string_view> arguments, std::size_t number,
                                   std::size_t shards, WriteBatch& batch, std::string& error);

/// What the adapter is told of an outcome: "OK", "FENCED", ...
[[nodiscard]] std::string_view OutcomeName(Errc errc);

/// What a client of redis's commands is told of a write that did not succeed.
[[nodiscard]] std::string_view WriteError(Errc errc);

}  // namespace stout::blowfish
