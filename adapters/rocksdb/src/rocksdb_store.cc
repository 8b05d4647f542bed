#include "stout/adapters/rocksdb_store.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "engine.h"
#include "stout/adapters/scan_page.h"

namespace stout {
namespace {

// RocksDB counts the bytes of one WriteBatch in 32 bits; far below that is far more than is wise.
constexpr std::size_t kMaxBatchBytes = std::size_t{1} << 30;

}  // namespace

Result<std::unique_ptr<RocksDbStore>> RocksDbStore::Open(const RocksDbOptions& options,
                                                         Diagnostics* diagnostics) {
  auto database = rocksdb_store::Database::Open(options, diagnostics);
  if (!database) return database.error();
  return std::unique_ptr<RocksDbStore>(
      new RocksDbStore(options, std::make_unique<Engine>(options, *std::move(database))));
}

RocksDbStore::RocksDbStore(const RocksDbOptions& options, std::unique_ptr<Engine> engine)
    : traits_{.name = "rocksdb",
              .atomic_batches = true,
              .compares_stamps = true,
              .fences = true,
              .durable = options.sync,
              .scans = true,
              .ordered = true,
              .tombstone_ttl = options.tombstone_ttl,
              .max_batch_bytes = kMaxBatchBytes},
      engine_(std::move(engine)) {}

RocksDbStore::~RocksDbStore() { engine_->Join(); }

const StoreTraits& RocksDbStore::traits() const { return traits_; }

void RocksDbStore::Write(const WriteBatch& batch, WriteHandler handler) {
  if (batch.bytes > kMaxBatchBytes) return handler({Errc::kTooLarge, {}});
  engine_->Write(batch, std::move(handler));
}

void RocksDbStore::Read(const ReadBatch& batch, ReadHandler handler) {
  engine_->RunOnReader([this, &batch, handler = std::move(handler)](bool admitted) mutable {
    ReadResult result = admitted ? engine_->Read(batch) : ReadResult{Errc::kTransient, {}};
    result.queue = engine_->reads_waiting();
    handler(std::move(result));
  });
}

void RocksDbStore::NewEpoch(EpochHandler handler) {
  engine_->RunOnWriter([this, handler = std::move(handler)](bool admitted) mutable {
    const Result<Epoch> epoch = admitted ? engine_->NewEpoch() : Result<Epoch>(Errc::kTransient);
    handler(epoch ? ErrorCode() : epoch.error(), epoch ? *epoch : 0);
  });
}

void RocksDbStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  engine_->RunOnWriter([this, scope, epoch, handler = std::move(handler)](bool admitted) mutable {
    handler(admitted ? engine_->Fence(scope, epoch) : Errc::kTransient);
  });
}

void RocksDbStore::Scan(const ScanRequest& request, ScanHandler handler) {
  if (!ScanPage::FirstKey(request)) return handler({Errc::kRefused, {}, {}});
  engine_->RunOnReader([this, request, handler = std::move(handler)](bool admitted) mutable {
    handler(admitted ? engine_->Scan(request) : ScanResult{Errc::kTransient, {}, {}});
  });
}

std::vector<TenantStats> RocksDbStore::CachedByTenant() const {
  return engine_->block_admission().Stats();
}

void RocksDbStore::Obey(std::shared_ptr<const Tenants> tenants) {
  engine_->block_admission().Obey(std::move(tenants));
}

ErrorCode RocksDbStore::Compact() { return engine_->Compact(); }

Result<std::unique_ptr<Store>> RocksDbStore::OpenUrl(const StoreUrl& url,
                                                     const boost::asio::any_io_executor&,
                                                     Diagnostics* diagnostics) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  RocksDbOptions options;
  options.path = url.path;
  UrlOptionReader reader(url);
  reader.Count("threads", options.threads, 1, 1024);
  reader.Count("read_threads", options.read_threads, 1, 1024);
  reader.Flag("sync", options.sync);
  reader.Duration("tombstone_ttl", options.tombstone_ttl);
  reader.Duration("sync_delay", options.sync_delay);
  reader.Count("max_queue", options.max_queue, 1, std::size_t{1} << 30);
  reader.Bytes("memtable", options.memtable_bytes, kMiB, 1024 * kMiB);
  reader.Bytes("cache", options.cache_bytes, kMiB, kMiB * kMiB);
  reader.Bytes("block", options.block_bytes, kMiB / 1024, kMiB);
  reader.Flag("direct_reads", options.direct_reads);
  std::size_t shards = 0;  // not given
  reader.Count("cache_shards", shards, 1, 1024);
  if (shards > 0) options.cache_shard_bits = std::bit_width(shards) - 1;
  std::size_t pool = static_cast<std::size_t>(std::lround(options.cache_pool * 100));
  reader.Count("cache_pool", pool, 0, 100);  // in percent
  options.cache_pool = static_cast<double>(pool) / 100;
  std::optional<std::string> error = reader.Finish();
  if (!error && !url.authority.empty()) {
    error = fmt::format("rocksdb: takes no host: write {}",
                        Redacted("rocksdb:/" + url.authority + url.path));
  }
  if (!error && url.path.empty()) error = "rocksdb: needs a path";
  if (error) return BadUrl(*error, kUrlSyntax, diagnostics);
  return Open(options, diagnostics);
}

}  // namespace stout
