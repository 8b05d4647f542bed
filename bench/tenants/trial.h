#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/admission.h"
#include "stout/core/types.h"
#include "stout/sim/reader.h"
#include "stout/store.h"
#include "stout/tenants.h"

namespace stout::bench {

/// A store with a cache, or a map with a cache before the store. The tenants of a trial read it.
///
/// Threads: any; handlers run on any thread.
class SharedCache {
 public:
  SharedCache() = default;
  SharedCache(const SharedCache&) = delete;
  SharedCache& operator=(const SharedCache&) = delete;
  virtual ~SharedCache() = default;

  /// Reads one key. `done` gets whether that succeeded.
  virtual void Read(TenantId tenant, std::string key, std::function<void(bool)> done) = 0;
  [[nodiscard]] virtual std::vector<TenantStats> Stats() = 0;
};

/// The cache of the store itself.
[[nodiscard]] std::unique_ptr<SharedCache> MakeStoreCache(Store& store);
/// A WriteBackMap before the store, on a thread of its own.
[[nodiscard]] std::unique_ptr<SharedCache> MakeMapCache(Store& store, std::size_t bytes,
                                                        double yield_pause,
                                                        std::shared_ptr<const Tenants> tenants);
/// An S3Fifo before the store, on a thread of its own. It has neither tenants nor a law.
[[nodiscard]] std::unique_ptr<SharedCache> MakeS3FifoCache(Store& store, std::size_t bytes);

/// A tenant of a trial. Its clients each wait for an answer before they read the next key.
struct TenantLoad {
  std::string name;
  sim::Reads reads;
  std::uint64_t first_key = 0;
  std::size_t clients = 4;
};

/// Counts are requests of the first tenant.
struct Trial {
  std::vector<TenantLoad> tenants;
  std::uint64_t warm = 0;  ///< before the others begin
  std::uint64_t together = 0;
  std::uint64_t measured = 0;  ///< the last of `together`
  Duration measured_for{};     ///< at least; then more than `measured` are
  bool move = false;           ///< the first tenant reads other keys once the others begin
  /// Gets figures of all tenants after each hundredth of `together`. May be empty.
  std::function<void(std::uint64_t requests, const std::vector<TenantStats>& tenants)> sample{};
};

struct TenantResult {
  std::string name;
  std::uint64_t requests = 0;
  double hit_rate = 0;
  double rate_per_s = 0;
  double p50_us = 0;
  double p99_us = 0;
  TenantStats stats;  ///< at the end
};

/// Throws std::runtime_error if a read fails.
[[nodiscard]] std::vector<TenantResult> Run(const Trial& trial, SharedCache& cache);

[[nodiscard]] std::string KeyOf(std::uint64_t number);

}  // namespace stout::bench
