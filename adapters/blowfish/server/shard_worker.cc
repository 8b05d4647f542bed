#include "blowfish/server/shard_worker.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "blowfish/store/layer_file.h"
#include "stout/clock.h"

namespace stout::blowfish {
Result<std::unique_ptr<ShardWorker>> ShardWorker::Open(const std::string& directory,
                                                       std::size_t number, ShardOptions options,
                                                       Diagnostics* diagnostics) {
  std::unique_ptr<ShardWorker> worker(new ShardWorker);
  worker->number_ = number;
  options.shard = number;
  options.wake = [queue = &worker->queue_] { queue->Wake(); };
  auto shard = Shard::Open(directory, std::move(options), &worker->report_, diagnostics);
  if (!shard) return shard.error();
  worker->shard_ = std::move(*shard);
  worker->schema_ = worker->shard_->schema();
  worker->text_index_ = worker->shard_->text_index();
  worker->directory_ = directory;
  worker->kept_layers_ = ReadLayers(directory);
  worker->Publish();
  return worker;
}

std::unique_ptr<ShardWorker> ShardWorker::MakeDown(const std::string& directory,
                                                   const Schema& schema, std::string reason) {
  std::unique_ptr<ShardWorker> worker(new ShardWorker);
  worker->down_ = std::move(reason);
  worker->schema_ = schema;
  worker->directory_ = directory;
  return worker;
}

bool ShardWorker::AddKeptLayer() {
  if (down_ || shard_->layers() >= kept_layers_ || !shard_->AddLayer()) return false;
  Publish();
  return true;
}

void ShardWorker::AskToMove(std::function<void(Shard&)> move) {
  queue_.Push([this, move = std::move(move)](Shard& shard) {
    ++moves_;  // One that fails is over, too.
    const std::size_t before = shard.layers();
    move(shard);
    const std::size_t after = shard.layers();
    added_layers_ += std::max(before, after) - before;
    removed_layers_ += std::max(before, after) - after;
  });
  ++asked_moves_;
}

void ShardWorker::Start(Done done) {
  if (down_) return;
  thread_ = std::jthread([this, done = std::move(done)] { Work(done); });
}

void ShardWorker::Stop() {
  if (!thread_.joinable()) return;
  queue_.Stop();
  thread_.join();
}

ShardStatus ShardWorker::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void ShardWorker::Work(Done done) {
  ShardRunner runner(*shard_, number_,
                     {.queue = [this] { return queue_.waiting(); },
                      .done =
                          [this, &done](SubBatch& batch) {
                            queue_.Done(batch);
                            done(batch);  // It is not ours any more.
                          },
                      .now = SteadyNow,
                      .read_time = read_time_});
  ShardQueue::Taken taken;
  while (!taken.stop || !runner.idle()) {
    queue_.Take(runner.wants_turn() ? TimePoint::min() : shard_->next_poll().value_or(kNever),
                taken);
    if (taken.stop) runner.End();
    const TimePoint begin = SteadyNow();
    const bool served = !taken.batches.empty() || !runner.idle();
    Serve(taken, runner);
    if (served) busy_ += (SteadyNow() - begin).count();
    try {
      Publish();
      KeepLayers();
    } catch (const std::bad_alloc&) {  // no client waits for it: it is tried again
    }
  }
  shard_.reset();  // Its handlers run here.
}

void ShardWorker::Serve(ShardQueue::Taken& taken, ShardRunner& runner) {
  shard_->Poll();
  for (ShardQueue::Errand& errand : taken.errands) {
    try {
      errand(*shard_);
    } catch (const std::exception& error) {
      spdlog::warn("shard {}: a task of the server failed: {}", number_, error.what());
    }
  }
  for (SubBatch* const batch : taken.batches) runner.Add(*batch);
  runner.Run();
}

void ShardWorker::Publish() {
  const SuccinctStores& files = shard_->files();
  ShardStatus status{.keys = shard_->size(),
                     .compressed_files = files.size(),
                     .compressed_records = files.records(),
                     .compressed_bytes = files.file_bytes(),
                     .layers = shard_->layers(),
                     .layer_bytes = shard_->layer_bytes(),
                     .next_layer_bytes = shard_->next_layer_bytes(),
                     .finest_layer_bytes = shard_->finest_layer_bytes(),
                     .filling = shard_->filling(),
                     .moves = moves_,
                     .added_layers = added_layers_,
                     .removed_layers = removed_layers_,
                     .stats = shard_->stats()};
  if (status.stats.last_failure != status_.stats.last_failure) {
    spdlog::warn("shard {}: {}", number_, status.stats.last_failure);
  }
  const std::lock_guard lock(mutex_);
  status_ = std::move(status);
}

void ShardWorker::KeepLayers() {
  if (status_.layers == kept_layers_) return;
  Diagnostics why;
  if (WriteLayers(directory_, status_.layers, &why))
    spdlog::warn("shard {}: its layers are not saved for the next start: {}", number_, why.message);
  kept_layers_ = status_.layers;  // Otherwise each turn would try again.
}

std::vector<std::string> DownReplies(const std::vector<std::unique_ptr<ShardWorker>>& shards) {
  std::vector<std::string> replies(shards.size());
  bool any = false;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (!shards[i]->down()) continue;
    replies[i] = fmt::format("SHARDDOWN shard {}: {}", i, *shards[i]->down());
    any = true;
  }
  return any ? replies : std::vector<std::string>();
}

}  // namespace stout::blowfish
