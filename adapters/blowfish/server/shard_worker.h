#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "blowfish/server/shard_queue.h"
#include "blowfish/server/shard_runner.h"
#include "blowfish/store/shard.h"
#include "stout/error.h"

namespace stout::blowfish {

/// How a shard is, a moment ago.
struct ShardStatus {
  std::uint64_t keys = 0;
  std::size_t compressed_files = 0;
  std::uint64_t compressed_records = 0;
  std::uint64_t compressed_bytes = 0;  ///< size of the files, without the layers
  std::size_t layers = 0;
  std::uint64_t layer_bytes = 0;
  NextLayerBytes next_layer_bytes = {};
  std::uint64_t finest_layer_bytes = 0;
  bool filling = false;     ///< Layers are ordered, and not full yet.
  std::uint64_t moves = 0;  ///< Carried out, of those that AskToAddLayers() and its like asked for.
  std::uint64_t added_layers = 0;    ///< By these moves.
  std::uint64_t removed_layers = 0;  ///< Likewise.
  ShardStats stats;
};

/// A shard with its worker thread, and the queue of the worker's tasks.
///
/// The number of its layers is kept for the next start: see layer_file.h.
///
/// A command for which there is no memory is answered with that error. If there is no memory for a
/// change that is already durable, the process ends: its next start has the change.
///
/// Threads: any; the shard itself belongs to its worker alone.
class ShardWorker {
 public:
  /// Called for each sub-batch that is answered, on the worker's thread.
  using Done = std::function<void(SubBatch&)>;

  /// Opens what is in the directory, or makes a new shard there; blocks. Start() begins the work.
  /// Errors: Shard::Open's.
  [[nodiscard]] static Result<std::unique_ptr<ShardWorker>> Open(const std::string& directory,
                                                                 std::size_t number,
                                                                 ShardOptions options,
                                                                 Diagnostics* diagnostics);
  /// Makes the place of a shard that cannot be opened, for `reason`: a file, what is wrong with it
  /// and a remedy. It has no thread and no keys, nothing may be pushed to its queue, and the
  /// directory is left as it is. `schema`: that of the other shards.
  [[nodiscard]] static std::unique_ptr<ShardWorker> MakeDown(const std::string& directory,
                                                             const Schema& schema,
                                                             std::string reason);
  ShardWorker(const ShardWorker&) = delete;
  ShardWorker& operator=(const ShardWorker&) = delete;
  ~ShardWorker() { Stop(); }

  /// Orders a layer if the shard had more of them at its last end. Returns false if not.
  /// Requires that Start() was not called: from then on the shard's number is what it has.
  bool AddKeptLayer();
  /// Leaves the number for the next start as it is, until the shard gets or loses layers. Requires
  /// that Start() was not called.
  void LeaveKeptLayers() { kept_layers_ = status_.layers; }

  /// The worker orders layers, or removes those that are ordered, otherwise the finest one, when it
  /// takes its queue the next time.
  /// Errors: as ShardQueue::Push.
  /// Threads: one calls these three.
  /// @{
  void AskToAddLayers(std::size_t count) {
    AskToMove([count](Shard& shard) { shard.AddLayers(count); });
  }
  void AskToRemoveLayer() {
    AskToMove([](Shard& shard) { shard.RemoveLayer(); });
  }
  /// How often the worker was asked: once status().moves is as large, the status has them all.
  [[nodiscard]] std::uint64_t asked_moves() const { return asked_moves_; }
  /// @}

  /// Does nothing if the shard is down.
  void Start(Done done);
  /// Answers what was pushed, searches and writes without room with an error, and waits for the
  /// thread's end.
  void Stop();

  /// Returns the reason of MakeDown(); nullopt: the shard serves.
  [[nodiscard]] const std::optional<std::string>& down() const { return down_; }
  [[nodiscard]] const Schema& schema() const { return schema_; }
  /// Returns false if the shard is down.
  [[nodiscard]] bool text_index() const { return text_index_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const ShardReport& report() const { return report_; }
  [[nodiscard]] ShardQueue& queue() { return queue_; }
  [[nodiscard]] const ShardQueue& queue() const { return queue_; }
  [[nodiscard]] ShardStatus status() const;
  /// Time in which it worked for clients, since the start.
  [[nodiscard]] Duration busy() const { return Duration(busy_.load(std::memory_order_relaxed)); }
  /// The part of it that reads took: see ShardRunner::read_time().
  [[nodiscard]] const ReadTime& read_time() const { return *read_time_; }

 private:
  ShardWorker() = default;
  void Work(Done done);
  void AskToMove(std::function<void(Shard&)> move);
  void Serve(ShardQueue::Taken& taken, ShardRunner& runner);
  void Publish();
  // Writes the number of layers down if it has changed.
  void KeepLayers();

  ShardQueue queue_;
  std::unique_ptr<Shard> shard_;
  std::optional<std::string> down_;
  ShardReport report_;
  Schema schema_;
  bool text_index_ = false;
  std::string directory_;
  std::size_t kept_layers_ = 0;  // As of the file.
  std::size_t number_ = 0;
  std::atomic<Duration::rep> busy_ = 0;
  const std::shared_ptr<ReadTime> read_time_ = std::make_shared<ReadTime>();

  std::uint64_t asked_moves_ = 0;
  std::uint64_t moves_ = 0;  // This and the next two are the worker's.
  std::uint64_t added_layers_ = 0;
  std::uint64_t removed_layers_ = 0;

  mutable std::mutex mutex_;
  ShardStatus status_;
  std::jthread thread_;
};

/// Returns, for each shard, the error reply to requests that need it; empty if it serves. Returns
/// no element if all serve.
[[nodiscard]] std::vector<std::string> DownReplies(
    const std::vector<std::unique_ptr<ShardWorker>>& shards);

}  // namespace stout::blowfish
