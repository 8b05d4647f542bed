#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "resp/client/commands.h"
#include "stout/core/batch.h"
#include "stout/core/types.h"

// The store's requests to a blowfish-server. Each is one command, whose answer answers.h reads.
// Numbers are decimal text; scopes, keys and values are any bytes.
namespace stout::blowfish::client {

using resp::Commands;

// STOUT.SHARDS
[[nodiscard]] Commands AskForShards();
// STOUT.WRITE shard scope epoch (PUT key version value | DEL key version)*
// Encodes the given items of the batch, which all belong to this shard.
[[nodiscard]] Commands EncodeWrite(const WriteBatch& batch, std::span<const std::uint32_t> items,
                                   LaneId shard);
// STOUT.READ shard key*
[[nodiscard]] Commands EncodeRead(std::span<const std::string> keys,
                                  std::span<const std::uint32_t> items, LaneId shard);
// STOUT.EPOCH
[[nodiscard]] Commands EncodeNewEpoch();
// STOUT.FENCE scope epoch
[[nodiscard]] Commands EncodeFence(const Scope& scope, Epoch epoch);

}  // namespace stout::blowfish::client
