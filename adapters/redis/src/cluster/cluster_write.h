#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster/dispatch.h"
#include "layout.h"
#include "stout/adapters/redis_options.h"
#include "stout/core/batch.h"

namespace stout::redis {

// A batch as requests, one for each slot (with kPlain two: its puts and its deletes). It does not
// need the batch any more.
class ClusterWrite {
 public:
  ClusterWrite(const WriteBatch& batch, const Layout& layout, RedisMode mode);

  [[nodiscard]] std::span<Request> requests() { return requests_; }
  // Of the batch, once the requests have been dispatched.
  [[nodiscard]] WriteResult Result() const;

 private:
  std::vector<Request> requests_;
  std::vector<std::vector<std::uint32_t>> items_;  // Of each request.
};

}  // namespace stout::redis
