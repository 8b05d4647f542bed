#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "blowfish/index/key_directory.h"

namespace stout::blowfish {

/// The keys of a directory one after the other, from a record on. Several streams can be read side
/// by side, which KeyDirectory::Scan() does not allow.
///
///     for (KeyStream keys(directory, 0); !keys.ended(); keys.Advance()) Use(keys.record(),
///     keys.key());
///
/// Cost: some keys are decoded at a time, for much less than AppendKey() takes for each.
/// Memory: 64 KiB of keys, or a single longer one.
/// Owner: the directory outlives it.   Threads: one at a time.
class KeyStream {
 public:
  KeyStream(const KeyDirectory& directory, std::uint64_t from)
      : directory_(directory), first_(from) {
    Decode();
  }

  [[nodiscard]] bool ended() const { return at_ == decoded_; }
  /// Both require that it has not ended. The view lasts until the next Advance().
  /// @{
  [[nodiscard]] std::uint64_t record() const { return first_ + at_; }
  [[nodiscard]] std::string_view key() const {
    const std::size_t begin = at_ == 0 ? 0 : ends_[at_ - 1];
    return std::string_view(keys_).substr(begin, ends_[at_] - begin);
  }
  /// @}

  void Advance() {
    if (++at_ < decoded_) return;
    first_ += decoded_;
    Decode();
  }

 private:
  static constexpr std::size_t kAtOnce = 256;
  static constexpr std::size_t kBytesAtOnce = std::size_t{64} << 10;

  void Decode() {
    at_ = decoded_ = 0;
    keys_.clear();
    if (keys_.capacity() > 2 * kBytesAtOnce) keys_.shrink_to_fit();
    if (first_ >= directory_.size()) return;
    directory_.Scan(first_, [this](std::uint64_t, std::string_view key) {
      if (decoded_ > 0 && keys_.size() + key.size() > kBytesAtOnce) return false;
      keys_ += key;
      ends_[decoded_] = keys_.size();
      return ++decoded_ < kAtOnce;
    });
  }

  const KeyDirectory& directory_;
  std::uint64_t first_;  // Record of keys_[0].
  std::size_t at_ = 0;
  std::size_t decoded_ = 0;
  std::string keys_;                       // one behind the other
  std::array<std::size_t, kAtOnce> ends_;  // in keys_
};

}  // namespace stout::blowfish
