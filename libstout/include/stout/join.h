#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::internal {

/// Calls `done` after `parts` calls of Finish, with the first error if there is one. If `parts` is
/// zero, `done` is called at once. Threads: any thread may call Finish.
class Join {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;

  static std::shared_ptr<Join> Of(std::size_t parts, Done done) {
    auto join = std::make_shared<Join>(parts, std::move(done));
    if (parts == 0) join->done_({});
    return join;
  }
  Join(std::size_t parts, Done done) : left_(parts), done_(std::move(done)) {}

  void Finish(ErrorCode ec) {
    if (ec && !failed_.test_and_set()) first_error_ = ec;
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_(first_error_);
  }

 private:
  std::atomic<std::size_t> left_;
  std::atomic_flag failed_;
  ErrorCode first_error_;  // written once, before the writer's own fetch_sub
  Done done_;
};

}  // namespace stout::internal
