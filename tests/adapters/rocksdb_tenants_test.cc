// Tenants that share the block cache of RocksDB.
#include <fmt/format.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb_test_support.h"
#include "store_test_support.h"
#include "stout/core/random.h"
#include "stout/tenants.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

constexpr int kKeys = 1000;

std::string KeyAt(int i) { return fmt::format("key{:04}", i); }

// A store of 1,000 blocks, a key in each, with a cache for 250 of them.
struct SharedStore {
  SharedStore() {
    store = OpenOrThrow({.path = directory.path(),
                         .sync = false,
                         .cache_bytes = std::size_t{1} << 20,
                         .cache_shard_bits = 0});
    store->Obey(tenants);
    SplitMix64 random(1);
    WriteBatch batch = Batch(1, {});
    for (int i = 0; i < kKeys; ++i) {
      std::string value(3900, ' ');  // does not compress
      for (char& c : value) c = static_cast<char>(random.Next());
      batch.items.push_back(Put(KeyAt(i), std::move(value), static_cast<Version>(i + 1)));
    }
    REQUIRE(WriteNow(*store, batch) == WriteResult{});
    REQUIRE_FALSE(store->Compact());
  }

  void Read(TenantId tenant, int from, int to) {
    ReadBatch batch;
    for (int i = from; i < to; ++i) {
      batch.keys.push_back(KeyAt(i));
      batch.tenants.push_back(tenant);
    }
    std::promise<ReadResult> promise;
    store->Read(batch, [&](ReadResult result) { promise.set_value(std::move(result)); });
    const ReadResult result = promise.get_future().get();
    REQUIRE(result.errc == Errc::kOk);
    for (const StoredState& state : result.states) REQUIRE(state.found);
  }
  // The hits of a read of these keys.
  int Hits(TenantId tenant, int from, int to) {
    const auto hits = [&] { return static_cast<int>(store->CachedByTenant()[tenant].hits); };
    const int before = hits();
    Read(tenant, from, to);
    return hits() - before;
  }

  const TempDirectory directory;
  const std::shared_ptr<Tenants> tenants = std::make_shared<Tenants>();
  std::unique_ptr<RocksDbStore> store;
};

}  // namespace

TEST_CASE("rocksdb: a tenant that is not admitted displaces no block of another",
          "[rocksdb][tenants]") {
  SharedStore shared;
  shared.Read(2, 0, 150);
  REQUIRE(shared.Hits(2, 0, 150) == 150);
  shared.Read(3, 200, 300);  // the cache is full now
  REQUIRE(shared.Hits(2, 0, 150) > 140);

  shared.tenants->Admit(3, 0.0);
  for (int round = 0; round < 3; ++round) shared.Read(3, 300, kKeys);
  CHECK(shared.Hits(2, 0, 150) > 140);
  CHECK(shared.Hits(3, 300, kKeys) == 0);

  shared.tenants->Admit(3, 1.0);
  for (int round = 0; round < 3; ++round) shared.Read(3, 300, kKeys);
  CHECK(shared.Hits(2, 0, 150) < 140);
}

TEST_CASE("rocksdb: a batch of several tenants answers each key in its place",
          "[rocksdb][tenants]") {
  SharedStore shared;
  shared.tenants->Admit(2, 0.5);
  ReadBatch batch;
  for (int i = 0; i < 60; ++i) {
    batch.keys.push_back(i % 7 == 0 ? "absent" + KeyAt(i) : KeyAt(i));
    batch.tenants.push_back(static_cast<TenantId>(i % 4));
  }
  std::promise<ReadResult> promise;
  shared.store->Read(batch, [&](ReadResult result) { promise.set_value(std::move(result)); });
  const ReadResult result = promise.get_future().get();
  REQUIRE(result.states.size() == 60);
  for (int i = 0; i < 60; ++i) {
    const StoredState& state = result.states[static_cast<std::size_t>(i)];
    CHECK(state.found == (i % 7 != 0));
    if (state.found) CHECK(state.stamp == Stamp{1, static_cast<Version>(i + 1)});
  }
}

TEST_CASE("rocksdb: scans fill no cache", "[rocksdb][tenants]") {
  SharedStore shared;
  shared.Read(2, 0, 150);
  ScanRequest scan{.limit = kKeys};
  for (int round = 0; round < 3; ++round) {
    CHECK(ScanNow(*shared.store, scan).keys.size() == kKeys);
  }
  CHECK(shared.Hits(2, 0, 150) == 150);
  CHECK(shared.Hits(2, 800, 900) == 0);
}

}  // namespace stout::test
