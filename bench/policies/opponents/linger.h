#pragma once

#include <algorithm>
#include <cstddef>

#include "stout/core/policy.h"

namespace stout::bench {

/// What a producer with linger, batch size and a bound on requests in flight does next: a batch
/// waits `linger` for company, one of `batch_bytes` does not wait.
///
/// Emulated from one answer to the next, which differs from the originals in two ways, both in
/// their favour where load is light: linger is the spacing of sends, not a delay of each first
/// change, so a change after a pause goes at once; and whether a full batch waits is known at the
/// answer, by the size of the items of the batch that was answered.
inline Decision Linger(Duration linger, std::size_t batch_bytes, std::size_t window,
                       const BatchSample& answered) {
  const std::size_t bytes = std::max<std::size_t>(answered.bytes, 1);
  const std::size_t full = std::max<std::size_t>(batch_bytes * answered.items / bytes, 1);
  return {.interval = answered.backlog >= full ? Duration::zero() : linger,
          .window = window,
          .max_items = full};
}

}  // namespace stout::bench
