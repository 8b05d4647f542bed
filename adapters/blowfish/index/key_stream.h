#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/key_directory.h"

namespace stout::blowfish {

/// The keys of a directory one after the other, from a record on. Several streams can be read side
/// by side, which KeyDirectory::Scan() does not allow.
///
///     for (KeyStream keys(directory, 0); !keys.ended(); keys.Advance()) Use(keys.record(),
///     keys.key());
///
/// Cost: some keys are decoded at a time, for much less than AppendKey() takes for each.
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
  [[nodiscard]] std::string_view key() const { return keys_[at_]; }
  /// @}

  void Advance() {
    if (++at_ < decoded_) return;
    first_ += decoded_;
    Decode();
  }

 private:
  static constexpr std::size_t kAtOnce = 256;

  void Decode() {
    at_ = decoded_ = 0;
    if (first_ >= directory_.size()) return;
    directory_.Scan(first_, [this](std::uint64_t, std::string_view key) {
      keys_[decoded_] = key;  // Its memory is used again.
      return ++decoded_ < kAtOnce;
    });
  }

  const KeyDirectory& directory_;
  std::uint64_t first_;  // Record of keys_[0].
  std::size_t at_ = 0;
  std::size_t decoded_ = 0;
  std::vector<std::string> keys_{kAtOnce};
};

}  // namespace stout::blowfish
