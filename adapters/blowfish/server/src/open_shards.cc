#include "open_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "atomic_file.h"
#include "log_directory.h"
#include "shard_manifest.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

constexpr const char* kNumberName = "shards";
constexpr const char* kShardPrefix = "shard-";

std::string ShardPath(const std::string& directory, std::size_t shard) {
  return fmt::format("{}/{}{:04}", directory, kShardPrefix, shard);
}

// What a directory says of itself. It is written before the first shard is made, and again when all
// are: so what is missing then was lost.
struct Made {
  std::size_t number = 0;  // Of shards.
  bool whole = false;
};

constexpr const char* kNotWhole = "new";

// Nothing: it is new.
Result<std::optional<Made>> ReadMade(const std::string& directory, Diagnostics* diagnostics) {
  const std::string path = directory + "/" + kNumberName;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) && !failed) return std::optional<Made>();
  std::ifstream file(path);
  Made made;
  if (file >> made.number && made.number > 0) {
    std::string state;
    made.whole = !(file >> state) || state != kNotWhole;
    return std::optional(made);
  }
  return Fail(
      Errc::kCorrupt,
      fmt::format("{}: it should have the number of the shards beside it; restore it from a "
                  "copy",
                  path),
      diagnostics);
}

ErrorCode WriteMade(const std::string& directory, const Made& made, Diagnostics* diagnostics) {
  auto file = AtomicFile::Create(directory + "/" + kNumberName, diagnostics);
  if (!file) return file.error();
  const std::string text =
      fmt::format("{}{}\n", made.number, made.whole ? "" : fmt::format(" {}", kNotWhole));
  if (const auto failed = file->WriteAt(0, std::as_bytes(std::span(text)), diagnostics))
    return failed;
  return file->Publish(diagnostics);
}

bool IsShard(const std::filesystem::path& path) {
  std::error_code failed;
  return std::filesystem::exists(path / kManifestName, failed) || failed;
}

// Of a directory that does not say how many shards it has: one that is there all the same.
std::string FindShard(const std::string& directory) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failed)) {
    if (entry.path().filename().string().starts_with(kShardPrefix) && IsShard(entry.path()))
      return entry.path().string();
  }
  return {};
}

ErrorCode CheckAllThere(const std::string& directory, std::size_t number,
                        Diagnostics* diagnostics) {
  for (std::size_t i = 0; i < number; ++i) {
    if (IsShard(ShardPath(directory, i))) continue;
    return Fail(Errc::kCorrupt,
                fmt::format("{}: not there, and with it what it has of the {} shards: restore it "
                            "from a copy",
                            ShardPath(directory, i), number),
                diagnostics);
  }
  return {};
}

Result<Made> MakeNew(const std::string& directory, std::size_t number, Diagnostics* diagnostics) {
  if (const std::string shard = FindShard(directory); !shard.empty()) {
    return Fail(Errc::kCorrupt,
                fmt::format("{} is there, but not {}/{}, which says how many shards there are: "
                            "restore it from a copy",
                            shard, directory, kNumberName),
                diagnostics);
  }
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
    return Fail(Errc::kBadOptions,
                fmt::format("{} has {} shards, not {}: leave --shards out, or load the data into "
                            "a new directory",
                            directory, made.number, wanted),
                diagnostics);
  }
  if (made.whole) {
    if (const auto failed = CheckAllThere(directory, made.number, diagnostics)) return failed;
  }
  return made;
}

}  // namespace

Result<std::vector<std::unique_ptr<ShardWorker>>> OpenShards(const std::string& directory,
                                                             std::size_t shards,
                                                             const ShardOptions& options,
                                                             Diagnostics* diagnostics) {
  if (const auto failed = MakeDurably(directory)) {
    return Fail(Errc::kBadUrl, fmt::format("{}: cannot be made: {}", directory, failed.message()),
                diagnostics);
  }
  auto made = Settle(directory, shards, diagnostics);
  if (!made) return made.error();
  const std::size_t number = made->number;

  // What may wait in memory is the server's, and the shards share it.
  ShardOptions of_each = options;
  CompactionOptions& compaction = of_each.compaction;
  // But a merge must have room for what is written meanwhile; records take more than their log.
  compaction.max_unmerged_bytes =
      std::max({compaction.max_unmerged_bytes / number, 4 * compaction.freeze_bytes,
                8 * compaction.merge_bytes});

  struct Opened {
    Result<std::unique_ptr<ShardWorker>> worker;
    Diagnostics why;
  };
  std::vector<std::future<Opened>> opening;
  for (std::size_t i = 0; i < number; ++i) {
    opening.push_back(std::async(std::launch::async, [&, i] {
      Diagnostics why;
      auto worker = ShardWorker::Open(ShardPath(directory, i), i, number, of_each, &why);
      return Opened{std::move(worker), std::move(why)};
    }));
  }
  std::vector<std::unique_ptr<ShardWorker>> workers;
  ErrorCode first;
  for (auto& future : opening) {
    Opened opened = future.get();
    if (opened.worker) {
      workers.push_back(std::move(*opened.worker));
    } else if (!first) {
      first = opened.worker.error();
      if (diagnostics) *diagnostics = std::move(opened.why);
    }
  }
  if (first) return first;
  if (!made->whole) {
    made->whole = true;
    if (const auto failed = WriteMade(directory, *made, diagnostics)) return failed;
  }
  return workers;
}

}  // namespace stout::blowfish
