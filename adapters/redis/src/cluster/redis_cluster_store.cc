#include "stout/adapters/redis_cluster_store.h"

#include <spdlog/spdlog.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <optional>
#include <utility>

#include "cluster/cluster_engine.h"
#include "cluster/cluster_setup.h"
#include "cluster/placement.h"
#include "options.h"
#include "server_facts.h"

namespace stout {
namespace {

namespace asio = boost::asio;

// Runs `work()` on the strand and answers with what it returns.
template <typename T, typename Work>
void Start(const asio::any_io_executor& strand, const std::shared_ptr<PendingCall<T>>& call,
           Work work) {
  if (call->AnswerIfLost()) return;
  asio::co_spawn(
      strand,
      [call, work = std::move(work)]() mutable -> asio::awaitable<void> {
        T result = co_await work();
        call->Answer(std::move(result));
      },
      asio::detached);
}

}  // namespace

Result<std::unique_ptr<RedisClusterStore>> RedisClusterStore::Open(
    const Options& options, const asio::any_io_executor& executor, Diagnostics* diagnostics) {
  std::optional<std::string> wrong = redis::Check(options);
  if (options.seeds.empty()) wrong = "no node to ask";
  if (wrong) return Fail(Errc::kBadUrl, "redis-cluster: " + *wrong, diagnostics);
  auto facts = redis::SetUpCluster(std::make_shared<const RedisOptions>(options), options.seeds,
                                   diagnostics);
  if (!facts) return facts.error();
  if (!facts->durable) {
    spdlog::warn("redis-cluster: it may lose acknowledged writes: {}", facts->why_not_durable);
  }
  std::shared_ptr<redis::LossWatch> watch;
  std::string incarnation;
  if (options.detect_loss) {
    if (const std::string& why = facts->why_no_loss_detection; !why.empty()) {
      return Fail(Errc::kBadUrl, "redis-cluster: " + why, diagnostics);
    }
    // A durable cluster loses nothing, whichever of its nodes serve.
    if (!facts->durable) incarnation = redis::IncarnationOf(facts->masters);
    watch = std::make_shared<redis::LossWatch>("redis-cluster", std::move(facts->masters),
                                               options.wait, !facts->durable);
  }
  const bool versioned = options.mode == RedisMode::kVersioned;
  StoreTraits traits{.name = "redis-cluster",
                     .compares_stamps = versioned,
                     .fences = versioned,
                     .durable = facts->durable,
                     .scans = true,
                     .detects_loss = options.detect_loss,
                     .incarnation = std::move(incarnation),
                     .tombstone_ttl = facts->tombstone_ttl,
                     .max_batch_items = redis::kMaxBatchItems,
                     .max_batch_bytes = facts->max_batch_bytes,
                     .partitions = static_cast<LaneId>(facts->map.masters().size())};
  auto engine = std::make_shared<Engine>(options, facts->replication, std::move(facts->map),
                                         asio::make_strand(executor), watch);
  engine->topology->Start();
  return std::unique_ptr<RedisClusterStore>(
      new RedisClusterStore(std::move(traits), std::move(engine), watch ? watch->flag() : nullptr));
}

RedisClusterStore::RedisClusterStore(StoreTraits traits, std::shared_ptr<Engine> engine,
                                     std::shared_ptr<const LossFlag> lost)
    : traits_(std::move(traits)), pending_(std::move(lost)), engine_(std::move(engine)) {}

RedisClusterStore::~RedisClusterStore() {
  engine_->topology->Close();
  pending_.Close();
}

LaneId RedisClusterStore::PartitionOf(KeyView key) const {
  return static_cast<LaneId>(
      engine_->map_at_open.OwnerIndexOf(redis::SlotOfKey(engine_->layout, key)));
}

void RedisClusterStore::Write(const WriteBatch& batch, WriteHandler handler) {
  if (batch.items.empty()) return handler({});
  if (batch.bytes > traits_.max_batch_bytes || batch.items.size() > traits_.max_batch_items) {
    return handler({Errc::kTooLarge, {}});
  }
  if (batch.epoch > redis::Layout::kLargestEpoch) return handler({Errc::kRefused, {}});
  auto call = pending_.Add<WriteResult>(std::move(handler), {Errc::kUnknown, {}});
  Start<WriteResult>(
      engine_->topology->strand(), call,
      [engine = engine_, epoch = batch.epoch,
       write = redis::ClusterWrite(batch, engine_->layout, engine_->mode)]() mutable {
        return engine->Write(epoch, std::move(write));
      });
}

// Key by key, so that a slot that moves holds nothing up: reads need not be together.
void RedisClusterStore::Read(const ReadBatch& batch, ReadHandler handler) {
  if (batch.keys.empty()) return handler({});
  auto call = pending_.Add<ReadResult>(std::move(handler), {Errc::kTransient, {}});
  std::vector<redis::Request> requests(batch.keys.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string* const key = &batch.keys[i];
    requests[i].slot = redis::SlotOfKey(engine_->layout, *key);
    engine_->layout.AppendRead({&key, 1}, &requests[i].command);
  }
  Start<ReadResult>(engine_->topology->strand(), call,
                    [engine = engine_, requests = std::move(requests)]() mutable {
                      return engine->Read(std::move(requests));
                    });
}

void RedisClusterStore::NewEpoch(EpochHandler handler) {
  auto call = pending_.AddResult<Epoch>(std::move(handler), Errc::kTransient);
  Start<Result<Epoch>>(engine_->topology->strand(), call,
                       [engine = engine_] { return engine->NewEpoch(); });
}

void RedisClusterStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  if (!traits_.fences || epoch > redis::Layout::kLargestEpoch) return handler(Errc::kRefused);
  auto call = pending_.AddErrc(std::move(handler), Errc::kTransient);
  Start<Errc>(engine_->topology->strand(), call,
              [engine = engine_, scope, epoch] { return engine->Fence(scope, epoch); });
}

void RedisClusterStore::LimitScope(const Scope& scope, HashSlots slots) {
  if (!engine_->layout.prefix().empty()) return;  // The keys of the cluster are in other slots.
  if (slots.first > slots.last || slots.last >= redis::kSlots) return;
  asio::dispatch(engine_->topology->strand(),
                 [engine = engine_, scope, slots] { engine->LimitScope(scope, slots); });
}

void RedisClusterStore::Scan(const ScanRequest& request, ScanHandler handler) {
  auto place = redis::ScanPlace::Decode('c', request.cursor);
  if (!place || request.limit == 0) return handler({Errc::kRefused, {}, {}});
  auto call = pending_.Add<ScanResult>(std::move(handler), {Errc::kTransient, {}, {}});
  Start<ScanResult>(engine_->topology->strand(), call,
                    [engine = engine_, request, place = *std::move(place)] {
                      return engine->Scan(request, place);
                    });
}

RedisClusterStore::Redirections RedisClusterStore::redirections() const {
  return {.moved = engine_->topology->moved(), .asked = engine_->topology->asked()};
}

Result<std::unique_ptr<Store>> RedisClusterStore::OpenUrl(const StoreUrl& url,
                                                          const asio::any_io_executor& executor,
                                                          Diagnostics* diagnostics) {
  Options options;
  UrlOptionReader reader(url);
  redis::ReadOptions(reader, &options);
  std::optional<std::string> error = reader.Finish();
  auto seeds = redis::ReadAuthority(url.authority, &options);
  if (!error && (!seeds || seeds->empty() || url.path.size() > 1)) {
    error = "a redis-cluster: URL names nodes; a cluster has one database, without a number";
  }
  if (error) return BadUrl(*error, kUrlSyntax, diagnostics);
  options.seeds = *std::move(seeds);
  return Open(options, executor, diagnostics);
}

}  // namespace stout
