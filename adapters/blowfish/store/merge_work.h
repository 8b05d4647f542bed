#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "blowfish/store/file_layers.h"
#include "blowfish/store/merge.h"
#include "blowfish/store/succinct_store.h"
#include "blowfish/store/suffix_store.h"
#include "stout/error.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// A file that a merge has written, opened.
struct MergedFile {
  std::string name;
  std::shared_ptr<SuccinctStore> store;
};

struct Merged {
  /// In the order of their keys, of which those of one list share none.
  std::vector<MergedFile> files;
  std::vector<MergedFile> swept;
};

/// Returns the memory that a merge takes, about: one byte per byte of values, 72 per record, and 12
/// per symbol. Before there are symbols, it is the memory that the choice of cuts takes. Measured
/// per byte of values: 3.2 for line items of TPC-H, 13 for random letters, 14 for 20 MB of random
/// bytes in values of 200; 20 for 16 MB in 16 values, 6.4 for 64 MB in 16.
[[nodiscard]] std::uint64_t EstimateMergeBytes(std::uint64_t records, std::uint64_t value_bytes,
                                               double symbols_per_byte);

/// Returns the memory of a merge that builds a text index, about: 12 bytes per byte of values, and
/// 72 per record.
[[nodiscard]] std::uint64_t EstimateTextMergeBytes(std::uint64_t records,
                                                   std::uint64_t value_bytes);

/// How much a merge reads, and what it makes of it.
struct MergeLoad {
  std::uint64_t records = 0;    ///< and tombstones
  std::uint64_t key_bytes = 0;  ///< See KeyDirectory::text_bytes().
  std::uint64_t value_bytes = 0;
  /// As in the files to merge. Without a file, there are assumed to be as many symbols as bytes.
  /// Values in blocks are expected to get no symbols again.
  double symbols_per_byte = 1;
  Encoding encoding = Encoding::kMeasured;

  [[nodiscard]] std::uint64_t bytes() const { return key_bytes + value_bytes; }
};
[[nodiscard]] MergeLoad LoadOf(const MergeInput& input, Encoding encoding);

/// Returns how many bytes of keys and values one file of such data may have, so that a merge takes
/// at most that memory, by the estimates above and two bytes per byte of keys. A file of a few
/// megabytes is always possible.
[[nodiscard]] std::uint64_t LargestFile(const MergeLoad& load, std::uint64_t memory);

/// A merge as a shard runs it in the background. It returns the files, opened, with `layers` layers
/// each. They are full, so that queries are as fast as before. If BlockLayers have no room for all
/// blocks, they begin with the first ones.
///
/// The old files keep their layers until they are replaced. So the new layers take memory of the
/// merge, `layer_memory`. A file gets fewer if there is not enough.
///
/// Cost: that of Merge(), and one more pass over the records if there are layers.
/// Threads: none of its own. The old files may be queried meanwhile, and their layers changed.
struct MergeWork {
  std::string directory;
  std::uint64_t sequence = 0;  ///< See RecordsName(); no file has it yet.
  Schema schema;
  MergeInput input;
  MergeInput sweep;     ///< Another merge that is done by the way.
  LayerNumbers layers;  ///< of each new file
  /// Maximum bytes of the new files that get layers, and of these layers.
  std::uint64_t layer_memory = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t forget_before_ms = 0;
  std::uint64_t max_file_bytes = kMaxValueBytes;
  Encoding encoding = Encoding::kMeasured;

  /// The estimate above of the largest file that may come of it.
  [[nodiscard]] std::uint64_t EstimateBytes() const;

  /// Errors: Merge()'s and SuccinctStore::Open()'s; the files are removed then.
  [[nodiscard]] Result<Merged> Run(const std::stop_token& stop, Diagnostics* diagnostics) const;

  // Opens files that it has written, with their layers. `memory` is what they may still take.
  [[nodiscard]] ErrorCode Open(std::vector<MergedFile>& files, std::uint64_t& memory,
                               const std::stop_token& stop, Diagnostics* diagnostics) const;
};

}  // namespace stout::blowfish
