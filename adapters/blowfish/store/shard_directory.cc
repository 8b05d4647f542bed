#include "blowfish/store/shard_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

#include "blowfish/file/atomic_file.h"
#include "blowfish/file/file_error.h"
#include "blowfish/log/log_directory.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

Result<ShardManifest> MakeManifest(const std::string& directory, const ShardManifest& manifest,
                                   const std::vector<std::string>& names,
                                   Diagnostics* diagnostics) {
  const auto records = [](std::string_view name) { return name.ends_with(kRecordsSuffix); };
  // No log file is written before the manifest is durable.
  std::error_code unreadable;
  const std::string log = directory + "/" + kLogName;
  const bool logged = !std::filesystem::is_empty(log, unreadable) && !unreadable;
  if (logged || std::ranges::any_of(names, records)) {
    return Fail(Errc::kCorrupt,
                fmt::format("{}: there are records or a log, but no file '{}' that belongs to "
                            "them; restore it from a copy",
                            directory, kManifestName),
                diagnostics);
  }
  if (const ErrorCode failed = WriteManifest(directory, manifest, diagnostics)) return failed;
  return manifest;
}

}  // namespace

std::string RecordsName(std::uint64_t sequence, std::size_t number) {
  if (number == 0) return fmt::format("{:020}{}", sequence, kRecordsSuffix);
  return fmt::format("{:020}-{}{}", sequence, number, kRecordsSuffix);
}

ErrorCode SyncNames(const std::string& directory, Diagnostics* diagnostics) {
  if (SyncDirectory(directory)) return {};
  return FailedCall(directory, "make the names of its files durable", errno, diagnostics);
}

Result<ShardManifest> OpenManifest(const std::string& directory, const ShardManifest& if_new,
                                   Diagnostics* diagnostics) {
  const auto names = ListNames(directory);
  if (!names) return FailedCall(directory, "list", names.error().value(), diagnostics);
  if (std::ranges::find(*names, kManifestName) == names->end()) {
    return MakeManifest(directory, if_new, *names, diagnostics);
  }
  auto manifest = ReadManifest(directory, diagnostics);
  if (!manifest) return manifest.error();
  if (manifest->shard != if_new.shard) {
    return Fail(Errc::kBadOptions,
                fmt::format("{}: it is the directory of shard {}, not of shard {}; check the order "
                            "and the number of shards",
                            directory, manifest->shard, if_new.shard),
                diagnostics);
  }
  if (const ErrorCode failed = SyncNames(directory, diagnostics)) return failed;
  return manifest;
}

ErrorCode CheckLogThere(const std::string& directory, Diagnostics* diagnostics) {
  std::error_code failed;
  const std::string log = directory + "/" + kLogName;
  const std::string manifest = directory + "/" + kManifestName;
  if (!std::filesystem::exists(manifest, failed) || std::filesystem::exists(log, failed)) return {};
  return Fail(Errc::kCorrupt,
              fmt::format("{}: missing, with the newest writes; restore it from a copy", log),
              diagnostics);
}

ErrorCode RemoveStrays(const std::string& directory, const ShardManifest& manifest) {
  const auto names = ListNames(directory);
  if (!names) return names.error();
  ErrorCode failed;
  for (const std::string& name : *names) {
    const bool old = name.ends_with(kRecordsSuffix) &&
                     std::ranges::find(manifest.files, name) == manifest.files.end();
    const bool unfinished = name.find(kTemporaryMark) != std::string::npos;
    if (!old && !unfinished) continue;
    std::error_code error;
    std::filesystem::remove(fmt::format("{}/{}", directory, name), error);
    if (error) failed = ErrorCode(error.value(), boost::system::system_category());
  }
  return failed;
}

}  // namespace stout::blowfish
