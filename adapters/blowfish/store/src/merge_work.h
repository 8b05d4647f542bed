#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "merge.h"
#include "reclaim.h"
#include "schema.h"
#include "stout/error.h"
#include "succinct_store.h"
#include "suffix_store.h"

namespace stout::blowfish {

/// A merge's file, opened.
struct MergedStore {
  std::shared_ptr<SuccinctStore> store;
  std::string name;  ///< Of its file.
  MergeReport report;
};

/// Memory that a merge takes, about: a byte a byte of values, 72 a record, and 12 a symbol, or what
/// it takes to choose how values are cut, before there are symbols. Measured: 3.2 a byte for line
/// items of TPC-H, 13 for random letters, 14 for 20 MB of random bytes in values of 200; 20 for 16
/// MB in 16 values, 6.4 for 64 MB in 16.
[[nodiscard]] std::uint64_t EstimateMergeBytes(std::uint64_t records, std::uint64_t value_bytes,
                                               double symbols_per_byte);

/// A merge as a shard has it done in the background: the file, and a store of it that has as many
/// layers as the old one, full, so that whoever goes over to it is as fast as before.
///
/// Cost: Merge()'s, and one more pass over the records if there are layers. For as long as the old
/// store lives, the layers are there twice.
/// Owner: `domain` outlives it.   Threads: none of its own.
struct MergeWork {
  std::string directory;
  std::string name;  ///< Of the file to be; no other has it.
  Schema schema;
  std::shared_ptr<SuccinctStore> oldest;                  ///< May be null.
  std::vector<std::shared_ptr<const SuffixStore>> newer;  ///< The oldest first.
  std::uint64_t forget_before_ms = 0;
  std::uint64_t max_value_bytes = kMaxValueBytes;
  ReclaimDomain* domain = nullptr;

  /// How many symbols there will be, the oldest store tells; without one they are taken for as many
  /// as there are bytes.
  [[nodiscard]] double SymbolsPerByte() const;

  /// EstimateMergeBytes() of it.
  [[nodiscard]] std::uint64_t EstimateBytes() const;

  /// Errors: Merge()'s and SuccinctStore::Open()'s; the file is removed then.
  [[nodiscard]] Result<MergedStore> Run(const std::stop_token& stop,
                                        Diagnostics* diagnostics) const;
};

}  // namespace stout::blowfish
