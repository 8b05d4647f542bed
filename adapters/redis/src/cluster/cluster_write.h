#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  // Returns true if the reply of one of the requests has the shape of its commands' answers.
  [[nodiscard]] bool IsAnswer(const Layout& layout, const Request& request) const;
  // Returns the result of the batch, once the requests have been dispatched.
  [[nodiscard]] WriteResult Result(const Layout& layout) const;

 private:
  // Returns the result of a request if its reply has the right shape.
  [[nodiscard]] std::optional<WriteResult> Decode(const Layout& layout, std::size_t request) const;

  const bool fenced_;
  std::vector<Request> requests_;
  std::vector<std::vector<std::uint32_t>> items_;  // items of each request
};

}  // namespace stout::redis
