#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stout/error.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// The list of a shard's files on disk. The manifest is one file, replaced whole: a start finds the
/// shard as it was before a compaction, or as it is after it.
struct ShardManifest {
  Schema schema;
  bool text_index = false;           ///< See ShardOptions.
  std::uint64_t shard = 0;           ///< Its number: what it finds in the log must be its own.
  std::vector<std::string> files;    ///< Names of its compressed files, the oldest first.
  std::uint64_t first_sequence = 0;  ///< first log file that is not in there

  friend bool operator==(const ShardManifest&, const ShardManifest&) = default;
};

/// The manifest's name in the directory of its shard.
inline constexpr const char* kManifestName = "manifest";

/// kCorrupt: the file was changed. kBadUrl: there is none, or of a newer version.
[[nodiscard]] Result<ShardManifest> ReadManifest(const std::string& directory,
                                                 Diagnostics* diagnostics = nullptr);

/// Durable, and in place of the one before, when it returns. Errors: IndexFileWriter's.
[[nodiscard]] ErrorCode WriteManifest(const std::string& directory, const ShardManifest& manifest,
                                      Diagnostics* diagnostics = nullptr);

}  // namespace stout::blowfish
