#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stout::node {

/// The number of keys when all were last counted, because a count costs a pass over the store.
///
/// Threads: any.
class KeyCount {
 public:
  void Set(std::int64_t keys) {
    keys_ = keys;
    counted_at_ = std::chrono::system_clock::now().time_since_epoch();
  }

  /// Negative: they have not been counted yet.
  [[nodiscard]] std::int64_t keys() const { return keys_; }
  /// Unix time.
  [[nodiscard]] std::chrono::duration<double> counted_at() const { return counted_at_.load(); }

 private:
  std::atomic<std::int64_t> keys_ = -1;
  std::atomic<std::chrono::system_clock::duration> counted_at_{};
};

}  // namespace stout::node
