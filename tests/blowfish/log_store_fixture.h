#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/log/log_store.h"
#include "sim_disk.h"
#include "tests/support/catch.h"

namespace stout::blowfish::test {

inline WriteBatch Batch(Epoch epoch, std::vector<WriteItem> items, Scope scope = {}) {
  WriteBatch batch{.epoch = epoch, .scope = std::move(scope)};
  batch.items = std::move(items);
  return batch;
}
inline WriteItem PutItem(std::string key, Version version, std::string value) {
  return {std::move(key), std::move(value), WriteKind::kPut, version};
}
inline WriteItem DeleteItem(std::string key, Version version) {
  return {std::move(key), {}, WriteKind::kDelete, version};
}

inline constexpr std::uint64_t kNowMs = 1'700'000'000'000;

// A store on a simulated disk, which commits when it is told to.
struct LogStoreFixture {
  SimDisk disk{1};
  std::optional<Stamp> older;  // of every key
  LogStoreOptions options;
  std::unique_ptr<LogStore> store;

  LogStoreFixture() {
    options.schema = Schema::Make({"name", "city"}, '|').value();
    options.older_stamp = [this](KeyView) { return older; };
    options.own_thread = false;
    options.seed = 1;
    Open();
  }
  void Open() {
    store.reset();
    store = LogStore::Open(disk, options).value();
  }
  // The answers after the next commit.
  std::shared_ptr<std::optional<WriteResult>> Write(const WriteBatch& batch) {
    auto answer = std::make_shared<std::optional<WriteResult>>();
    store->Write(batch, kNowMs, [answer](WriteResult result) {
      REQUIRE_FALSE(answer->has_value());
      *answer = std::move(result);
    });
    return answer;
  }
  void Commit() {
    store->CommitWaiting();
    store->Poll();
  }
  Errc Fence(const Scope& scope, Epoch epoch) {
    ErrorCode answer = Errc::kUnknown;
    store->Fence(scope, epoch, [&](ErrorCode error) { answer = error; });
    Commit();
    return static_cast<Errc>(answer.value());
  }
  std::optional<Epoch> NewEpoch() {
    std::optional<Epoch> answer;
    store->NewEpoch([&](ErrorCode error, Epoch epoch) {
      if (!error) answer = epoch;
    });
    Commit();
    return answer;
  }
  std::optional<FrozenLog> Freeze() {
    std::optional<FrozenLog> answer;
    store->Freeze([&](ErrorCode error, FrozenLog frozen) {
      if (!error) answer = std::move(frozen);
    });
    Commit();  // The rotation.
    Commit();  // the beginning of the new file
    return answer;
  }
  std::string ValueOf(KeyView key) {
    const LogEntry* const entry = store->table().Find(key);
    if (entry == nullptr) return "nothing";
    return entry->deleted ? "deleted" : std::string(entry->record.value);
  }
};

}  // namespace stout::blowfish::test
