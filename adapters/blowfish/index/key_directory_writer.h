#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/front_coded_keys.h"
#include "blowfish/index/key_numbering.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Writes a KeyDirectory from keys that come in strictly ascending byte order.
///
/// Memory: the keys front coded, and their numbers where these are smaller.   Cost: some
/// nanoseconds a byte.   Owner: movable.   Threads: none of its own; callers serialise.
class KeyDirectoryWriter {
 public:
  KeyDirectoryWriter() = default;

  void Append(std::string_view key);

  [[nodiscard]] std::uint64_t size() const { return front_coded_.size(); }
  /// Bytes of the keys until now, front coded.
  [[nodiscard]] std::uint64_t text_bytes() const { return front_coded_.text_bytes(); }

  /// Returns the directory, without padding. The writer cannot be used afterwards. Errors:
  /// kBadOptions if a key was not in order, or came twice. That is the caller's mistake, and is
  /// reported here once for all keys.
  [[nodiscard]] Result<std::vector<std::byte>> Finish();

 private:
  void NoteBytes(std::string_view key);

  bool disordered_ = false;
  std::string first_;
  std::string last_;
  FrontCodedKeysWriter front_coded_;

  // For a numbering: what keys have at each position, and their lengths.
  std::vector<KeyNumbering::Alphabet> alphabets_;
  std::uint64_t shortest_ = 0;
  std::uint64_t longest_ = 0;
};

}  // namespace stout::blowfish
