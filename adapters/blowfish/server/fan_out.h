#pragma once

#include <cstddef>

#include "blowfish/index/shard_of.h"
#include "blowfish/server/batch.h"
#include "resp/server/integer.h"

namespace stout::blowfish {

/// Makes the subrequests of a batch's last request.
class FanOut {
 public:
  explicit FanOut(Batch& batch) : request(batch.requests.back()), batch_(batch) {}

  const Request& request;

  [[nodiscard]] std::size_t shards() const { return batch_.parts.size(); }
  [[nodiscard]] std::size_t ShardOf(std::size_t argument) const {
    return blowfish::ShardOf(request.arguments[argument], shards());
  }
  Subrequest& ToShard(std::size_t shard, std::size_t argument = 0) {
    return batch_.Add(shard, argument);
  }

 private:
  Batch& batch_;
};

/// To the shard of the key that is the first argument.
inline void ToKey(FanOut& out) { out.ToShard(out.ShardOf(1), 1); }

/// For each key to its shard. All arguments from `kFirst` on are keys.
template <std::size_t kFirst = 1>
void ToEachKey(FanOut& out) {
  for (std::size_t i = kFirst; i < out.request.arguments.size(); ++i)
    out.ToShard(out.ShardOf(i), i);
}

inline void ToAllShards(FanOut& out) {
  for (std::size_t shard = 0; shard < out.shards(); ++shard) out.ToShard(shard);
}

/// To the shard whose number is the first argument. Requires that it was parsed.
inline void ToNamedShard(FanOut& out) {
  out.ToShard(*resp::ParseUnsigned(out.request.arguments[1]));
}

}  // namespace stout::blowfish
