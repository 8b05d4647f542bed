#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "resp/client/commands.h"
#include "resp/server/search_options.h"
#include "stout/core/batch.h"
#include "stout/core/types.h"

// The store's requests to a blowfish-server. Each is one command, whose answer answers.h reads.
// Numbers are decimal text; scopes, keys and values are any bytes.
namespace stout::blowfish::client {

using resp::Commands;

// The place of a scan, which goes through one shard after the other.
struct ScanPlace {
  LaneId shard = 0;
  std::optional<std::string> after{};  // nullopt: at the shard's first key

  // Returns nullopt for bytes that are no cursor of a store with this number of shards.
  [[nodiscard]] static std::optional<ScanPlace> Decode(std::string_view cursor, LaneId shards);
  [[nodiscard]] std::string Encode() const;
};

// STOUT.SHARDS
[[nodiscard]] Commands AskForShards();
// STOUT.WRITE shard scope epoch (PUT key version value | DEL key version)*
// Encodes the given items of the batch, which all belong to this shard.
[[nodiscard]] Commands EncodeWrite(const WriteBatch& batch, std::span<const std::uint32_t> items,
                                   LaneId shard);
// STOUT.READ shard key*, or STOUT.STAMPS shard key*; after STOUT.TAG tenant unless `tenant` is
// empty. The reply to STOUT.TAG does not matter: a node of an older version answers with an error.
[[nodiscard]] Commands EncodeRead(std::span<const std::string> keys,
                                  std::span<const std::uint32_t> items, LaneId shard,
                                  std::string_view tenant = {}, bool values = true);
// STOUT.SCAN shard limit VALUES|STAMPS [AFTER key]
[[nodiscard]] Commands EncodeScan(const ScanRequest& request, const ScanPlace& place);
// SCHEMA
[[nodiscard]] Commands AskForSchema();
// SEARCH attribute text [PREFIX] LIMIT limit, or GREP text LIMIT limit. Requires that the limit is
// at most resp::kMaxFound.
[[nodiscard]] Commands EncodeSearch(const SearchRequest& request);
// STOUT.EPOCH
[[nodiscard]] Commands EncodeNewEpoch();
// STOUT.FENCE scope epoch
[[nodiscard]] Commands EncodeFence(const Scope& scope, Epoch epoch);

}  // namespace stout::blowfish::client
