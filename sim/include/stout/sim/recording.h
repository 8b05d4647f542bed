#pragma once

#include <cstdint>
#include <deque>

#include "stout/core/types.h"

namespace stout::sim {

/// One change that an application made.
struct RecordedChange {
  Duration at{};          ///< since the start of the recording
  std::uint64_t key = 0;  ///< a hash of the key's text

  bool operator==(const RecordedChange&) const = default;
};

/// The changes of a real load. A run repeats them if it is longer than Length().
struct Recording {
  /// In order of time. A deque, because a vector would take twice the memory while it grows.
  std::deque<RecordedChange> changes;
  /// False: only the times are known, and clients draw the keys.
  bool has_keys = true;

  /// Returns the time from the start to a mean gap after the last change, at least 1 us. Requires a
  /// change.
  [[nodiscard]] Duration Length() const;
};

}  // namespace stout::sim
