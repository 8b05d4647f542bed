#pragma once

#include <algorithm>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "stout/store.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_directory.h"

namespace stout::test {

inline WriteItem Put(std::string key, std::string value, Version version) {
  return {std::move(key), std::move(value), WriteKind::kPut, version};
}

inline WriteItem Delete(std::string key, Version version) {
  return {std::move(key), {}, WriteKind::kDelete, version};
}

inline WriteBatch Batch(Epoch epoch, std::vector<WriteItem> items) {
  WriteBatch batch;
  batch.epoch = epoch;
  batch.items = std::move(items);
  for (const WriteItem& item : batch.items) batch.bytes += item.key.size() + item.value.size();
  return batch;
}

inline WriteBatch Scoped(Scope scope, WriteBatch batch) {
  batch.scope = std::move(scope);
  return batch;
}

inline StoredState Found(std::string value, Stamp stamp) {
  return {.found = true, .value = std::move(value), .stamp = stamp};
}

// As this store has it, which may keep no stamps.
inline StoredState Found(const Store& store, std::string value, Stamp stamp) {
  return Found(std::move(value), store.traits().compares_stamps ? stamp : Stamp());
}

// The calls of a store, waited for. The promise belongs to the handler, which outlives get().
inline WriteResult WriteNow(Store& store, const WriteBatch& batch) {
  std::promise<WriteResult> promise;
  std::future<WriteResult> result = promise.get_future();
  store.Write(batch, [promise = std::move(promise)](WriteResult r) mutable {
    promise.set_value(std::move(r));
  });
  return result.get();
}

// Until nothing of it is left to be tried again, as a lane does it.
inline WriteResult WriteAtLast(Store& store, const WriteBatch& batch) {
  const auto again = [](Errc errc) { return errc == Errc::kTransient || errc == Errc::kUnknown; };
  WriteResult result;
  (void)Eventually([&] {
    result = WriteNow(store, batch);
    return !again(result.batch) &&
           std::none_of(result.items.begin(), result.items.end(),
                        [&](const ItemError& item) { return again(item.errc); });
  });
  return result;
}

inline ReadResult ReadNow(Store& store, std::vector<std::string> keys) {
  ReadBatch batch;
  batch.keys = std::move(keys);
  std::promise<ReadResult> promise;
  std::future<ReadResult> result = promise.get_future();
  store.Read(batch, [promise = std::move(promise)](ReadResult r) mutable {
    promise.set_value(std::move(r));
  });
  return result.get();
}

inline StoredState ReadOne(Store& store, std::string key) {
  ReadResult result = ReadNow(store, {std::move(key)});
  return result.states.size() == 1 ? std::move(result.states[0]) : StoredState();
}

inline std::pair<ErrorCode, Epoch> AskEpochNow(Store& store) {
  std::promise<std::pair<ErrorCode, Epoch>> promise;
  std::future<std::pair<ErrorCode, Epoch>> result = promise.get_future();
  store.NewEpoch([promise = std::move(promise)](ErrorCode ec, Epoch epoch) mutable {
    promise.set_value({ec, epoch});
  });
  return result.get();
}

inline Epoch NewEpochNow(Store& store) {
  const auto [ec, epoch] = AskEpochNow(store);
  return ec ? 0 : epoch;
}

inline ErrorCode FenceNow(Store& store, const Scope& scope, Epoch epoch) {
  std::promise<ErrorCode> promise;
  std::future<ErrorCode> result = promise.get_future();
  store.Fence(scope, epoch,
              [promise = std::move(promise)](ErrorCode ec) mutable { promise.set_value(ec); });
  return result.get();
}

inline ScanResult ScanNow(Store& store, const ScanRequest& request) {
  std::promise<ScanResult> promise;
  std::future<ScanResult> result = promise.get_future();
  store.Scan(request, [promise = std::move(promise)](ScanResult r) mutable {
    promise.set_value(std::move(r));
  });
  return result.get();
}

using Pages = std::vector<ScanResult>;

// Scans up to the end, and repeats a page that is kTransient. Calls `between()` after each page.
// The last page has an error if the scan fails, or does not end.
template <typename Between>
Pages ScanAll(Store& store, ScanRequest request, Between between) {
  Pages pages;
  do {
    ScanResult page;
    (void)Eventually([&] {
      page = ScanNow(store, request);
      return page.errc != Errc::kTransient;
    });
    if (pages.size() > 100'000) page.errc = Errc::kUnknown;
    request.cursor = page.cursor;
    pages.push_back(std::move(page));
    between();
  } while (!request.cursor.empty() && pages.back().errc == Errc::kOk);
  return pages;
}
inline Pages ScanAll(Store& store, ScanRequest request) {
  return ScanAll(store, std::move(request), [] {});
}

}  // namespace stout::test
