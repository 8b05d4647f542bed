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
  /// Bytes around a string in a reply: "$", its size, and the ends of two lines. At most 25.
  static constexpr std::size_t kAround = 32;

  void Reset(std::size_t bytes) { left_ = size_ = bytes; }
  [[nodiscard]] std::size_t left() const { return left_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Takes room for a string of this size and what is around it in a reply. Returns the room that
  /// it took: 0 if less was left.
  [[nodiscard]] std::size_t Take(std::size_t bytes) {
    bytes += kAround;
    std::size_t left = left_;
    while (left >= bytes) {
      if (left_.compare_exchange_weak(left, left - bytes)) return bytes;
    }
    return 0;
  }
  /// Gives back room that was taken.
  void Return(std::size_t bytes) { left_ += bytes; }

 private:
  std::size_t size_ = 0;
  std::atomic<std::size_t> left_ = 0;
};

inline constexpr std::string_view kRepliesTooLarge =
    "ERR the replies are larger than --max-replies: request less at a time";
/// The owner's answer to another node. The commands of a batch from a node are of many clients.
inline constexpr std::string_view kNoRoomNow =
    "TRYAGAIN not done: the replies to others take the room";

/// Limits of what commands may make.
struct Limits {
  std::size_t max_value;  ///< bytes
  ReplyRoom& replies;     ///< for their values
};

}  // namespace stout::node
