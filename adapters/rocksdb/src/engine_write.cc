#include <rocksdb/write_batch.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "engine.h"
#include "lookup.h"
#include "record.h"

namespace stout {

using rocksdb_store::Database;
using rocksdb_store::Decode;
using rocksdb_store::Header;
using rocksdb_store::KeyLocks;
using rocksdb_store::Lookup;
using rocksdb_store::Record;

namespace {

rocksdb::Status Put(const Database& database, const WriteItem& item, Stamp stamp,
                    rocksdb::WriteBatch* updates) {
  Header header;
  const rocksdb::Slice key = item.key;
  const rocksdb::Slice parts[] = {
      rocksdb_store::EncodeHeader(item.kind, stamp, rocksdb_store::UnixTimeMs(), &header),
      item.kind == WriteKind::kDelete ? rocksdb::Slice() : rocksdb::Slice(item.value)};
  return updates->Put(database.records(), rocksdb::SliceParts(&key, 1),
                      rocksdb::SliceParts(parts, 2));
}

}  // namespace

void RocksDbStore::Engine::Write(const WriteBatch& batch, WriteHandler handler) {
  if (batch.alone) {
    return RunOnWriter([this, &batch, handler = std::move(handler)](bool admitted) mutable {
      handler(admitted ? WriteAlone(batch) : WriteResult{Errc::kTransient, {}});
    });
  }
  if (!Admit()) return handler({Errc::kTransient, {}});
  Request request{&batch, batch.bytes + kBytesOfItem * batch.items.size()};
  WriteHandler answered = [this, handler = std::move(handler)](WriteResult result) mutable {
    handler(std::move(result));
    calls_.fetch_sub(1, std::memory_order_relaxed);
  };
  (void)writes_.Add(request, answered);  // calls_ limits them
  CallGroupWriter();
}

WriteResult RocksDbStore::Engine::WriteAlone(const WriteBatch& batch) noexcept {
  try {
    const WriteBatch* const only = &batch;
    return WriteGroup({&only, 1}).front();
  } catch (const std::bad_alloc&) {
    return {Errc::kUnknown, {}};
  }
}

void RocksDbStore::Engine::CallGroupWriter() {
  if (commits_ > 0 || !writes_.NeedsWorker()) return;
  try {
    boost::asio::post(writers_, [this] { WriteWaiting(); });
  } catch (const std::bad_alloc&) {
    writes_.AnswerAll(writes_.TakeAll());
  }
}

void RocksDbStore::Engine::WriteWaiting() {
  Writes::List writes = writes_.Take();
  CallGroupWriter();  // if not all fit into this group
  while (!writes.empty()) {
    Writes::List written = WriteSome(&writes);
    CallGroupWriter();  // for those that waited for the commit
    writes_.AnswerAll(std::move(written));
  }
}

RocksDbStore::Engine::Writes::List RocksDbStore::Engine::WriteSome(Writes::List* writes) {
  std::vector<WriteResult> results;
  try {
    std::vector<const WriteBatch*> batches;
    for (const Writes::Waiting& each : *writes) batches.push_back(each.request.batch);
    results = WriteGroup(batches);
  } catch (const std::bad_alloc&) {  // one of them may be too large
    writes->front().answer = WriteAlone(*writes->front().request.batch);
  }
  Writes::List written;
  const std::size_t count = std::max<std::size_t>(1, results.size());
  for (std::size_t i = 0; i < count; ++i) {
    written.splice(written.end(), *writes, writes->begin());
    if (i < results.size()) written.back().answer = std::move(results[i]);
  }
  return written;
}

std::vector<WriteResult> RocksDbStore::Engine::WriteGroup(Batches batches) {
  std::vector<WriteResult> later(batches.size(), {Errc::kTransient, {}});
  if (failed_ && !Recover()) return later;
  std::shared_lock fence_lock(fence_mutex_, std::defer_lock);
  const auto has_scope = [](const WriteBatch* batch) { return !batch->scope.empty(); };
  if (std::any_of(batches.begin(), batches.end(), has_scope)) {
    const std::lock_guard gate(fence_gate_);
    fence_lock.lock();
  }
  const KeyLocks::Guard guard(key_locks_, batches);
  const std::shared_lock use = Use();
  if (!use.owns_lock()) return later;
  Group group(guard.batches());
  Compare(&group);
  if (!CommitGroup(&group).ok()) {
    // The log may have the group, or may get it when its cached pages reach the disk.
    for (const std::size_t i : group.written) group.results[i] = {Errc::kUnknown, {}};
  }
  return std::move(group.results);
}

rocksdb::Status RocksDbStore::Engine::CommitGroup(Group* group) {
  struct Count {
    explicit Count(std::atomic<std::size_t>& counted) : commits(counted) { ++commits; }
    ~Count() { --commits; }
    std::atomic<std::size_t>& commits;
  };
  std::optional<Count> counts;
  if (!group->batches.front()->alone) counts.emplace(commits_);
  return Commit(group->epoch, &group->updates, write_options_);
}

void RocksDbStore::Engine::Compare(Group* group) {
  std::vector<const WriteItem*> items;
  for (std::size_t i = 0; i < group->batches.size(); ++i) {
    const WriteBatch& batch = *group->batches[i];
    group->results[i].batch = CheckFence(batch);
    if (group->results[i].batch != Errc::kOk) continue;
    for (const WriteItem& item : batch.items) items.push_back(&item);
  }
  const Lookup current(*database_, items,
                       [](const WriteItem* item) -> const std::string& { return item->key; });
  std::size_t first = 0;  // of the batch
  for (std::size_t i = 0; i < group->batches.size(); ++i) {
    const WriteBatch& batch = *group->batches[i];
    if (group->results[i].batch != Errc::kOk) continue;
    const auto before = group->updates.Count();
    group->results[i] = CompareStamps(batch, current, first, &group->updates);
    first += batch.items.size();
    if (group->results[i].batch == Errc::kOk) group->epoch = std::max(group->epoch, batch.epoch);
    if (group->updates.Count() > before) group->written.push_back(i);
  }
}

Errc RocksDbStore::Engine::CheckFence(const WriteBatch& batch) {
  if (batch.scope.empty()) return Errc::kOk;
  const std::optional<Epoch> fence = FenceOf(batch.scope);
  if (!fence) return Errc::kTransient;
  return *fence > batch.epoch ? Errc::kFenced : Errc::kOk;
}

// The look-up sees only durable states. RocksDB shows a write only after its log is synced, and
// unfinished writes of these keys hold their locks. Therefore a repetition may be answered with
// kOk.
WriteResult RocksDbStore::Engine::CompareStamps(const WriteBatch& batch, const Lookup& current,
                                                std::size_t first, rocksdb::WriteBatch* updates) {
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const rocksdb::Status& status = current.status(first + i);
    if (status.ok() || status.IsNotFound()) continue;
    log_.ReadFailed(status);
    return {Errc::kTransient, {}};
  }
  WriteResult result;
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const auto refuse = [&](Errc errc) {
      result.items.push_back({static_cast<std::uint32_t>(i), errc});
    };
    const Stamp stamp{batch.epoch, batch.items[i].version};
    Stamp stored;
    if (current.status(first + i).ok()) {
      const std::optional<Record> record = Decode(current.bytes(first + i));
      if (!record) {
        refuse(Errc::kRefused);  // Writing over it could break the fencing of its key.
        continue;
      }
      stored = record->stamp;
    }
    if (stored < stamp) {
      if (!Put(*database_, batch.items[i], stamp, updates).ok()) refuse(Errc::kTooLarge);
    } else if (stored.epoch > stamp.epoch) {
      refuse(Errc::kFenced);
    }
  }
  return result;
}

}  // namespace stout
