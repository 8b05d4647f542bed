// STOUT.BACKUP and STOUT.COPY: a copy of all shards, by hard links.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>

#include "blowfish/file/atomic_file.h"
#include "blowfish/file/file_error.h"
#include "blowfish/server/copied_files.h"
#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/open_shards.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/work.h"
#include "blowfish/store/shard_directory.h"
#include "resp/server/command_errors.h"
#include "resp/server/integer.h"

namespace stout::blowfish {
namespace {

namespace fs = std::filesystem;

// Returns true if the path is the directory or in it, also by symbolic links. Returns false
// if the directory cannot be read.
bool IsIn(const fs::path& path, std::string_view directory) {
  std::error_code unreadable;
  const fs::path of = fs::weakly_canonical(directory, unreadable);
  const fs::path in = fs::weakly_canonical(path, unreadable);
  const auto [rest, unused] = std::mismatch(of.begin(), of.end(), in.begin(), in.end());
  return !of.empty() && rest == of.end();
}

std::string WhyNot(std::string_view directory, std::string_view of_server) {
  const fs::path path = directory;
  const bool printable =
      std::ranges::all_of(directory, [](unsigned char c) { return c >= ' ' && c != 0x7f; });
  if (!printable || !path.is_absolute() || path.lexically_normal() != path || !path.has_filename())
    return "ERR STOUT.BACKUP DIR: needs an absolute path without '.', '..' and a '/' at the end";
  if (!of_server.empty() && IsIn(path, of_server))
    return fmt::format("ERR {}: is in the directory of the server; name another", directory);
  std::error_code unreadable;
  if (fs::exists(path, unreadable))
    return fmt::format("ERR {}: exists; name a new directory", directory);
  return {};
}

// The directory gets its name when it is whole. Until then only this command knows it.
void ParseBackup(Request& request, const ParseContext& context) {
  const std::string_view directory = request.arguments[1];
  request.error = WhyNot(directory, context.directory);
  if (!request.error.empty()) return;
  std::string temporary = fmt::format("{}{}XXXXXX", directory, kTemporaryMark);
  if (::mkdtemp(temporary.data()) == nullptr) {
    Diagnostics why;
    (void)FailedCall(temporary, "create", errno, &why);
    request.error = "ERR " + why.message;
    return;
  }
  request.parsed = BackupTarget(std::move(temporary));
}

Step BackUp(Work& work) {
  const std::string& directory = work.As<BackupTarget>().temporary();
  work.Count([&] {
    work.shard().BackUp(ShardPath(directory, work.shard_number()),
                        [work](ErrorCode failed, const std::string& why) mutable {
                          try {
                            if (failed) {
                              work.Reply([&](resp::ReplyWriter& reply) {
                                reply.Error(why.empty() ? std::string(kNoMemory) : "ERR " + why);
                              });
                            }
                          } catch (const std::exception&) {
                            work.subrequest.error = kNoMemory;
                          }
                          work.OnWritten();
                        });
  });
  return Step::kBegun;
}

// Returns true if the shard could not be linked.
bool HasFailed(const Subrequest& subrequest) {
  return subrequest.reply_begin < subrequest.reply_end || !subrequest.error.empty();
}

// Returns the subrequest of a shard that could not be linked.
std::optional<Batch::SubrequestId> FindFailed(const Gather& gather) {
  const auto failed = std::ranges::find_if(
      gather.subrequests, [&](Batch::SubrequestId id) { return HasFailed(gather.At(id)); });
  return failed == gather.subrequests.end() ? std::nullopt : std::optional(*failed);
}

ErrorCode Finish(const std::string& temporary, const fs::path& directory, std::size_t shards,
                 Diagnostics* why) {
  if (const auto failed = NoteShards(temporary, shards, why)) return failed;
  if (::rename(temporary.c_str(), directory.c_str()) != 0)
    return FailedCall(directory.string(), "create", errno, why);
  const auto failed = SyncNames(directory.parent_path().string(), why);
  // An error leaves no directory, unless this fails, too.
  if (failed) (void)::rename(directory.c_str(), temporary.c_str());
  return failed;
}

void GatherBackup(Gather& gather) {
  const std::string& temporary = gather.request.As<BackupTarget>().temporary();
  const auto failed = FindFailed(gather);
  Diagnostics why;
  if (!failed && !Finish(temporary, gather.request.arguments[1], gather.subrequests.size(), &why)) {
    spdlog::info("backup: {} is complete", gather.request.arguments[1]);
    return gather.reply.Ok();
  }
  if (!failed) return gather.reply.Error("ERR " + why.message);
  gather.Copy(*failed);
}

// STOUT.COPY, or STOUT.COPY file offset
void ParseCopy(Request& request, const ParseContext& context) {
  const resp::Arguments arguments = request.arguments;
  if (arguments.size() == 1) {
    Diagnostics why;
    auto directory = MakeCopyDirectory(context.directory, &why);
    if (!directory) {
      request.error = "ERR " + why.message;
    } else {
      request.parsed = BackupTarget(*std::move(directory));
    }
    return;
  }
  const auto file = resp::ParseUnsigned(arguments[1]);
  const auto offset = arguments.size() == 3 ? resp::ParseUnsigned(arguments[2]) : std::nullopt;
  if (file && offset) {
    request.parsed = CopiedPiece{.file = *file, .offset = *offset, .bytes = {}};
  } else {
    request.error = resp::kSyntaxError;
  }
}

void ToAllShardsIfBegun(FanOut& out) {
  if (out.request.arguments.size() == 1) ToAllShards(out);
}

bool IsLinked(const Request& request, const Batch& batch) {
  return std::ranges::none_of(batch.SubrequestsOf(request), [&](Batch::SubrequestId id) {
    return HasFailed(batch.parts[id.shard].subrequests[id.index]);
  });
}

void ReadCopied(Request& request, Batch& batch) {
  Diagnostics why;
  if (auto* const piece = std::get_if<CopiedPiece>(&request.parsed)) {
    if (piece->file >= batch.copied.size()) {
      request.error = "ERR no such file: STOUT.COPY lists those of this connection";
      return;
    }
    auto bytes = ReadPiece(batch.copied[piece->file], piece->offset, &why);
    if (bytes) piece->bytes = *std::move(bytes);
  } else {
    batch.copied.clear();
    if (!IsLinked(request, batch)) return;  // An error is the answer, so no client reads the files.
    auto files = TakeFiles(request.As<BackupTarget>().temporary(), &why);
    if (files) batch.copied = *std::move(files);
  }
  if (!why.message.empty()) request.error = "ERR " + why.message;
}

void GatherCopied(Gather& gather) {
  if (const auto* const piece = std::get_if<CopiedPiece>(&gather.request.parsed))
    return gather.reply.BulkString(piece->bytes);
  if (const auto failed = FindFailed(gather)) return gather.Copy(*failed);
  spdlog::info("copy: a client copies {} files", gather.copied().size());
  gather.reply.ArrayHeader(gather.copied().size());
  for (const CopiedFile& file : gather.copied()) {
    gather.reply.ArrayHeader(2);
    gather.reply.BulkString(file.name);
    gather.reply.Integer(static_cast<std::int64_t>(file.size));
  }
}

// clang-format off
constexpr ShardCommand kBackupCommands[] = {
    {.command = {0, "stout.backup", 2, resp::CommandFlag::kAdmin, {},
                 resp::CommandCategory::kDangerous,
                 "blowfish", "0.1.0", "Makes a copy of the data in a new directory of the server."},
     .parse = ParseBackup, .fan_out = ToAllShards, .begin = BackUp, .gather = GatherBackup,
     .needs_all = true},
    {.command = {0, "stout.copy", -1, resp::CommandFlag::kAdmin | resp::CommandFlag::kEndsBatch, {},
                 resp::CommandCategory::kDangerous, "blowfish", "0.1.0",
                 "Lists the files of a copy that this connection has from now on, or returns a "
                 "part of one: STOUT.COPY [file offset]."},
     .parse = ParseCopy, .fan_out = ToAllShardsIfBegun, .begin = BackUp, .on_disk = ReadCopied,
     .gather = GatherCopied, .needs_all = true},
};
// clang-format on

}  // namespace

std::span<const ShardCommand> BackupCommands() { return kBackupCommands; }

}  // namespace stout::blowfish
