#pragma once

#include <cstddef>

namespace stout::inline v1 {

/// The start of a server: a few long cycles. If a whole fleet starts at once, the queue drains
/// during these cycles. Otherwise no server would see the latency of an idle store.
///
/// Units: seconds.   Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class PoliteStart {
 public:
  /// Begins with the first answer. `answers`: the start ends after this number of answers.
  void Begin(double latency, std::size_t answers);
  /// Takes an answer; `small`: the batch had at most two items. Returns true if the start is over.
  bool Observe(double latency, bool small);
  void End() { left_ = 0; }

  [[nodiscard]] bool active() const { return left_ > 0; }

  bool operator==(const PoliteStart&) const = default;

 private:
  std::size_t answers_ = 0;
  std::size_t left_ = 0;   // answers until the end
  std::size_t whole_ = 0;  // answers of batches that were not small
  double least_ = 0;       // smallest latency
  double last_ = 0;        // newest latency
};

}  // namespace stout::inline v1
