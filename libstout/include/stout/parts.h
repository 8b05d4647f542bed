#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "stout/unique_function.h"

namespace stout::internal {

/// The answers to the parts of a call. After the last answer, `done` gets all of them, in order.
///
/// Owner: the parts share it.   Threads: any.
template <typename T>
class Parts {
 public:
  using Done = UniqueFunction<void(std::vector<T>)>;

  /// `parts` >= 1. Each part is answered once.
  Parts(std::size_t parts, Done done) : answers_(parts), left_(parts), done_(std::move(done)) {}

  void Answer(std::size_t part, T answer) {
    answers_[part] = std::move(answer);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_(std::move(answers_));
  }

 private:
  std::vector<T> answers_;
  std::atomic<std::size_t> left_;
  Done done_;
};

}  // namespace stout::internal
