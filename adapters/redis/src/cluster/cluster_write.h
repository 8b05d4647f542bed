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
  // If an answer is not of the shape that the commands answer in, its part is kUnknown, and
  // `*understood` becomes false.
  [[nodiscard]] WriteResult Result(const Layout& layout, bool* understood) const;

 private:
  const bool fenced_;
  std::vector<Request> requests_;
  std::vector<std::vector<std::uint32_t>> items_;  // Of each request.
};

}  // namespace stout::redis
