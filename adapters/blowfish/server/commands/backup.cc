// STOUT.BACKUP: a copy of all shards, by hard links.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "blowfish/server/fan_out.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/open_shards.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/work.h"

namespace stout::blowfish {
namespace {

void ParseBackup(Request& request, const ParseContext&) {
  const std::filesystem::path directory = request.arguments[1];
  std::error_code unreadable;
  if (request.arguments[1].find('\0') != std::string_view::npos || !directory.is_absolute()) {
    request.error = "ERR STOUT.BACKUP DIR: the directory must be an absolute path";
  } else if (std::filesystem::exists(directory, unreadable) || unreadable) {
    request.error = fmt::format("ERR {}: {}", request.arguments[1],
                                unreadable ? unreadable.message() : "exists; name a new directory");
  }
}

Step BackUp(Work& work) {
  const std::string path = ShardPath(std::string(work.argument(1)), work.shard_number());
  work.Count([&] {
    work.shard().BackUp(path, [work](ErrorCode failed, const std::string& why) mutable {
      try {
        if (failed)
          work.Reply([&](resp::ReplyWriter& reply) { reply.Error(fmt::format("ERR {}", why)); });
      } catch (const std::exception&) {
        work.subrequest.error = kNoMemory;
      }
      work.OnWritten();
    });
  });
  return Step::kBegun;
}

// The note about the shards is the last file, so a server does not start on an incomplete backup.
void GatherBackup(Gather& gather) {
  const std::string directory(gather.request.arguments[1]);
  for (const Batch::Place place : gather.places) {
    const Subrequest& shard = gather.At(place);
    if (shard.reply_begin == shard.reply_end) continue;
    spdlog::warn("backup: {} is incomplete: remove it", directory);
    return gather.Copy(place);
  }
  Diagnostics why;
  if (NoteShards(directory, gather.places.size(), &why))
    return gather.reply.Error(fmt::format("ERR {}", why.message));
  spdlog::info("backup: {} is complete", directory);
  gather.reply.Ok();
}

// clang-format off
constexpr ShardCommand kBackupCommands[] = {
    {.command = {0, "stout.backup", 2, resp::CommandFlag::kAdmin, {}, resp::CommandCategory::kDangerous,
                 "blowfish", "0.1.0", "Makes a copy of the data in a new directory of the server."},
     .parse = ParseBackup, .fan_out = ToAllShards, .begin = BackUp, .gather = GatherBackup},
};
// clang-format on

}  // namespace

std::span<const ShardCommand> BackupCommands() { return kBackupCommands; }

}  // namespace stout::blowfish
