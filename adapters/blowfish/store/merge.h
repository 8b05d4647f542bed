#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "blowfish/store/succinct_store.h"
#include "blowfish/store/succinct_store_writer.h"
#include "blowfish/store/suffix_store.h"
#include "stout/error.h"

namespace stout::blowfish {

/// The input of a merge, and the records that it drops.
struct MergeReport {
  std::uint64_t records = 0;     ///< Written.
  std::uint64_t replaced = 0;    ///< records of older stores, because a newer one has the key
  std::uint64_t tombstones = 0;  ///< Written.
  std::uint64_t expired = 0;     ///< Tombstones older than their life.
};

struct MergeOptions {
  /// Tombstones of before, Unix time, are dropped.
  std::uint64_t forget_before_ms = 0;
  /// Bytes of the values that survive; see SuccinctStoreWriter.
  std::uint64_t max_value_bytes = kMaxValueBytes;
  /// Asks it to end early. It is looked at a record, and in most loops of building the index; what
  /// is left takes a second where there are hundreds of megabytes.
  std::stop_token stop;
};

/// Writes one SuccinctStore of all that some stores have: of each key what the newest of them has.
/// A tombstone stays until its life is over, for late writes to be compared with.
///
/// `newer`: from the oldest to the newest; `oldest` is older than all of them, and may be null.
/// Cost: one pass over all of them, and building the index.
/// Threads: none of its own. Owners may query the stores meanwhile, and change their layers: a
/// merge reads no layers. Errors: SuccinctStoreWriter's: kTooLarge as soon as that is plain.
/// kTransient, too, if it was asked to stop. There is no file then, unless an older one had its
/// name.
[[nodiscard]] Result<MergeReport> Merge(const SuccinctStore* oldest,
                                        std::span<const std::shared_ptr<const SuffixStore>> newer,
                                        const Schema& schema, const std::string& path,
                                        const MergeOptions& options,
                                        Diagnostics* diagnostics = nullptr);

}  // namespace stout::blowfish
