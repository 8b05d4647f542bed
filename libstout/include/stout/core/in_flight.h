#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "stout/core/types.h"

namespace stout::internal {

/// The attempts of a lane that the store has not yet answered, in the order of their sends. An
/// `Attempt` has an `id`, and ids ascend.
///
/// It is a vector whose first elements may be vacant. Most stores answer in order, and without
/// vacancies every answer would move all later attempts. A deque would allocate repeatedly.
///
/// Owner: a lane.   Threads: none of its own.
template <typename Attempt>
class InFlight {
 public:
  using Iterator = typename std::vector<Attempt>::iterator;
  using ConstIterator = typename std::vector<Attempt>::const_iterator;

  [[nodiscard]] std::size_t size() const { return attempts_.size() - vacant_; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] Iterator begin() { return attempts_.begin() + Vacant(); }
  [[nodiscard]] Iterator end() { return attempts_.end(); }
  [[nodiscard]] ConstIterator begin() const { return attempts_.begin() + Vacant(); }
  [[nodiscard]] ConstIterator end() const { return attempts_.end(); }
  [[nodiscard]] const Attempt& front() const { return *begin(); }
  [[nodiscard]] Attempt& back() { return attempts_.back(); }

  void push_back(Attempt&& attempt) {
    // It moves the elements only when more than half are vacant: once or twice per element.
    if (attempts_.size() == attempts_.capacity() && vacant_ > size()) {
      attempts_.erase(attempts_.begin(), begin());
      vacant_ = 0;
    }
    attempts_.push_back(std::move(attempt));
  }

  /// Returns end() if there is none.
  [[nodiscard]] Iterator Find(BatchId id) {
    const Iterator found =
        std::lower_bound(begin(), end(), id, [](const Attempt& a, BatchId b) { return a.id < b; });
    return found != end() && found->id == id ? found : end();
  }

  /// Removes and returns the attempt. Invalidates iterators.
  Attempt Take(Iterator at) {
    Attempt taken = std::move(*at);
    if (at - begin() < end() - at) {
      std::move_backward(begin(), at, at + 1);
      ++vacant_;
    } else {
      attempts_.erase(at);
    }
    if (empty()) clear();
    return taken;
  }

  void clear() {
    attempts_.clear();
    vacant_ = 0;
  }

 private:
  [[nodiscard]] std::ptrdiff_t Vacant() const { return static_cast<std::ptrdiff_t>(vacant_); }

  std::vector<Attempt> attempts_;
  std::size_t vacant_ = 0;
};

}  // namespace stout::internal
