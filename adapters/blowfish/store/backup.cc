#include "blowfish/store/backup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "blowfish/file/file_error.h"
#include "blowfish/log/log_format.h"
#include "blowfish/store/layer_file.h"
#include "blowfish/store/shard_directory.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

ErrorCode Link(const std::string& from, const std::string& to, Diagnostics* diagnostics) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  if (errno != EXDEV) return FailedCall(to, "link", errno, diagnostics);
  return Fail(Errc::kBadUrl,
              fmt::format("{}: cannot be a link to {}, which is on another file system; choose a "
                          "directory beside that of the server",
                          to, from),
              diagnostics);
}

// The header of a log file that exists.
Result<LogHeader> ReadHeader(LogDirectory& log, std::uint64_t sequence, Diagnostics* diagnostics) {
  const std::string name = LogFileName(sequence);
  const auto bytes = log.Read(name, kLogHeaderBytes);
  const auto header = bytes ? DecodeHeader(*bytes) : std::nullopt;
  if (header) return *header;
  return Fail(Errc::kTransient,
              fmt::format("{}/{}: cannot be read; see the system's log", log.path(), name),
              diagnostics);
}

// Which log file of the backup is the last, and how it ends: the next one's header has that.
struct LastFile {
  std::uint64_t sequence = 0;  // 0: the log is empty
  std::string mark;
};

Result<LastFile> FindLast(const BackupSource& source, Diagnostics* diagnostics) {
  const auto next = ReadHeader(source.log, source.through + 1, diagnostics);
  if (!next) return next.error();
  const LogPlace end = next->previous;
  if (end.sequence == 0 || end.sequence < source.manifest.first_sequence) return LastFile();
  const auto last = ReadHeader(source.log, end.sequence, diagnostics);
  if (!last) return last.error();
  return LastFile{end.sequence, EncodeHeader({next->shard, end.sequence + 1, end, last->nonce})};
}

ErrorCode WriteMark(LogDirectory& log, const LastFile& last, Diagnostics* diagnostics) {
  const std::string name = LogMarkName(last.sequence);
  auto mark = log.Create(name);
  ErrorCode failed = mark.has_value() ? ErrorCode() : mark.error();
  if (!failed) failed = WriteAll(**mark, 0, last.mark);
  if (!failed) failed = (*mark)->Sync();
  if (failed) return FailedCall(log.path() + "/" + name, "write", failed.value(), diagnostics);
  return {};
}

ErrorCode LinkLog(const BackupSource& source, const std::string& to, Diagnostics* diagnostics) {
  const auto last = FindLast(source, diagnostics);
  if (!last) return last.error();
  const auto names = source.log.List();
  if (!names) return FailedCall(source.log.path(), "list", names.error().value(), diagnostics);
  const auto log = OpenLogDirectory(to, diagnostics);  // It makes the directory.
  if (!log) return log.error();
  for (const std::string& name : *names) {
    const auto file = SequenceOf(name);
    const auto marked = MarkedSequenceOf(name);
    const std::uint64_t sequence = file.value_or(marked.value_or(0));
    if (sequence == 0 || sequence < source.manifest.first_sequence || sequence > last->sequence)
      continue;
    if (marked == last->sequence) continue;
    if (const auto failed = Link(fmt::format("{}/{}", source.log.path(), name),
                                 fmt::format("{}/{}", to, name), diagnostics))
      return failed;
  }
  if (last->sequence > 0) {
    if (const auto failed = WriteMark(**log, *last, diagnostics)) return failed;
  }
  if (const auto failed = (*log)->Sync())
    return FailedCall(to, "make the names of its files durable", failed.value(), diagnostics);
  return {};
}

}  // namespace

ErrorCode LinkShard(const BackupSource& source, const std::string& to, Diagnostics* diagnostics) {
  if (const auto failed = LinkLog(source, to + "/" + kLogName, diagnostics)) return failed;
  for (const std::string& name : source.manifest.files) {
    const auto failed = Link(fmt::format("{}/{}", source.directory, name),
                             fmt::format("{}/{}", to, name), diagnostics);
    if (failed) return failed;
  }
  // A hint, which a shard can lack. It is written in place, so it is not linked.
  if (const std::size_t layers = ReadLayers(source.directory); layers > 0)
    (void)WriteLayers(to, layers, nullptr);
  // The last one: what it names is there. It makes the names beside it durable, too.
  return WriteManifest(to, source.manifest, diagnostics);
}

}  // namespace stout::blowfish
