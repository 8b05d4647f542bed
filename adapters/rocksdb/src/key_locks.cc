#include "key_locks.h"

#include <algorithm>
#include <functional>

namespace stout::rocksdb_store {

KeyLocks::Guard::Guard(KeyLocks& locks, const std::vector<WriteItem>& items) : locks_(locks) {
  keys_.reserve(items.size());
  for (const WriteItem& item : items) {
    keys_.push_back({item.key, std::hash<std::string_view>()(item.key)});
  }
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

bool KeyLocks::Guard::CanTake() const {
  return std::none_of(keys_.begin(), keys_.end(),
                      [&](const Key& key) { return locks_.held_.contains(key); });
}

}  // namespace stout::rocksdb_store
