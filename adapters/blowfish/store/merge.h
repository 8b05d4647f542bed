#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "blowfish/store/hidden_records.h"
#include "blowfish/store/succinct_store.h"
#include "blowfish/store/succinct_store_writer.h"
#include "blowfish/store/suffix_store.h"
#include "stout/error.h"

namespace stout::blowfish {

struct FileToMerge {
  std::shared_ptr<const SuccinctStore> store;
  HiddenRecords hidden;  ///< Records that are left out. Default: none.
};

/// The stores that a merge reads. Each list is from the oldest to the newest, and may be empty.
struct MergeInput {
  std::vector<FileToMerge> files;
  std::vector<std::shared_ptr<const SuffixStore>> newer;  ///< than the files
  /// Files that are older than all of these and stay as they are.
  std::vector<std::shared_ptr<const SuccinctStore>> older;
};

struct MergeOptions {
  /// Tombstones of before, Unix time, are dropped, unless an older file has the key.
  std::uint64_t forget_before_ms = 0;
  /// Bytes of keys and values in one file, unless it has a single one; see
  /// SuccinctStoreWriter::HasRoomFor().
  std::uint64_t max_file_bytes = kMaxValueBytes;
  Encoding encoding = Encoding::kMeasured;
  /// Asks it to end early. It is looked at a record, and in most loops of building the index; what
  /// is left takes a second where there are hundreds of megabytes.
  std::stop_token stop;
};

/// Writes new files of all that some stores have: of each key what the newest of them has. The keys
/// of each file are before those of the next. If nothing is left there is no file.
///
/// A tombstone stays until its life is over, for late writes to be compared with. It also stays as
/// long as an older file has the key, because it hides what is there.
///
/// `next_path` names each file when it is begun.
/// Cost: one pass over all of them, and building the index of each file.   Memory: that of one
///   file at a time.
/// Threads: none of its own. Owners may query the stores meanwhile, and change their layers: a
///   merge reads no layers.
/// Errors: SuccinctStoreWriter's. kTransient, too, if it was asked to stop. The last file does not
///   exist then, unless an older one had its name.
[[nodiscard]] ErrorCode Merge(const MergeInput& input, const Schema& schema,
                              const std::function<std::string()>& next_path,
                              const MergeOptions& options, Diagnostics* diagnostics = nullptr);

}  // namespace stout::blowfish
