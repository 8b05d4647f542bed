#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "blowfish/store/shard_manifest.h"
#include "stout/error.h"

namespace stout::blowfish {

/// A file of records in the directory of its shard ends so.
inline constexpr std::string_view kRecordsSuffix = ".records";

/// The name of a merge's file: by the first log file that is in none, and the number of the file
/// among those of the merge.
[[nodiscard]] std::string RecordsName(std::uint64_t sequence, std::size_t number);

/// The directory of the log in the directory of its shard.
inline constexpr const char* kLogName = "log";

/// kCorrupt: the shard has a manifest and no directory for its log, which is made before it. Called
/// before the log's directory is opened, because that makes it.
[[nodiscard]] ErrorCode CheckLogThere(const std::string& directory,
                                      Diagnostics* diagnostics = nullptr);

/// Returns the manifest in a directory, durable: the caller may remove files that it does not name.
/// If there is neither a manifest, nor records, nor log files, it is made to be `if_new`.
///
/// If its writer crashed before it learned that the manifest was durable, the manifest may or may
/// not exist. Therefore its name is made durable once more.
///
/// Errors: kCorrupt if there are records or log files, and no manifest; they are left as they are.
///   kBadOptions if it is the directory of another shard than if_new's. Otherwise those of
///   ReadManifest and WriteManifest.
[[nodiscard]] Result<ShardManifest> OpenManifest(const std::string& directory,
                                                 const ShardManifest& if_new,
                                                 Diagnostics* diagnostics = nullptr);

/// Makes the names in a directory durable.   Errors: FailedCall's.
[[nodiscard]] ErrorCode SyncNames(const std::string& directory, Diagnostics* diagnostics);

/// Removes files of records that the manifest does not name, and unfinished ones. Nobody writes
/// there meanwhile.   Errors: of the system; what is left then, the next call removes.
[[nodiscard]] ErrorCode RemoveStrays(const std::string& directory, const ShardManifest& manifest);

}  // namespace stout::blowfish
