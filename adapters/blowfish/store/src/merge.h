#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "stout/error.h"
#include "succinct_store.h"
#include "suffix_store.h"

namespace stout::blowfish {

/// What a merge takes, and leaves behind.
struct MergeReport {
  std::uint64_t records = 0;     ///< Written.
  std::uint64_t replaced = 0;    ///< Of older stores, for a newer one has the key.
  std::uint64_t tombstones = 0;  ///< Written.
  std::uint64_t expired = 0;     ///< Tombstones older than their life.
};

/// Writes one SuccinctStore of all that some stores have: of each key what the newest of them has.
/// A tombstone stays until its life is over, for late writes to be compared with.
///
/// `newer`: from the oldest to the newest; `oldest` is older than all of them, and may be null.
/// Tombstones of before `forget_before_ms`, Unix time, are dropped.
/// Cost: one pass over all of them, and building the index.
/// Threads: none of its own; the stores may be queried meanwhile.
/// Errors: SuccinctStoreWriter's.
[[nodiscard]] Result<MergeReport> Merge(SuccinctStore* oldest,
                                        std::span<const std::shared_ptr<const SuffixStore>> newer,
                                        const Schema& schema, std::uint64_t forget_before_ms,
                                        const std::string& path,
                                        Diagnostics* diagnostics = nullptr);

}  // namespace stout::blowfish
