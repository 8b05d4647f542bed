#include "block_admission.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace stout::rocksdb_store {

bool BlockAdmission::Applies(const ReadBatch& batch) {
  if (!batch.tenants.empty()) has_tenants_ = true;
  return has_tenants_;
}

BlockAdmission::Group BlockAdmission::AllOf(const ReadBatch& batch) {
  Group all;
  all.keys.resize(batch.keys.size());
  std::iota(all.keys.begin(), all.keys.end(), std::size_t{0});
  return all;
}

void BlockAdmission::Add(std::vector<Group>& groups, TenantId tenant, bool fills, std::size_t key) {
  auto group = std::ranges::find_if(
      groups, [&](const Group& each) { return each.tenant == tenant && each.fills == fills; });
  if (group == groups.end()) group = groups.insert(group, Group{tenant, fills, {}});
  group->keys.push_back(key);
}

void BlockAdmission::OnRead(const ReadBatch& batch, const Group& group,
                            const std::vector<std::size_t>& bytes, std::size_t misses) {
  if (!has_tenants_) return;
  std::vector<std::size_t> hashes;
  for (const std::size_t i : group.keys) hashes.push_back(std::hash<KeyView>()(batch.keys[i]));
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < hashes.size(); ++at) {
    law_.Observe(group.tenant, hashes[at], std::max(block_bytes_, bytes[at]), at >= misses);
  }
}

void BlockAdmission::Obey(std::shared_ptr<const Tenants> tenants) {
  const std::lock_guard lock(mutex_);
  tenants_ = std::move(tenants);
  obeyed_ = 0;
}

std::vector<TenantStats> BlockAdmission::Stats() const {
  const std::lock_guard lock(mutex_);
  return law_.Stats();
}

}  // namespace stout::rocksdb_store
