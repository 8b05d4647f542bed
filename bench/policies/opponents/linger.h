#pragma once

#include <algorithm>
#include <cstddef>

#include "stout/core/policy.h"

namespace stout::bench {

/// Decides for a producer with linger, batch size and a bound on requests in flight. A batch waits
/// `linger` for further items, except a batch of `batch_bytes`, which does not wait.
///
/// The emulation runs from one answer to the next. It differs from the originals in two ways, both
/// in their favour under light load:
/// - Linger is the spacing of sends, not a delay of each first change. A change after a pause is
///   sent at once.
/// - The decision whether a full batch waits is made at the answer, by the item size of the
///   answered batch.
inline Decision Linger(Duration linger, std::size_t batch_bytes, std::size_t window,
                       const BatchSample& answered) {
  const std::size_t bytes = std::max<std::size_t>(answered.bytes, 1);
  const std::size_t full = std::max<std::size_t>(batch_bytes * answered.items / bytes, 1);
  return {.interval = answered.backlog >= full ? Duration::zero() : linger,
          .window = window,
          .max_items = full};
}

}  // namespace stout::bench
