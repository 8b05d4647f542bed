#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "blowfish/index/schema.h"
#include "blowfish/store/merge.h"
#include "blowfish/store/succinct_store.h"
#include "blowfish/store/suffix_store.h"
#include "stout/error.h"

namespace stout::blowfish {

/// A merge's file, opened.
struct MergedStore {
  std::shared_ptr<SuccinctStore> store;
  std::string name;  ///< size of its file
  MergeReport report;
};

/// Returns the memory that a merge takes, about: one byte per byte of values, 72 per record, and 12
/// per symbol. Before there are symbols, it is the memory that the choice of cuts takes. Measured
/// per byte of values: 3.2 for line items of TPC-H, 13 for random letters, 14 for 20 MB of random
/// bytes in values of 200; 20 for 16 MB in 16 values, 6.4 for 64 MB in 16.
[[nodiscard]] std::uint64_t EstimateMergeBytes(std::uint64_t records, std::uint64_t value_bytes,
                                               double symbols_per_byte);

/// A merge as a shard runs it in the background. It returns the file, and an open store of it with
/// `layers` layers. They are full, so that queries are as fast as before.
///
/// Cost: that of Merge(), and one more pass over the records if there are layers. As long as the
/// old store lives, the layers exist twice.
/// Threads: none of its own. The old store may be queried meanwhile, and its layers changed.
struct MergeWork {
  std::string directory;
  std::string name;  ///< name of the new file, which no other file has
  Schema schema;
  std::shared_ptr<const SuccinctStore> oldest;            ///< May be null.
  std::vector<std::shared_ptr<const SuffixStore>> newer;  ///< The oldest first.
  std::size_t layers = 0;                                 ///< of the new store; see LayerLadder
  std::uint64_t forget_before_ms = 0;
  std::uint64_t max_value_bytes = kMaxValueBytes;

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
