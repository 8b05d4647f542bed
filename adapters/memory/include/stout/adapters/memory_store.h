#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "stout/adapters/store_url.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/store.h"

namespace stout {

/// The latency of a store, modelled as a queue before a few servers. A call waits, first come first
/// served, for one of `workers`. The worker then takes `latency + items * per_item`, spread evenly
/// by ±`jitter`. If all are zero, calls are answered at once.
struct LatencyModel {
  Duration latency{};       ///< per call; >= 0
  Duration per_item{};      ///< per item of a batch; >= 0
  std::size_t workers = 1;  ///< Calls served at the same time. >= 1
  double jitter = 0;        ///< Share of the service time, 0..1.
  std::uint64_t seed = 1;   ///< of the jitter
  /// Calls waiting or served, beyond which a call fails with kTransient at once. >= 1
  std::size_t max_queue = 65536;

  [[nodiscard]] bool immediate() const { return latency <= Duration{} && per_item <= Duration{}; }
};

struct MemoryOptions {
  LatencyModel latency{};
  /// How long a delete keeps its stamp, so that a late older write cannot undo it. Collected by the
  /// first write after that. >= 0
  Duration tombstone_ttl = std::chrono::hours(1);
};

/// A store in memory, for tests, simulations of a slow store, and play: nothing survives it.
///
///     memory:?latency=2ms&per_item=20us&workers=4&jitter=0.2&seed=1&max_queue=100&tombstone_ttl=1h
///
/// Compares stamps; batches are atomic, also towards readers. A deleted key is read as not found,
/// with the stamp of the delete while its tombstone lives. It can lose nothing while it is open, so
/// it never answers kLost. ReadResult::queue: the other calls that wait or are served.
/// Owner: the executor's context must outlive it. Destroying it ends the calls that wait at once.
/// Threads: any. Without latency, handlers run inside the call; with it, on the executor.
///   A handler must not destroy the store.
/// Errors: kFenced per item; kTransient when `max_queue` is reached.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const boost::asio::any_io_executor& executor, MemoryOptions options = {});
  ~MemoryStore() override;

  static constexpr std::string_view kUrlSyntax =
      "memory:[?latency=2ms][&per_item=20us][&workers=1][&jitter=0.2][&seed=1][&max_queue=N]"
      "[&tombstone_ttl=1h]";
  [[nodiscard]] static Result<std::unique_ptr<Store>> OpenUrl(
      const StoreUrl& url, const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  [[nodiscard]] const StoreTraits& traits() const override;
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  void NewEpoch(EpochHandler handler) override;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override;
  void Scan(const ScanRequest& request, ScanHandler handler) override;

 private:
  class Table;
  class Server;

  template <typename Call>
  void Serve(std::size_t items, Call call);

  const StoreTraits traits_;
  const std::unique_ptr<Table> table_;
  const std::unique_ptr<Server> server_;  // Null: calls are answered at once.
};

}  // namespace stout
