#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace stout::resp {

/// Keeps the lists of arguments of the commands of a batch, in place, until it is cleared.
class Words {
 public:
  [[nodiscard]] std::span<const std::string_view> Keep(std::span<const std::string_view> words) {
    if (chunks_.empty() || chunks_.back().capacity() - chunks_.back().size() < words.size())
      chunks_.emplace_back().reserve(std::max(kChunk, words.size()));
    Chunk& chunk = chunks_.back();
    chunk.insert(chunk.end(), words.begin(), words.end());
    return std::span(chunk).last(words.size());
  }

  /// Keeps only the memory that small batches need.
  void Clear() {
    if (chunks_.empty()) return;
    chunks_.resize(1);
    if (chunks_.front().capacity() > kChunk)
      chunks_.clear();
    else
      chunks_.front().clear();
  }

 private:
  using Chunk = std::vector<std::string_view>;
  static constexpr std::size_t kChunk = 1024;

  std::vector<Chunk> chunks_;  // None ever grows beyond its capacity.
};

}  // namespace stout::resp
