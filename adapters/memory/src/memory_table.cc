#include "memory_table.h"

#include <algorithm>

#include "stout/adapters/scan_page.h"

namespace stout {

WriteResult MemoryStore::Table::Write(const WriteBatch& batch) {
  WriteResult result;
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  CollectTombstones(now);
  if (const auto fence = fences_.find(batch.scope);
      fence != fences_.end() && fence->second > batch.epoch) {
    return {Errc::kFenced, {}};
  }
  max_epoch_ = std::max(max_epoch_, batch.epoch);
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const WriteItem& item = batch.items[i];
    const Stamp stamp{batch.epoch, item.version};
    Cell* const cell = Find(item.key);
    if (cell == nullptr || cell->stamp < stamp) {
      Apply(item, stamp, now, cell == nullptr ? *Insert(item.key) : *cell);
    } else if (cell->stamp.epoch > stamp.epoch) {
      result.items.push_back({static_cast<std::uint32_t>(i), Errc::kFenced});
    }
  }
  return result;
}

MemoryStore::Table::Cell* MemoryStore::Table::Find(std::string_view key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : found->second;
}

MemoryStore::Table::Cell* MemoryStore::Table::Insert(const std::string& key) {
  auto& [stored, cell] = *cells_.try_emplace(key).first;
  return index_.emplace(stored, &cell).first->second;
}

void MemoryStore::Table::Apply(const WriteItem& item, Stamp stamp, Clock::time_point now,
                               Cell& cell) {
  const auto former = cell.deleted ? cell.tombstone : tombstones_.end();
  const bool deleted = item.kind == WriteKind::kDelete;
  if (deleted) {
    cell.tombstone = tombstones_.insert(tombstones_.end(), {now + tombstone_ttl_, item.key});
    cell.value = std::string();
  } else {
    cell.value = item.value;
  }
  cell.stamp = stamp;
  cell.deleted = deleted;
  if (former != tombstones_.end()) tombstones_.erase(former);
}

void MemoryStore::Table::CollectTombstones(Clock::time_point now) {
  while (!tombstones_.empty() && tombstones_.front().expires <= now) {
    index_.erase(tombstones_.front().key);
    cells_.erase(tombstones_.front().key);
    tombstones_.pop_front();
  }
}

ReadResult MemoryStore::Table::Read(const ReadBatch& batch) const {
  ReadResult result;
  result.states.resize(batch.keys.size());
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < batch.keys.size(); ++i) {
    const Cell* const cell = Find(batch.keys[i]);
    if (cell == nullptr) continue;
    result.states[i].found = !cell->deleted;
    if (batch.values) result.states[i].value = cell->value;
    result.states[i].stamp = cell->stamp;
  }
  return result;
}

Epoch MemoryStore::Table::NewEpoch() {
  const std::lock_guard lock(mutex_);
  return ++max_epoch_;
}

Errc MemoryStore::Table::Fence(const Scope& scope, Epoch epoch) {
  const std::lock_guard lock(mutex_);
  Epoch& fence = fences_[scope];
  if (fence > epoch) return Errc::kFenced;
  fence = epoch;
  max_epoch_ = std::max(max_epoch_, epoch);
  return Errc::kOk;
}

ScanResult MemoryStore::Table::Scan(const ScanRequest& request) const {
  ScanPage page(request.limit);
  const std::lock_guard lock(mutex_);
  for (auto at = cells_.lower_bound(*ScanPage::FirstKey(request)); at != cells_.end(); ++at) {
    if (page.full()) break;
    const Cell& cell = at->second;
    page.Add(at->first, {.found = !cell.deleted,
                         .value = request.values ? cell.value : std::string(),
                         .stamp = cell.stamp});
  }
  return page.TakeOrdered();
}

}  // namespace stout
