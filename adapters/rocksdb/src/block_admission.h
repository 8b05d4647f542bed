#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "stout/core/admission.h"
#include "stout/core/batch.h"
#include "stout/core/random.h"
#include "stout/tenants.h"

namespace stout::rocksdb_store {

/// Decides which reads may fill RocksDB's block cache, which tenants share.
///
/// The law is told each key as a block of its own. That is so if the keys that a tenant reads are
/// far apart. While no request has a tenant, the law is not asked.
///
/// Threads: any.
class BlockAdmission {
 public:
  /// Keys that are read together: those of one tenant that may fill the cache, or may not.
  struct Group {
    TenantId tenant = 0;
    bool fills = true;
    std::vector<std::size_t> keys;  ///< indices into ReadBatch::keys
  };

  /// `cache_bytes`: of the block cache. `block_bytes`: of a block.
  BlockAdmission(std::size_t cache_bytes, std::size_t block_bytes)
      : block_bytes_(block_bytes), law_(cache_bytes) {}

  /// Returns the keys of a batch in groups. `is_full()`: a block that comes displaces another.
  template <typename IsFull>
  [[nodiscard]] std::vector<Group> Groups(const ReadBatch& batch, const IsFull& is_full) {
    if (!Applies(batch)) return {AllOf(batch)};
    std::vector<Group> groups;
    const std::lock_guard lock(mutex_);
    if (tenants_) tenants_->ApplyTo(law_, &obeyed_);
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      const TenantId tenant = batch.tenants.empty() ? 0 : batch.tenants[i];
      Add(groups, tenant, law_.Admits(tenant, random_.Unit()) || !is_full(), i);
    }
    return groups;
  }
  /// Records that a group was read. `bytes`: of the record of each of its keys. `misses`: blocks
  /// that were not in the cache.
  void OnRead(const ReadBatch& batch, const Group& group, const std::vector<std::size_t>& bytes,
              std::size_t misses);

  void Obey(std::shared_ptr<const Tenants> tenants);
  [[nodiscard]] std::vector<TenantStats> Stats() const;

 private:
  [[nodiscard]] bool Applies(const ReadBatch& batch);
  [[nodiscard]] static Group AllOf(const ReadBatch& batch);
  static void Add(std::vector<Group>& groups, TenantId tenant, bool fills, std::size_t key);

  const std::size_t block_bytes_;
  std::atomic<bool> has_tenants_ = false;
  mutable std::mutex mutex_;
  Admission law_;
  std::shared_ptr<const Tenants> tenants_;
  std::uint64_t obeyed_ = 0;  // see Tenants::ApplyTo
  SplitMix64 random_{0};
};

}  // namespace stout::rocksdb_store
