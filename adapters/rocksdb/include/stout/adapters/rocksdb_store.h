#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/store_url.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/store.h"

namespace stout {

struct RocksDbOptions {
  // --- Behaviour -----------------------------------------------------------------------------

  /// The directory of the database; it and its parents are created if missing.
  std::string path{};
  /// Wait for the disk before a write is answered. Without it, what was answered survives a crash
  /// of the process but not of the machine, and the store does not claim to be durable.
  bool sync = true;
  /// How long a delete keeps its stamp, so that a late older write cannot undo it. Dropped by the
  /// first compaction that meets it after that; measured by the wall clock. >= 0
  Duration tombstone_ttl = std::chrono::hours(1);
  /// Adds this time to every sync of the write-ahead log, to show a slow volume; for demos and
  /// tests. >= 0
  Duration sync_delay{};

  // --- Performance ---------------------------------------------------------------------------

  /// Threads that write. They mostly wait for the disk, so their number may far exceed the number
  /// of cores. Batches that arrive while a group of batches is committed wait, and are the next
  /// group. A batch that must be alone (WriteBatch::alone) has a thread of its own, and RocksDB
  /// syncs once for all threads that write at the same time (group commit). 1..1024
  std::size_t threads = 16;
  /// Threads that only read, so that a write stall does not delay reads. 1..1024
  std::size_t read_threads = 4;
  /// Calls waiting or running, beyond which a call fails with kTransient at once. >= 1
  std::size_t max_queue = 4096;
  /// Size of a memtable; up to four are held while the disk catches up.
  std::size_t memtable_bytes = std::size_t{64} << 20;
  /// Cache of uncompressed blocks, with the index and filter blocks in it.
  std::size_t cache_bytes = std::size_t{128} << 20;
  /// The cache has 2^this parts, each with a lock and an order of its own. -1: RocksDB chooses, 2^6
  /// at most. A cache with few blocks needs few parts. -1..10
  int cache_shard_bits = -1;
  /// The part of the cache that protects indexes, filters, and blocks that were used again. 0..1
  double cache_pool = 0.5;
  /// Size of a block, which is what a read reads and the cache holds. 1 KiB .. 1 MiB
  std::size_t block_bytes = std::size_t{4} << 10;
  /// Read past the page cache of the operating system. Then `cache_bytes` is all memory that reads
  /// use, and what tenants have of it is what they have.
  bool direct_reads = false;
};

/// A durable store on the local disk, embedded in the process.
///
///     rocksdb:/var/lib/app?threads=16&sync=true&tombstone_ttl=1h
///
/// Batches are atomic (one rocksdb::WriteBatch), and stamps are compared atomically with the write.
/// A group of batches is one write of RocksDB. It has at most 256 KiB or one larger batch, and no
/// key twice. It holds its keys from the look-up of their stamps until it is written. Groups with
/// no key in common run in parallel. A deleted key is read as not found, with the stamp of the
/// delete while its tombstone lives. Only one process at a time opens a database.
///
/// Tenants share the block cache; see Admission. Scans do not fill it.
///
/// Owner: needs no executor: it has its own threads.
/// Threads: any; handlers run on the store's threads and must not destroy the store. One thread
///   answers a group: the handler of a write must not wait for another write, epoch or fence.
/// Errors: kTooLarge beyond traits().max_batch_bytes. kUnknown when a write fails, because the disk
///   may have it nevertheless. kTransient while the database recovers from that by itself, and when
///   `max_queue` is reached. After a full disk it recovers some seconds after there is space for a
///   memtable; reads go on meanwhile. Per item kFenced, and kRefused for a key of which the
///   database holds bytes that this adapter did not write (kCorrupt when read).
/// Log: the first error of each kind, then at most one a minute, with a remedy. Writes that succeed
///   again are logged once.
class RocksDbStore final : public Store {
 public:
  /// Fails with kBadUrl (path cannot be used), kTransient (open in another process), kCorrupt.
  [[nodiscard]] static Result<std::unique_ptr<RocksDbStore>> Open(const RocksDbOptions& options,
                                                                  Diagnostics* diagnostics);
  ~RocksDbStore() override;

  static constexpr std::string_view kUrlSyntax =
      "rocksdb:PATH[?threads=16][&read_threads=4][&sync=true][&tombstone_ttl=1h][&max_queue=4096]"
      "[&memtable=64MiB][&cache=128MiB][&cache_shards=64][&cache_pool=50][&block=4KiB]"
      "[&direct_reads=false][&sync_delay=0s]";
  [[nodiscard]] static Result<std::unique_ptr<Store>> OpenUrl(
      const StoreUrl& url, const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  [[nodiscard]] const StoreTraits& traits() const override;
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  void NewEpoch(EpochHandler handler) override;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override;
  void Scan(const ScanRequest& request, ScanHandler handler) override;
  [[nodiscard]] std::vector<TenantStats> CachedByTenant() const override;
  void Obey(std::shared_ptr<const Tenants> tenants) override;

  /// Rewrites the whole database now, without waiting for RocksDB's own compactions: drops what is
  /// deleted and expired. Blocks, for as long as that takes. Fails with kTransient.
  ErrorCode Compact();

 private:
  class Engine;

  RocksDbStore(const RocksDbOptions& options, std::unique_ptr<Engine> engine);

  const StoreTraits traits_;
  const std::unique_ptr<Engine> engine_;
};

}  // namespace stout
