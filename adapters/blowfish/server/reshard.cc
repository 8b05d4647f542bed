#include "blowfish/server/reshard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/file/atomic_file.h"
#include "blowfish/file/file_error.h"
#include "blowfish/index/shard_of.h"
#include "blowfish/log/log_format.h"
#include "blowfish/server/ask_shard.h"
#include "blowfish/server/copy_from.h"
#include "blowfish/server/data_id.h"
#include "blowfish/server/open_shards.h"
#include "blowfish/server/reshard_page.h"
#include "blowfish/server/reshard_writer.h"
#include "blowfish/server/value_limits.h"
#include "blowfish/store/layer_file.h"
#include "blowfish/store/shard_directory.h"
#include "stout/adapters/read_file.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

namespace fs = std::filesystem;
using Workers = std::vector<std::unique_ptr<ShardWorker>>;

constexpr const char* kMark = "resharding";      // In the old directory.
constexpr const char* kPlace = "reshard-place";  // In the new one: a Place.
constexpr int kPagesOfPlace = 100;               // From one note of the place to the next.

// A page is written as a batch for each shard and epoch.
static_assert(PageLimits().bytes + kMaxValueLimit < kMaxPayloadBytes / 4,
              "see LogStoreOptions::max_batch_bytes");

std::string WithoutSlashes(std::string directory) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  return directory;
}

struct Paths {
  explicit Paths(const std::string& directory)
      : from(WithoutSlashes(directory)),
        to(from + ".resharding"),
        before(ShardsBefore(directory)),
        mark(fmt::format("{}/{}", from, kMark)),
        place(fmt::format("{}/{}", to, kPlace)) {}

  std::string from, to, before, mark, place;
};

// Returns true if that is not known: see CheckReadable().
bool Exists(const std::string& path) {
  std::error_code failed;
  return fs::exists(path, failed) || failed;
}

// Fails if the directory, or the one that it is in, cannot be read.
ErrorCode CheckReadable(const Paths& paths, Diagnostics* diagnostics) {
  std::error_code failed;
  (void)fs::exists(paths.mark, failed);
  return failed ? FailedCall(paths.from, "read", failed.value(), diagnostics) : ErrorCode();
}

// Returns false if the directory is missing or empty.
bool HasShards(const std::string& directory) { return Exists(directory + "/" + kNumberName); }

// How far the copy is: all keys of the shards before, and of this one those up to `after`. If it
// has the number of the shards, all keys are copied.
struct Place {
  std::size_t shard = 0;
  std::optional<std::string> after;
};

std::string Encode(const Place& place) {
  return fmt::format("{} {}", place.shard, place.after.value_or(""));
}

// A place that cannot be read is the beginning: what is copied twice stays as it is.
Place ReadPlace(const std::string& path) {
  const Result<std::string> all = ReadFile(path);
  if (!all) return {};
  std::istringstream text(*all);
  Place place;
  if (!(text >> place.shard) || text.get() != ' ') return {};
  std::string after(std::istreambuf_iterator<char>(text), {});
  if (!after.empty()) place.after = std::move(after);
  return place;
}

WriteItem ItemOf(KeyState& state) {
  WriteItem item;
  item.key = std::move(state.key);
  item.version = state.stamp.version;
  item.kind = state.value ? WriteKind::kPut : WriteKind::kDelete;
  if (state.value) item.value = std::move(*state.value);
  return item;
}

class Copy {
 public:
  using GoOn = std::function<bool(const ReshardProgress&)>;

  Copy(Workers& from, Workers& to, const Paths& paths, std::chrono::milliseconds patience,
       const GoOn& go_on)
      : from_(from), to_(to), paths_(paths), go_on_(go_on), writer_(patience, [this] {
          return go_on_(progress_);
        }) {
    for (const auto& worker : from_) progress_.all += worker->status().keys;
  }

  [[nodiscard]] ErrorCode Run(Diagnostics* diagnostics) {
    place_ = ReadPlace(paths_.place);
    for (int pages = 1; place_.shard < from_.size(); ++pages) {
      if (const auto failed = CopyPage(diagnostics)) return failed;
      const bool stop = !go_on_(progress_);
      if (stop || pages % kPagesOfPlace == 0) {
        if (const auto failed = NotePlace(diagnostics)) return failed;
      }
      if (stop) return FailReshardStopped(diagnostics);
    }
    // A fence shuts the copy out, too, if its scope is empty. So no page may be copied after it.
    if (const auto failed = NotePlace(diagnostics)) return failed;
    return CopyFences(diagnostics);
  }

 private:
  [[nodiscard]] ErrorCode NotePlace(Diagnostics* diagnostics) {
    return PublishText(paths_.place, Encode(place_), diagnostics);
  }

  [[nodiscard]] ErrorCode CopyPage(Diagnostics* diagnostics) {
    std::vector<KeyState> page = Ask(*from_[place_.shard], [this](Shard& shard) {
      return ReadPage(shard, place_.after, PageLimits());
    });
    if (page.empty()) {
      place_ = {place_.shard + 1, std::nullopt};
      return {};
    }
    place_.after = page.back().key;
    std::map<std::pair<std::size_t, Epoch>, WriteBatch> batches;
    for (KeyState& state : page) {
      progress_.keys += state.value.has_value();
      const std::size_t shard = ShardOf(state.key, to_.size());
      WriteBatch& batch = batches[{shard, state.stamp.epoch}];
      batch.epoch = state.stamp.epoch;
      batch.bytes += state.key.size() + (state.value ? state.value->size() : 0);
      batch.items.push_back(ItemOf(state));
    }
    for (const auto& [at, batch] : batches) {
      if (const auto failed = writer_.Write(*to_[at.first], batch, diagnostics)) return failed;
    }
    return {};
  }

  // A new shard gets those of all old ones: writers were shut out of all of them.
  [[nodiscard]] ErrorCode CopyFences(Diagnostics* diagnostics) {
    std::map<Scope, Epoch> fences;
    WriteBatch last;  // Its epoch is the largest.
    for (const auto& worker : from_) {
      Ask(*worker, [&](Shard& shard) {
        last.epoch = std::max(last.epoch, shard.max_epoch());
        for (const auto& [scope, epoch] : shard.fences())
          fences[scope] = std::max(fences[scope], epoch);
        return true;
      });
    }
    for (const auto& worker : to_) {
      if (const auto failed = writer_.Write(*worker, last, diagnostics)) return failed;
      for (const auto& [scope, epoch] : fences) {
        if (const auto failed = writer_.Fence(*worker, scope, epoch, diagnostics)) return failed;
      }
    }
    return {};
  }

  Workers& from_;
  Workers& to_;
  const Paths& paths_;
  const GoOn& go_on_;
  Place place_;
  ReshardProgress progress_;
  ReshardWriter writer_;
};

ErrorCode Rename(const std::string& from, const std::string& to, Diagnostics* diagnostics) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (failed) return FailedCall(to, "rename " + from + " to it", failed.value(), diagnostics);
  const std::string above = fs::absolute(to).parent_path().string();
  return SyncNames(above, diagnostics);
}

// The last steps rename the directory, which a mount point or "." does not allow.
ErrorCode CheckCanBeRenamed(const std::string& directory, Diagnostics* diagnostics) {
  const fs::path path = fs::absolute(directory);
  if (path.filename() == "." || path.filename() == "..") {
    return Fail(Errc::kBadUrl,
                fmt::format("{}: cannot be renamed; give its path with its name", directory),
                diagnostics);
  }
  std::error_code failed;
  if (fs::is_symlink(path, failed)) {
    return Fail(
        Errc::kBadUrl,
        fmt::format("{}: is a symbolic link; give the path of the directory itself", directory),
        diagnostics);
  }
  // Linux before 5.8 reports no mount point.
  struct statx status = {};
  const bool known = ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &status) == 0;
  if (!known || (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0) return {};
  return Fail(Errc::kBadUrl,
              fmt::format("{}: is a mount point, which cannot be renamed; move its files into a "
                          "new directory below it, and give that one",
                          directory),
              diagnostics);
}

// From before the copy begins until it ends. So a copy without the mark may lack later writes.
ErrorCode KeepServersOff(const Paths& paths, Diagnostics* diagnostics) {
  if (!Exists(paths.mark) && Exists(paths.to)) {
    return Fail(Errc::kBadOptions,
                fmt::format("{}: may lack writes, because servers could start on {}; remove it, "
                            "and give the same command again",
                            paths.to, paths.from),
                diagnostics);
  }
  return PublishText(paths.mark, "", diagnostics);
}

// An earlier call may have begun a copy with another number of shards.
ErrorCode CheckCopy(const Paths& paths, std::size_t shards, Diagnostics* diagnostics) {
  const auto copied = CountShards(paths.to, nullptr);
  if (!copied || *copied == 0 || *copied == shards) return {};  // OpenShards() has the error.
  return Fail(Errc::kBadOptions,
              fmt::format("{}: an unfinished copy with {} shards, not {}: repeat with --shards {}, "
                          "or remove it to begin again",
                          paths.to, *copied, shards, *copied),
              diagnostics);
}

// The copy gets its name. Until then it keeps its place, because another call may go on.
ErrorCode GiveName(const Paths& paths, Diagnostics* diagnostics) {
  if (const auto failed = Rename(paths.to, paths.from, diagnostics)) return failed;
  std::error_code ignored;
  fs::remove(fmt::format("{}/{}", paths.from, kPlace), ignored);
  return {};
}

// Both directories are closed.
ErrorCode Exchange(const Paths& paths, Diagnostics* diagnostics) {
  const auto data_id = OpenDataId(paths.from, diagnostics);
  if (!data_id) return data_id.error();
  if (const auto failed = PublishText(paths.to + "/data-id", *data_id, diagnostics)) return failed;
  if (const auto failed = Rename(paths.from, paths.before, diagnostics)) return failed;
  return GiveName(paths, diagnostics);
}

// An earlier call ended between its two renames.
ErrorCode Complete(const Paths& paths, std::size_t shards, Diagnostics* diagnostics) {
  if (HasShards(paths.from)) {
    return Fail(Errc::kBadOptions,
                fmt::format("{} is complete, but {} has other shards, which were made since then: "
                            "move {} away, and give the same command again",
                            paths.to, paths.from, paths.from),
                diagnostics);
  }
  const auto copied = CountShards(paths.to, diagnostics);
  if (!copied) return copied.error();
  if (*copied != shards) {
    return Fail(Errc::kBadOptions,
                fmt::format("{} is complete with {} shards: give it its name by --shards {} first",
                            paths.to, *copied, *copied),
                diagnostics);
  }
  return GiveName(paths, diagnostics);
}

// A shard that is down answers nothing.
ErrorCode CheckAllServe(const std::string& directory, const Workers& workers,
                        Diagnostics* diagnostics) {
  for (const auto& worker : workers) {
    if (const auto& down = worker->down()) {
      return Fail(Errc::kBadOptions, fmt::format("{}: a shard is down: {}", directory, *down),
                  diagnostics);
    }
  }
  return {};
}

ErrorCode CheckSource(const Paths& paths, const Workers& from, std::size_t shards,
                      Diagnostics* diagnostics) {
  if (from.size() == shards) {
    return Fail(Errc::kBadOptions, fmt::format("{} has {} shards already", paths.from, shards),
                diagnostics);
  }
  return CheckAllServe(paths.from, from, diagnostics);
}

}  // namespace

std::string ShardsBefore(const std::string& directory) {
  return WithoutSlashes(directory) + ".before-reshard";
}

ErrorCode CheckNotResharding(const std::string& directory, Diagnostics* diagnostics) {
  const Paths paths(directory);
  if (const auto failed = CheckReadable(paths, diagnostics)) return failed;
  if (!HasShards(paths.from) && Exists(paths.to)) {
    return Fail(Errc::kBadOptions,
                fmt::format("{}: it has no shards, but {} may have them: complete that by "
                            "blowfish-server reshard, or move it away",
                            directory, paths.to),
                diagnostics);
  }
  if (!Exists(paths.mark)) return {};
  return Fail(Errc::kBadOptions,
              fmt::format("{}: its shards are being copied: complete that by blowfish-server "
                          "reshard; or remove {} to drop the copy, and then {}",
                          directory, paths.to, paths.mark),
              diagnostics);
}

ErrorCode Reshard(const ReshardOptions& options,
                  const std::function<bool(const ReshardProgress&)>& go_on,
                  Diagnostics* diagnostics) {
  const Paths paths(options.directory);
  if (const auto failed = CheckReadable(paths, diagnostics)) return failed;
  if (Exists(paths.before) && Exists(paths.to)) return Complete(paths, options.shards, diagnostics);
  if (Exists(paths.before)) {
    return Fail(Errc::kBadOptions,
                fmt::format("{}: exists, with the shards before an earlier reshard; remove it",
                            paths.before),
                diagnostics);
  }
  if (!Exists(paths.from)) {
    return Fail(Errc::kBadUrl, fmt::format("{}: there is no such directory", paths.from),
                diagnostics);
  }
  if (const auto failed = CheckCanBeRenamed(paths.from, diagnostics)) return failed;
  if (const auto failed = CheckNotCopying(paths.from, diagnostics)) return failed;
  if (!HasShards(paths.from)) {
    return Fail(Errc::kBadUrl,
                fmt::format("{}: there are no shards in it, or their number is lost: check the "
                            "path, or restore its file {} from a copy",
                            paths.from, kNumberName),
                diagnostics);
  }
  ShardOptions shard{.merge_slots = options.merge_slots};
  auto from = OpenShards(paths.from, 0, shard, options.memory, diagnostics);
  if (!from) return from.error();
  if (const auto failed = CheckSource(paths, *from, options.shards, diagnostics)) return failed;
  if (const auto failed = KeepServersOff(paths, diagnostics)) return failed;
  if (const auto failed = CheckCopy(paths, options.shards, diagnostics)) return failed;
  shard.schema = from->front()->schema();
  shard.text_index = from->front()->text_index();
  auto to = OpenShards(paths.to, options.shards, shard, options.memory, diagnostics);
  if (const auto failed = to ? CheckAllServe(paths.to, *to, diagnostics) : to.error()) {
    if (diagnostics) diagnostics->message += fmt::format("; or remove {} to begin again", paths.to);
    return failed;
  }
  std::size_t layers = 0;
  for (const auto& worker : *from) {
    layers = std::max(layers, ReadLayers(worker->directory()));
    worker->LeaveKeptLayers();
  }
  for (Workers* const workers : {&*from, &*to}) {
    for (const auto& worker : *workers) worker->Start([](SubBatch&) {});
  }
  if (const auto failed = Copy(*from, *to, paths, options.patience, go_on).Run(diagnostics))
    return failed;
  from->clear();
  to->clear();
  for (std::size_t shard = 0; shard < options.shards; ++shard)
    (void)WriteLayers(ShardPath(paths.to, shard), layers);  // a hint
  return Exchange(paths, diagnostics);
}

}  // namespace stout::blowfish
