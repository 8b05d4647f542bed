#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "batch.h"
#include "shard.h"

namespace stout::blowfish {

/// STOUT.SCAN shard limit VALUES|STAMPS [AFTER key]
struct StoutScan {
  std::size_t limit = 1;  ///< maximum number of keys; >= 1
  bool values = true;
  std::optional<std::string_view> after;  ///< nullopt: from the first key on

  friend bool operator==(const StoutScan&, const StoutScan&) = default;
};

/// Takes the whole command, and does not look at the shard. Returns nullopt if it is malformed.
[[nodiscard]] std::optional<StoutScan> ParseStoutScan(std::span<const std::string_view> arguments);

/// Answers [more, (key, [epoch, version, value or nil])...] in the byte order of the keys. `more`
/// is 0 at the end of the shard, and 1 before it. The value of a tombstone is nil. Without values,
/// any other value is empty.
///
/// A page has at most 1,000 keys, and 1 MiB of keys and values or one larger state: about ten
/// milliseconds of work.
void AnswerStoutScan(Shard& shard, Share& share, Piece& piece);

}  // namespace stout::blowfish
