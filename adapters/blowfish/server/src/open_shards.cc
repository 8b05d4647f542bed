#include "open_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "atomic_file.h"

namespace stout::blowfish {
namespace {

constexpr const char* kNumberName = "shards";

// Of the shards that the directory was made with; nothing: it is new.
Result<std::optional<std::size_t>> ReadNumber(const std::string& directory,
                                              Diagnostics* diagnostics) {
  const std::string path = directory + "/" + kNumberName;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) && !failed) return std::optional<std::size_t>();
  std::size_t number = 0;
  if (std::ifstream(path) >> number && number > 0) return std::optional(number);
  if (diagnostics) {
    diagnostics->message = fmt::format(
        "{}: it should have the number of the shards beside it; restore it from a copy", path);
  }
  return Errc::kCorrupt;
}

ErrorCode WriteNumber(const std::string& directory, std::size_t number, Diagnostics* diagnostics) {
  auto file = AtomicFile::Create(directory + "/" + kNumberName, diagnostics);
  if (!file) return file.error();
  const std::string text = fmt::format("{}\n", number);
  if (const auto failed = file->WriteAt(0, std::as_bytes(std::span(text)), diagnostics))
    return failed;
  return file->Publish(diagnostics);
}

Result<std::size_t> SettleNumber(const std::string& directory, std::size_t wanted,
                                 Diagnostics* diagnostics) {
  const auto there = ReadNumber(directory, diagnostics);
  if (!there) return there.error();
  if (there->has_value()) {
    if (wanted == 0 || wanted == **there) return **there;
    if (diagnostics) {
      diagnostics->message = fmt::format(
          "{} has {} shards, not {}: leave --shards out, or load the data into a new directory",
          directory, **there, wanted);
    }
    return Errc::kBadOptions;
  }
  if (wanted == 0) wanted = std::max(1U, std::thread::hardware_concurrency());
  if (const auto failed = WriteNumber(directory, wanted, diagnostics)) return failed;
  return wanted;
}

}  // namespace

Result<std::vector<std::unique_ptr<ShardWorker>>> OpenShards(const std::string& directory,
                                                             std::size_t shards,
                                                             const ShardOptions& options,
                                                             Diagnostics* diagnostics) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) {
    if (diagnostics)
      diagnostics->message = fmt::format("{}: cannot be made: {}", directory, failed.message());
    return Errc::kBadUrl;
  }
  const auto number = SettleNumber(directory, shards, diagnostics);
  if (!number) return number.error();

  // What may wait in memory is the server's, and the shards share it.
  ShardOptions of_each = options;
  CompactionOptions& compaction = of_each.compaction;
  // But a merge must have room for what is written meanwhile; records take more than their log.
  compaction.max_unmerged_bytes =
      std::max({compaction.max_unmerged_bytes / *number, 4 * compaction.freeze_bytes,
                8 * compaction.merge_bytes});

  struct Opened {
    Result<std::unique_ptr<ShardWorker>> worker;
    Diagnostics why;
  };
  std::vector<std::future<Opened>> opening;
  for (std::size_t i = 0; i < *number; ++i) {
    opening.push_back(std::async(std::launch::async, [&, i] {
      Diagnostics why;
      auto worker =
          ShardWorker::Open(fmt::format("{}/shard-{:04}", directory, i), i, *number, of_each, &why);
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
  return workers;
}

}  // namespace stout::blowfish
