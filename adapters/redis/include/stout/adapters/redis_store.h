#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <memory>
#include <string_view>

#include "stout/adapters/pending_calls.h"
#include "stout/adapters/redis_options.h"
#include "stout/adapters/store_url.h"
#include "stout/error.h"
#include "stout/store.h"

namespace stout {

/// A store on one Redis server, 5 or newer.
///
///     redis://app:secret@cache.example:6379/0?connections=2
///
/// A batch is atomic. RedisMode::kVersioned uses a script that compares stamps and the fence of the
/// batch's scope. kPlain uses MSET and DEL. docs/STORES.md describes the layout of keys and states
/// in the server, and the guarantees of `wait`.
///
/// Durability depends on the server's settings: `appendonly yes` with `appendfsync always`, or
/// `wait` if the server has WAITAOF; and no eviction of keys. They are checked when the store
/// opens. If the user may not run CONFIG GET, they are unknown and count as not durable.
///
/// With RedisOptions::detect_loss, every call to a server that is not durable is kLost once it was
/// started again, or replaced.
///
/// kPlain compares and fences nothing. In kVersioned, a value that the store did not write is read
/// as kCorrupt and is not overwritten. A key of another type (such as a list) reads as not found.
///
/// Owner: the executor's context must outlive the store, and must run: between calls an io_context
///   may have no work. Calls without an answer when the store is destroyed fail: a batch with
///   kUnknown, any other call with kTransient.
/// Threads: any; all I/O is on the executor, without blocking. Open() blocks. Handlers run on the
///   executor, in a call that is refused at once, or in the destructor.
/// Errors: kTransient while there is no connection, and if the server answers with an error
///   (LOADING, BUSY, OOM, MISCONF, READONLY, ...) and so did nothing. kUnknown if the connection is
///   lost, or silent, after a batch was sent, and if fewer replicas than `wait` have it. kTooLarge
///   beyond traits().max_batch_bytes. Per item kFenced and kRefused.
class RedisStore final : public Store {
 public:
  struct Options : RedisOptions {
    RedisAddress address{};
    std::size_t database = 0;  ///< SELECT.
  };

  /// Connects and looks how the server is set up. Fails with kBadUrl (also: wrong password, no such
  /// database, no permission) and kTransient (not reachable now, loading its data, a replica).
  [[nodiscard]] static Result<std::unique_ptr<RedisStore>> Open(
      const Options& options, const boost::asio::any_io_executor& executor,
      Diagnostics* diagnostics);
  ~RedisStore() override;

  static constexpr std::string_view kUrlSyntax =
      "redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?mode=versioned|plain][&connections=2]"
      "[&read_connections=2][&timeout=10s][&connect_timeout=5s][&tombstone_ttl=1h][&prefix=...]"
      "[&wait=0][&wait_timeout=3s][&detect_loss=false][&max_queue=4096][&socket=PATH]";
  [[nodiscard]] static Result<std::unique_ptr<Store>> OpenUrl(
      const StoreUrl& url, const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  void NewEpoch(EpochHandler handler) override;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override;
  void Scan(const ScanRequest& request, ScanHandler handler) override;

 private:
  class Engine;

  RedisStore(StoreTraits traits, std::shared_ptr<Engine> engine,
             std::shared_ptr<const LossFlag> lost);

  const StoreTraits traits_;
  PendingCalls pending_;
  const std::shared_ptr<Engine> engine_;
};

}  // namespace stout
