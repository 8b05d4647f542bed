#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stout::bench::shard {

/// A blowfish-server's figures of one of its shards.
struct ShardFigures {
  std::uint64_t keys = 0;
  std::uint64_t compressed_bytes = 0;
  std::uint64_t queue = 0;  ///< Requests that wait.
  std::uint64_t layers = 0;
  std::uint64_t layer_bytes = 0;

  friend bool operator==(const ShardFigures&, const ShardFigures&) = default;
};

/// Reads the answer to `INFO shards`. Another server has none; figures that it does not tell are 0.
[[nodiscard]] std::vector<ShardFigures> ParseShardFigures(std::string_view info);

}  // namespace stout::bench::shard
