#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/types.h"

namespace stout::bench {

/// The documents of one application server: their keys, and values that never compress, as if every
/// change brought new content.
///
/// Owner: value type.   Threads: none of its own.
class Documents {
 public:
  /// `server` distinguishes its keys from those of other servers.
  Documents(std::size_t server, std::size_t count, std::size_t value_bytes, std::uint64_t seed);

  [[nodiscard]] std::size_t count() const { return keys_.size(); }
  [[nodiscard]] KeyView key(std::size_t document) const { return keys_[document]; }
  [[nodiscard]] std::size_t value_bytes() const { return value_bytes_; }

  /// Valid as long as this object.
  [[nodiscard]] std::string_view NextValue();

 private:
  std::size_t value_bytes_;
  std::vector<std::string> keys_;
  std::string filler_;  // of which a value is some part
  std::size_t offset_ = 0;
};

}  // namespace stout::bench
