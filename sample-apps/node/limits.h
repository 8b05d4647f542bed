#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

namespace stout::node {

/// Bytes that the replies to the commands of one batch of a connection may still take, whatever
/// part of the node makes them.
///
/// Threads: any.
class ReplyRoom {
 public:
  void Reset(std::size_t bytes) { left_ = bytes; }
  [[nodiscard]] std::size_t left() const { return left_; }
  /// Takes room for a string of this size and what is around it in a reply. Returns false, and
  /// takes nothing, if less is left.
  [[nodiscard]] bool Take(std::size_t bytes) {
    constexpr std::size_t kAround = 32;  // "$", the size, and the ends of two lines: at most 25
    bytes += kAround;
    std::size_t left = left_;
    while (left >= bytes) {
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    }
    return false;
  }

 private:
  std::atomic<std::size_t> left_ = 0;
};

inline constexpr std::string_view kRepliesTooLarge =
    "ERR the replies are larger than --max-replies: request less at a time";

/// Limits of what commands may make.
struct Limits {
  std::size_t max_value;  ///< bytes
  ReplyRoom& replies;     ///< for their values
};

}  // namespace stout::node
