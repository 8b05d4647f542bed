#include "stout/core/dirty_table.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "core/hash.h"
#include "core/trim.h"

namespace stout::internal {

Errc DirtyTable::Mark(KeyView key, std::size_t bytes, Version version, TimePoint now) {
  const std::uint32_t hash = HashOf(key);
  Slot slot = Find(key, hash);
  if (const Errc errc = Admit(slot, key, bytes); errc != Errc::kOk) return errc;
  if (slot == kNone) slot = Insert(key, hash);
  recent_ = slot;
  DirtyKey& entry = keys_[slot];
  SetBytes(entry, bytes);
  entry.newest = version;
  if (!entry.dirty) {
    entry.dirty = true;
    entry.dirty_since = entry.ready_since = now;
    if (entry.sending == 0) PushBack(slot);
  }
  return Errc::kOk;
}

Errc DirtyTable::Admits(KeyView key, std::size_t bytes) const {
  return Admit(Find(key), key, bytes);
}

// Changes `bytes` to the size that counts for the key.
Errc DirtyTable::Admit(Slot slot, KeyView key, std::size_t& bytes) const {
  const std::size_t held = slot == kNone ? 0 : keys_[slot].bytes;
  if (bytes > options_.max_dirty_bytes) return Errc::kTooLarge;  // first: the sum could overflow
  bytes = bytes == 0 ? std::max(held, key.size()) : bytes + key.size();
  if (bytes > options_.max_dirty_bytes) return Errc::kTooLarge;
  const bool too_many_keys = slot == kNone && keys_.in_use() >= options_.max_dirty_keys;
  const bool too_many_bytes = bytes > held && bytes_ - held + bytes > options_.max_dirty_bytes;
  return too_many_keys || too_many_bytes ? Errc::kPushedBack : Errc::kOk;
}

DirtyTable::Slot DirtyTable::Find(KeyView key) const {
  const bool just_marked = recent_ != kNone && keys_[recent_].key == key;
  return just_marked ? recent_ : Find(key, HashOf(key));
}

DirtyTable::Slot DirtyTable::Find(KeyView key, std::uint32_t hash) const {
  return index_.Find(hash, [&](Slot slot) { return keys_[slot].key == key; });
}

DirtyTable::Slot DirtyTable::Insert(KeyView key, std::uint32_t hash) {
  const Slot slot = keys_.Take();
  DirtyKey& entry = keys_[slot];
  try {
    entry.key = key;  // keeps the capacity of the slot's previous key
    index_.Insert(hash, slot);
  } catch (const std::bad_alloc&) {
    keys_.Give(slot);
    throw;
  }
  entry.hash = hash;
  entry.failures = 0;
  entry.newest = entry.sending = entry.doubtful = 0;
  entry.bytes = 0;
  entry.dirty = entry.urgent = false;
  return slot;
}

void DirtyTable::SetBytes(DirtyKey& key, std::size_t bytes) {
  bytes_ += bytes - key.bytes;
  key.bytes = bytes;
}

void DirtyTable::PushBack(Slot slot) {
  keys_[slot].next = kNone;
  (tail_ == kNone ? head_ : keys_[tail_].next) = slot;
  tail_ = slot;
  ++ready_;
  urgent_ += keys_[slot].urgent;
}

void DirtyTable::PushFront(Slot slot) {
  keys_[slot].next = head_;
  if (head_ == kNone) tail_ = slot;
  head_ = slot;
  ++ready_;
  urgent_ += keys_[slot].urgent;
}

DirtyTable::Slot DirtyTable::PopReady() {
  const Slot slot = head_;
  head_ = keys_[slot].next;
  if (head_ == kNone) tail_ = kNone;
  --ready_;
  urgent_ -= keys_[slot].urgent;
  return slot;
}

void DirtyTable::Pause(Slot slot, TimePoint until) {
  paused_.push_back({until, slot});
  std::push_heap(paused_.begin(), paused_.end(), std::greater<>());
}

void DirtyTable::Resume(TimePoint now) {
  while (!paused_.empty() && paused_.front().until <= now) {
    std::pop_heap(paused_.begin(), paused_.end(), std::greater<>());
    const Slot slot = paused_.back().slot;
    paused_.pop_back();
    keys_[slot].ready_since = now;
    PushBack(slot);
  }
}

void DirtyTable::HurryAll() {
  for (Slot slot = head_; slot != kNone; slot = keys_[slot].next) keys_[slot].urgent = true;
  urgent_ = ready_;
  for (const Paused& paused : paused_) {
    keys_[paused.slot].urgent = true;
    PushBack(paused.slot);
  }
  paused_.clear();
}

bool DirtyTable::BeginWrite(DirtyKey& key) {
  key.sending = key.newest;
  key.dirty = false;
  return std::exchange(key.urgent, false);
}

void DirtyTable::EndWrite(Slot slot, TimePoint now) {
  DirtyKey& entry = keys_[slot];
  entry.sending = entry.doubtful = 0;
  entry.failures = 0;
  if (entry.dirty) {
    entry.ready_since = now;
    return PushBack(slot);
  }
  SetBytes(entry, 0);
  index_.Erase(entry.hash, slot);
  Trim(entry.key);
  keys_.Give(slot);
  if (slot == recent_) recent_ = kNone;
}

void DirtyTable::UndoWrite(Slot slot, TimePoint dirty_since, bool urgent) {
  DirtyKey& entry = keys_[slot];
  entry.sending = 0;
  entry.dirty = true;
  entry.urgent |= urgent;
  entry.dirty_since = entry.ready_since = dirty_since;
}

// Looking at all keys would take too long while there are many.
TimePoint DirtyTable::DirtySince() const {
  TimePoint since = head_ == kNone ? kNever : keys_[head_].dirty_since;
  for (const Paused& paused : paused_) since = std::min(since, keys_[paused.slot].dirty_since);
  return since;
}

void DirtyTable::Clear() {
  keys_ = {};
  index_ = {};
  bytes_ = ready_ = urgent_ = 0;
  recent_ = head_ = tail_ = kNone;
  paused_.clear();
}

}  // namespace stout::internal
