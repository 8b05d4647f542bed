#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stout::blowfish {

/// The first keys, up to a given number and size, of those that are offered, in byte order.
///
/// Space: those keys.   Cost: of a key that is not among them, a comparison.
/// Threads: none of its own; callers serialise.
class FirstKeys {
 public:
  /// Deleted or replaced keys of a store that a page of keys passes over before EndAt(): about a
  /// millisecond of work. Each store counts its own. Otherwise, once one store has passed them, the
  /// next store would end the page at its first such key.
  static constexpr std::size_t kMaxPassed = 10'000;

  /// `max_bytes`: maximum bytes of the keys and their std::string objects. The first key is taken
  /// whatever its size.
  explicit FirstKeys(std::size_t count, std::size_t max_bytes = SIZE_MAX)
      : count_(count), max_bytes_(max_bytes) {}

  /// A key that was not offered before. False: neither it nor any key behind it is among the first,
  /// so a caller that offers keys in order can stop.
  bool Offer(std::string_view key) {
    if (IsBeyond(key)) return false;
    if (keys_.size() == count_) {
      std::ranges::pop_heap(keys_);
      bytes_ -= SizeOf(keys_.back());
      keys_.back() = key;
    } else {
      keys_.emplace_back(key);
    }
    bytes_ += SizeOf(key);
    std::ranges::push_heap(keys_);
    while (bytes_ > max_bytes_ && keys_.size() > 1) {
      cut_ = keys_.front();
      RemoveLast();
    }
    return !IsBeyond(key);
  }

  /// No key behind this one is among the first from now on.
  void EndAt(std::string_view key) {
    end_ = key;
    while (!keys_.empty() && keys_.front() > key) RemoveLast();
  }

  /// Returns true if neither this key nor any key behind it would be among the first.
  [[nodiscard]] bool IsBeyond(std::string_view key) const {
    return (end_ && key > *end_) || (cut_ && key >= *cut_) ||
           (keys_.size() == count_ && (count_ == 0 || key > keys_.front()));
  }

  /// Returns the key behind which there may be more keys, or nullopt if all are among the first.
  [[nodiscard]] std::optional<std::string> end() const {
    return !keys_.empty() && (cut_ || keys_.size() == count_) ? keys_.front() : end_;
  }

  /// In order. It is of no more use then.
  [[nodiscard]] std::vector<std::string> Take() {
    std::ranges::sort_heap(keys_);
    return std::move(keys_);
  }

 private:
  [[nodiscard]] static std::size_t SizeOf(std::string_view key) {
    return sizeof(std::string) + key.size();
  }
  void RemoveLast() {
    std::ranges::pop_heap(keys_);
    bytes_ -= SizeOf(keys_.back());
    keys_.pop_back();
  }

  const std::size_t count_;
  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::optional<std::string> end_;
  std::optional<std::string> cut_;  // The first key for which there was no room.
  std::vector<std::string> keys_;   // A heap: the last one in front.
};

}  // namespace stout::blowfish
