#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace stout::blowfish {

/// Keeps copies of byte strings until it goes itself, densely and in place: views of them stay
/// valid.
///
/// Space: the bytes, and at most a quarter of a chunk wasted at the end of each.
class LogArena {
 public:
  [[nodiscard]] std::string_view Copy(std::string_view bytes) {
    if (bytes.empty()) return {};
    char* const at = Allocate(bytes.size());
    std::memcpy(at, bytes.data(), bytes.size());
    return {at, bytes.size()};
  }

  /// Memory in use, with what is not filled yet.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

  char* Allocate(std::size_t size) {
    if (size > kChunkBytes / 4) return NewChunk(size);  // Its own, and the open one stays open.
    if (size > left_) {
      at_ = NewChunk(kChunkBytes);
      left_ = kChunkBytes;
    }
    left_ -= size;
    at_ += size;
    return at_ - size;
  }
  char* NewChunk(std::size_t size) {
    bytes_ += size;
    return chunks_.emplace_back(std::make_unique_for_overwrite<char[]>(size)).get();
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* at_ = nullptr;  // The free part of the open chunk.
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace stout::blowfish
