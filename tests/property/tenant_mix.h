#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/tenants/s3_fifo.h"
#include "stout/core/admission.h"
#include "stout/core/random.h"
#include "stout/core/segmented_lru.h"
#include "stout/sim/reader.h"

/// Tenants that share a cache, as a simulation: every key has one byte.
namespace stout::tenant_mix {

using sim::Reader;
using sim::Reads;

/// A cache with a law, or without one.
class Cache {
 public:
  enum class Order { kLru, kSegmented };

  Cache(std::size_t keys, Order order, std::optional<AdmissionOptions> law)
      : max_keys_(keys), order_(order), lru_(keys) {
    if (law) law_.emplace(keys, *law);
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache() {
    while (!lru_.empty()) lru_.Remove(lru_.Next());
  }

  /// Reads a key for a tenant. Returns true if it was in the cache.
  bool Read(TenantId tenant, std::uint64_t key) {
    const auto found = keys_.find(key);
    if (law_) law_->Observe(tenant, key, 1, found != keys_.end());
    if (found != keys_.end()) {
      Key& used = found->second;
      const bool stays =
          order_ == Order::kLru || (used.segment == Key::Segment::kGuest && !Admits(tenant));
      stays ? lru_.Requeue(used) : lru_.Use(used);
      return true;
    }
    const bool full = keys_.size() >= max_keys_;
    const bool enters = !full || Admits(tenant);
    if (full) {
      Key& next = lru_.Next();
      lru_.Remove(next);
      keys_.erase(next.key);
    }
    Key& added = keys_[key];
    added.key = key;
    added.bytes = 1;
    added.segment = enters ? Key::Segment::kProbation : Key::Segment::kGuest;
    lru_.Insert(added);
    return false;
  }
  [[nodiscard]] Admission& law() { return *law_; }

 private:
  bool Admits(TenantId tenant) { return !law_ || law_->Admits(tenant, random_.Unit()); }

  struct Key : SegmentedLruElement {
    std::uint64_t key = 0;
  };

  const std::size_t max_keys_;
  const Order order_;
  std::unordered_map<std::uint64_t, Key> keys_;
  SegmentedLru<Key> lru_;
  std::optional<Admission> law_;
  SplitMix64 random_{7};
};

/// The same with S3-FIFO. A key that is not admitted does not enter.
class S3FifoCache {
 public:
  S3FifoCache(std::size_t keys, std::optional<AdmissionOptions> law)
      : max_keys_(keys), keys_(keys) {
    if (law) law_.emplace(keys, *law);
  }

  /// Reads a key for a tenant. Returns true if it was in the cache.
  bool Read(TenantId tenant, std::uint64_t key) {
    const bool hit = keys_.Use(key) != nullptr;
    if (law_) law_->Observe(tenant, key, 1, hit);
    if (!hit && (keys_.bytes() < max_keys_ || Admits(tenant))) keys_.Insert(key, true, 1);
    return hit;
  }

 private:
  bool Admits(TenantId tenant) { return !law_ || law_->Admits(tenant, random_.Unit()); }

  const std::size_t max_keys_;
  bench::S3Fifo<std::uint64_t, bool> keys_;
  std::optional<Admission> law_;
  SplitMix64 random_{7};
};

/// The length of a run, and its measured part. Counts are requests of the first tenant.
struct Plan {
  std::size_t warm = 0;  ///< the first tenant alone
  std::size_t together = 0;
  std::size_t measured = 0;           ///< the last of `together`
  std::optional<std::size_t> move{};  ///< the first tenant's keys change after this many together
  std::uint64_t seed = 1;
};

/// Returns each tenant's hit rate.
template <typename AnyCache>
std::vector<double> HitRates(AnyCache& cache, const std::vector<Reads>& tenants, const Plan& plan) {
  SplitMix64 random(plan.seed);
  std::vector<Reader> readers(tenants.begin(), tenants.end());
  double all = 0;
  for (const Reads& reads : tenants) all += reads.rate;
  std::uint64_t moves = 0;
  const auto read = [&](std::size_t t) {
    const std::uint64_t set = t == 0 ? moves << 32U : t << 40U;
    return cache.Read(static_cast<TenantId>(t), SplitMix64(set + readers[t].Next(random)).Next());
  };
  for (std::size_t i = 0; i < plan.warm; ++i) read(0);
  std::vector<double> hits(tenants.size());
  std::vector<double> reads(tenants.size());
  for (std::size_t first = 0; first < plan.together;) {
    double drawn = random.Unit() * all;
    std::size_t t = 0;
    while (t + 1 < tenants.size() && drawn >= tenants[t].rate) drawn -= tenants[t++].rate;
    if (t == 0 && plan.move == first) ++moves;
    const bool hit = read(t);
    if (first + plan.measured >= plan.together) {
      hits[t] += hit ? 1 : 0;
      ++reads[t];
    }
    if (t == 0) ++first;
  }
  for (std::size_t t = 0; t < tenants.size(); ++t) hits[t] /= std::max(1.0, reads[t]);
  return hits;
}

}  // namespace stout::tenant_mix
