#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "stout/unique_function.h"

namespace stout::blowfish::client {

// The answers to the parts of a call; with the last of them, `done` has all, in their order.
//
// Owner: shared by the parts.   Threads: any.
template <typename T>
class Parts {
 public:
  using Done = UniqueFunction<void(std::vector<T>)>;

  // One part at least, each of which is answered once.
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

}  // namespace stout::blowfish::client
