#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "blowfish/client/connection.h"
#include "blowfish/client/split.h"
#include "resp/client/commands.h"
#include "stout/core/batch.h"

namespace stout::blowfish::client {

// The items of a batch that are in one shard, as they are sent.
struct ShardWrite {
  ShardWrite(const WriteBatch& batch, std::shared_ptr<const Split> split, std::size_t part);

  resp::Commands commands;  // one command
  std::size_t bytes;
  bool alone;  // as in the batch
  std::shared_ptr<const Split> split;
  std::size_t part;  // of the split
};

// Sends all in one round trip. Returns a result for each. After an answer of another shape than the
// command's, all are kUnknown.
[[nodiscard]] boost::asio::awaitable<std::vector<WriteResult>> Write(
    Connection& connection, std::span<const ShardWrite* const> writes);

}  // namespace stout::blowfish::client
