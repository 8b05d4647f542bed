#include "blowfish/server/open_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "blowfish/file/atomic_file.h"
#include "blowfish/file/checksum.h"
#include "blowfish/log/log_directory.h"
#include "blowfish/server/data_id.h"
#include "blowfish/store/shard_manifest.h"
#include "stout/adapters/read_file.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

// The directory's note about its shards. It is written before the first shard is made, and again
// when all are made: so a shard that is missing then was lost.
struct Made {
  std::size_t number = 0;  // number of shards
  bool whole = false;
  bool checked = true;  // It had a checksum; older versions wrote none.
};

std::string WithoutChecksum(const Made& made) {
  return fmt::format("{}{}\n", made.number, made.whole ? "" : " new");
}

// Older versions read the number and " new", and ignore the rest.
std::string Encode(const Made& made) {
  const std::string text = fmt::format("{} {}", made.number, made.whole ? "whole" : "new");
  return fmt::format("{} {:016x}\n", text, Checksum(std::as_bytes(std::span(text))));
}

// Returns nullopt if the text is none that any version writes.
std::optional<Made> Decode(const std::string& text) {
  Made made;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, made.number).ec != std::errc() || made.number == 0)
    return std::nullopt;
  for (const bool checked : {true, false}) {
    for (const bool whole : {true, false}) {
      made.whole = whole;
      made.checked = checked;
      if (text == (checked ? Encode(made) : WithoutChecksum(made))) return made;
    }
  }
  return std::nullopt;
}

std::string NumberPath(const std::string& directory) { return directory + "/" + kNumberName; }

// Returns nullopt if the directory is new.
Result<std::optional<Made>> ReadMade(const std::string& directory, Diagnostics* diagnostics) {
  const std::string path = NumberPath(directory);
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) && !failed) return std::optional<Made>();
  const Result<std::string> text = ReadFile(path);
  if (!text) {  // a bad sector, or a directory
    return Fail(
        Errc::kCorrupt,
        fmt::format("{}: cannot be read: {}; restore it from a copy", path, text.error().message()),
        diagnostics);
  }
  if (const auto made = Decode(*text)) return made;
  return Fail(Errc::kCorrupt,
              fmt::format("{}: damaged; restore it from a copy, or write into it the number of the "
                          "directories {}NNNN beside it, which is checked",
                          path, kShardPrefix),
              diagnostics);
}

ErrorCode WriteMade(const std::string& directory, const Made& made, Diagnostics* diagnostics) {
  return PublishText(NumberPath(directory), Encode(made), diagnostics);
}

bool IsShard(const std::filesystem::path& path) {
  std::error_code failed;
  return std::filesystem::exists(path / kManifestName, failed) || failed;
}

// A shard that exists in a directory without a record of the number of shards.
std::string FindShard(const std::string& directory) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    if (entry.path().filename().string().starts_with(kShardPrefix) && IsShard(entry.path()))
      return entry.path().string();
  }
  return {};
}

// A shard with a number that the directory should not have: then its note is of another directory,
// or has no checksum and was damaged.
ErrorCode CheckNoneElse(const std::string& directory, std::size_t number,
                        Diagnostics* diagnostics) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kShardPrefix) || !IsShard(entry.path())) continue;
    const std::string_view digits = std::string_view(name).substr(kShardPrefix.size());
    std::size_t shard = 0;
    const auto [parsed, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), shard);
    if (error != std::errc() || parsed != digits.data() + digits.size() || shard < number) continue;
    return Fail(Errc::kCorrupt,
                fmt::format("{}: it records {} shards, but {} exists; restore the file "
                            "from a copy, or move the directory away if it is no shard of this "
                            "server",
                            NumberPath(directory), number, entry.path().string()),
                diagnostics);
  }
  return {};
}

Result<Made> MakeNew(const std::string& directory, std::size_t number, Diagnostics* diagnostics) {
  if (const std::string shard = FindShard(directory); !shard.empty()) {
    return Fail(
        Errc::kCorrupt,
        fmt::format(
            "{} exists, but not {}/{}, which records the number of shards; restore it from a copy",
            shard, directory, kNumberName),
        diagnostics);
  }
  // That of shards that were here.
  if (const auto failed = RemoveDataId(directory, diagnostics)) return failed;
  const Made made{.number = number};
  if (const auto failed = WriteMade(directory, made, diagnostics)) return failed;
  return made;
}

Result<Made> Settle(const std::string& directory, std::size_t wanted, Diagnostics* diagnostics) {
  const auto there = ReadMade(directory, diagnostics);
  if (!there) return there.error();
  if (!there->has_value()) {
    return MakeNew(directory,
                   wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency()),
                   diagnostics);
  }
  const Made made = **there;
  if (wanted != 0 && wanted != made.number) {
    return Fail(
        Errc::kBadOptions,
        fmt::format("{} has {} shards, not {}: leave --shards out, or change the number with "
                    "blowfish-server reshard",
                    directory, made.number, wanted),
        diagnostics);
  }
  if (const auto failed = CheckNoneElse(directory, made.number, diagnostics)) return failed;
  return made;
}

// A shard that was opened, or why not.
struct Opened {
  Result<std::unique_ptr<ShardWorker>> worker;
  Diagnostics why;
};

// `whole`: the directory has had all its shards, so that a missing one was lost and is not made.
Opened OpenOne(const std::string& directory, std::size_t shard, bool whole,
               const ShardOptions& options) {
  const std::string path = ShardPath(directory, shard);
  Diagnostics why;
  if (whole && !IsShard(path)) {
    return {
        Fail(Errc::kCorrupt,
             fmt::format("{}: missing, with its part of the keys; restore it from a copy", path),
             &why),
        std::move(why)};
  }
  auto worker = ShardWorker::Open(path, shard, options, &why);
  return {std::move(worker), std::move(why)};
}

// One parsed request goes to all shards, so they need the same attributes. Returns the first of
// those whose attributes most shards have.
const Opened& MostAlike(const std::vector<Opened>& shards) {
  return *std::ranges::max_element(shards, {}, [&](const Opened& one) {
    return std::ranges::count_if(shards, [&](const Opened& other) {
      return one.worker && other.worker && (*one.worker)->schema() == (*other.worker)->schema();
    });
  });
}

}  // namespace

std::string ShardPath(const std::string& directory, std::size_t shard) {
  return fmt::format("{}/{}{:04}", directory, kShardPrefix, shard);
}

Result<std::size_t> CountShards(const std::string& directory, Diagnostics* diagnostics) {
  const auto made = ReadMade(directory, diagnostics);
  if (!made) return made.error();
  return *made ? (*made)->number : 0;
}

ErrorCode NoteShards(const std::string& directory, std::size_t shards, Diagnostics* diagnostics) {
  return WriteMade(directory, {.number = shards, .whole = true}, diagnostics);
}

Result<std::vector<std::unique_ptr<ShardWorker>>> OpenShards(const std::string& directory,
                                                             std::size_t shards,
                                                             const ShardOptions& options,
                                                             const ShardMemory& memory,
                                                             Diagnostics* diagnostics) {
  if (const auto failed = MakeDurably(directory)) {
    return Fail(Errc::kBadUrl,
                fmt::format("{}: cannot be created: {}", directory, failed.message()), diagnostics);
  }
  auto made = Settle(directory, shards, diagnostics);
  if (!made) return made.error();
  const std::size_t number = made->number;

  ShardOptions of_each = options;
  ShareMemory(memory, number, of_each);

  std::vector<std::future<Opened>> opening;
  for (std::size_t i = 0; i < number; ++i) {
    opening.push_back(std::async(std::launch::async,
                                 [&, i] { return OpenOne(directory, i, made->whole, of_each); }));
  }
  std::vector<Opened> opened;
  opened.reserve(number);
  for (auto& future : opening) opened.push_back(future.get());

  const Opened& like = MostAlike(opened);
  const std::string like_path = ShardPath(directory, &like - opened.data());
  const Schema schema = like.worker ? (*like.worker)->schema() : Schema();
  // The place of a key depends on the number of shards: the others may serve only if it is certain.
  const bool may_lack = like.worker && made->whole && made->checked;
  std::vector<std::unique_ptr<ShardWorker>> workers;
  for (std::size_t i = 0; i < number; ++i) {
    auto& [worker, why] = opened[i];
    const std::string path = ShardPath(directory, i);
    if (worker && (*worker)->schema() != schema) {
      worker =
          Fail(Errc::kCorrupt,
               fmt::format("{}: it has other attributes than {}; restore it from a copy, or load "
                           "the data of all shards into a new directory",
                           path, like_path),
               &why);
    }
    if (worker && !made->whole && (*worker)->text_index() != options.text_index) {
      worker =
          Fail(Errc::kBadUrl,
               fmt::format("{}: an earlier start with another --text-index made it, and did not "
                           "end; remove {}, which has no data yet, and start again",
                           path, directory),
               &why);
    }
    if (worker) {
      workers.push_back(std::move(*worker));
    } else if (may_lack && worker.error() == Errc::kCorrupt) {
      workers.push_back(ShardWorker::MakeDown(path, schema, std::move(why.message)));
    } else {
      if (diagnostics) *diagnostics = std::move(why);
      return worker.error();
    }
  }
  if (!made->whole || !made->checked) {
    made->whole = true;
    if (const auto failed = WriteMade(directory, *made, diagnostics)) return failed;
  }
  return workers;
}

}  // namespace stout::blowfish
