#include "blowfish/store/backup.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "blowfish/file/file_error.h"
#include "blowfish/log/log_directory.h"
#include "blowfish/log/log_format.h"
#include "blowfish/store/layer_file.h"
#include "blowfish/store/shard_directory.h"

namespace stout::blowfish {
namespace {

ErrorCode Link(const std::string& from, const std::string& to, Diagnostics* diagnostics) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  return FailedCall(to, "link", errno, diagnostics);
}

// A log file, or the mark of one, that is in the backup.
bool IsOfLog(std::string_view name, const ShardManifest& manifest, std::uint64_t through) {
  auto sequence = SequenceOf(name);
  if (!sequence) sequence = MarkedSequenceOf(name);
  return sequence && *sequence >= manifest.first_sequence && *sequence <= through;
}

}  // namespace

ErrorCode LinkShard(const std::string& from, const std::string& to, const ShardManifest& manifest,
                    std::uint64_t through, Diagnostics* diagnostics) {
  std::error_code unreadable;
  if (std::filesystem::exists(to, unreadable) || unreadable)
    return FailedCall(to, "create", unreadable ? unreadable.value() : EEXIST, diagnostics);
  const std::string log = to + "/" + kLogName;
  if (const ErrorCode failed = MakeDurably(log))
    return FailedCall(log, "create", failed.value(), diagnostics);

  if (!manifest.records.empty()) {
    const std::string name = "/" + manifest.records;
    if (const ErrorCode failed = Link(from + name, to + name, diagnostics)) return failed;
  }
  std::error_code failed_list;
  std::filesystem::directory_iterator entry(from + "/" + kLogName, failed_list);
  for (; !failed_list && entry != std::filesystem::directory_iterator();
       entry.increment(failed_list)) {
    const std::string name = entry->path().filename().string();
    if (!IsOfLog(name, manifest, through)) continue;
    if (const ErrorCode failed = Link(entry->path().string(), log + "/" + name, diagnostics))
      return failed;
  }
  if (failed_list)
    return FailedCall(from + "/" + kLogName, "list", failed_list.value(), diagnostics);
  // A hint, which a shard can lack.
  if (const std::size_t layers = ReadLayers(from); layers > 0)
    (void)WriteLayers(to, layers, nullptr);

  if (const ErrorCode failed = SyncNames(log, diagnostics)) return failed;
  // Last, and it makes the names beside it durable: what it names is there.
  return WriteManifest(to, manifest, diagnostics);
}

}  // namespace stout::blowfish
