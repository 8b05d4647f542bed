#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

namespace stout::blowfish {

/// Text that is put together of many short pieces, each copied by one or two moves.
///
/// Owner: it owns the text.   Threads: one.
/// Errors: throws std::bad_alloc; also above its limit.
class TextBuffer {
 public:
  /// This number of bytes is copied for every short piece.
  static constexpr std::size_t kShort = 15;
  /// Larger buffers are not kept for the next text: a guess.
  static constexpr std::size_t kKept = std::size_t{1} << 20;

  TextBuffer() = default;
  /// No text of those that are to come is longer, unless something is wrong.
  explicit TextBuffer(std::uint64_t limit) : limit_(limit) {}

  /// `bytes` has kShort readable bytes, of which the first `size` count.
  void AppendShort(const char* bytes, std::size_t size) {
    Reserve(kShort);
    std::memcpy(text_.get() + size_, bytes, kShort);
    size_ += size;
  }
  void Append(std::string_view text) {
    if (text.empty()) return;  // There may be no memory yet.
    Reserve(text.size());
    std::memcpy(text_.get() + size_, text.data(), text.size());
    size_ += text.size();
  }

  void Append(char byte) {
    Reserve(1);
    text_[size_++] = byte;
  }

  /// Returns room for this number of further bytes, which the caller writes, in any order, until
  /// the next call.
  [[nodiscard]] char* Extend(std::size_t more) {
    Reserve(more);
    char* const at = text_.get() + size_;
    size_ += more;
    return at;
  }

  void Clear() { size_ = 0; }
  /// Clears it if it has room for more than kKept bytes, and frees that.
  void FreeIfLarge() {
    if (capacity_ > kKept) *this = TextBuffer(limit_);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view view() const { return {text_.get(), size_}; }

 private:
  void Reserve(std::size_t more) {
    if (capacity_ - size_ < more) Grow(more);
  }
  void Grow(std::size_t more) {
    if (size_ > limit_) throw std::bad_alloc();
    const std::size_t capacity = std::max({std::size_t{256}, 2 * capacity_, size_ + more});
    auto text = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(text.get(), text_.get(), size_);
    text_ = std::move(text);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> text_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::uint64_t limit_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace stout::blowfish
