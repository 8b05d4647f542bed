#include "blowfish/client/shard_write.h"

#include <optional>
#include <utility>

#include "blowfish/client/answers.h"
#include "blowfish/client/requests.h"
#include "resp/client/reply.h"

namespace stout::blowfish::client {

ShardWrite::ShardWrite(const WriteBatch& batch, std::shared_ptr<const Split> split,
                       std::size_t part)
    : commands(EncodeWrite(batch, split->items[part], split->shards[part])),
      bytes(commands.bytes().size()),
      alone(batch.alone),
      split(std::move(split)),
      part(part) {}

boost::asio::awaitable<std::vector<WriteResult>> Write(Connection& connection,
                                                       std::span<const ShardWrite* const> writes) {
  resp::Commands commands;
  for (const ShardWrite* write : writes) commands.Append(write->commands);
  const resp::Outcome outcome = co_await connection.Run(commands);
  const std::vector<WriteResult> unknown(writes.size(), {Errc::kUnknown, {}});
  if (outcome.errc != Errc::kOk) co_return unknown;
  std::vector<WriteResult> results;
  results.reserve(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const resp::Reply& reply = outcome.replies[i];
    if (reply.error()) {
      results.push_back({ErrorOf(reply), {}});
      continue;
    }
    std::optional<WriteResult> result =
        DecodeWrite(reply, writes[i]->split->items[writes[i]->part]);
    if (!result) {
      connection.Distrust();
      co_return unknown;
    }
    results.push_back(*std::move(result));
  }
  co_return results;
}

}  // namespace stout::blowfish::client
