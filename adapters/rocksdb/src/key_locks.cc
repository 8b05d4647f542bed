#include "key_locks.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace stout::rocksdb_store {

KeyLocks::Guard::Guard(KeyLocks& locks, Batches batches) : locks_(locks) {
  std::size_t added = 0;
  while (added < batches.size() && Add(*batches[added])) ++added;
  batches_ = batches.first(added);
  std::unique_lock lock(locks_.mutex_);
  while (!CanTake()) {
    ++locks_.waiting_;
    locks_.released_.wait(lock);
    --locks_.waiting_;
  }
  locks_.held_.reserve(locks_.held_.size() + keys_.size());  // So that no insert fails half-way.
  locks_.held_.insert(keys_.begin(), keys_.end());
}

KeyLocks::Guard::~Guard() {
  const std::lock_guard lock(locks_.mutex_);
  for (const Key& key : keys_) locks_.held_.erase(key);
  if (locks_.waiting_ > 0) locks_.released_.notify_all();
}

bool KeyLocks::Guard::Add(const WriteBatch& batch) {
  std::vector<Key> keys;
  keys.reserve(batch.items.size());
  for (const WriteItem& item : batch.items) {
    keys.push_back({item.key, std::hash<std::string_view>()(item.key)});
    if (keys_.contains(keys.back())) return false;
  }
  keys_.insert(keys.begin(), keys.end());
  return true;
}

bool KeyLocks::Guard::CanTake() const {
  return std::none_of(keys_.begin(), keys_.end(),
                      [&](const Key& key) { return locks_.held_.contains(key); });
}

}  // namespace stout::rocksdb_store
