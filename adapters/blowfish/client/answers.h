#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "resp/client/reply.h"
#include "stout/core/batch.h"
#include "stout/core/errc.h"
#include "stout/core/types.h"
#include "stout/schema.h"

// The meaning of the answers to requests.h. Those to STOUT commands begin with the number of
// requests at the shard, which only a read passes on. The functions return nullopt for a malformed
// answer.
namespace stout::blowfish::client {

using resp::Reply;

// The facts that a blowfish-server reports about itself.
struct ServerFacts {
  std::uint64_t version = 0;  // version of the commands
  LaneId shards = 0;          // 1..kMaxShards
  std::size_t max_batch_items = 0;
  std::size_t max_batch_bytes = 0;
  std::size_t max_value = SIZE_MAX;  // bytes of an argument; not told by older servers
  // Identifies the data: if it changes, acknowledged writes may be gone. Empty: an older server.
  std::string data_id{};
  bool durable = true;
  bool reads_stamps = false;                       // it has STOUT.STAMPS; older servers have not
  Duration tombstone_ttl = std::chrono::hours(1);  // that of older nodes, which do not tell it
  std::optional<Schema> schema{};  // of its values; nullopt: the server cannot search

  bool operator==(const ServerFacts&) const = default;
};

// The version of the commands that this is written for.
inline constexpr std::uint64_t kVersion = 1;
// More than a server has; each is a lane of an application. (A guess.)
inline constexpr LaneId kMaxShards = 65'536;

// Unknown names are skipped. If the version differs, only the version is read.
[[nodiscard]] std::optional<ServerFacts> DecodeShards(const Reply& reply);
[[nodiscard]] std::optional<Schema> DecodeSchema(const Reply& reply);
// `items`: places in the batch of those that were sent, which the result names.
[[nodiscard]] std::optional<WriteResult> DecodeWrite(const Reply& reply,
                                                     std::span<const std::uint32_t> items);
// One state for each key that was asked for, in that order.
[[nodiscard]] std::optional<ReadResult> DecodeRead(Reply reply, std::size_t keys);
// The keys of a page.
struct ScannedShard {
  bool more = false;  // The shard has further keys.
  std::vector<ScannedKey> keys{};
};
[[nodiscard]] std::optional<ScannedShard> DecodeScan(Reply reply);
[[nodiscard]] std::optional<SearchResult> DecodeSearch(Reply reply);
[[nodiscard]] std::optional<Epoch> DecodeNewEpoch(const Reply& reply);
[[nodiscard]] std::optional<Errc> DecodeFence(const Reply& reply);
// The outcome of a call that was answered with this error.
[[nodiscard]] Errc ErrorOf(const Reply& error);

}  // namespace stout::blowfish::client
