// The contract of every store: the promises of Store::Scan().

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

#include "store_test_support.h"
#include "tests/support/catch.h"
#ifdef STOUT_TEST_REDIS_CLUSTER
#include "redis_cluster_fixture.h"
#else
#include "store_fixtures.h"
#endif

namespace stout::test {
namespace {

using namespace std::string_literals;

using Model = std::map<std::string, StoredState>;

// The state that a store shows after this write, or nullopt if it shows none.
std::optional<StoredState> ShownBy(const Store& store, const WriteItem& item, Epoch epoch) {
  if (item.kind == WriteKind::kPut) return Found(store, item.value, {epoch, item.version});
  if (!store.traits().compares_stamps) return std::nullopt;
  return StoredState{.stamp = {epoch, item.version}};
}

// Writes a batch to the store and the model.
void Write(Store& store, Epoch epoch, const std::vector<WriteItem>& items, Model* model) {
  CHECK(WriteAtLast(store, Batch(epoch, items)) == WriteResult{});
  for (const WriteItem& item : items) {
    if (auto state = ShownBy(store, item, epoch)) {
      (*model)[item.key] = *std::move(state);
    } else {
      model->erase(item.key);
    }
  }
}

// Returns the first thing that is wrong with a whole scan, or an empty string. `present`: keys
// whose state did not change meanwhile. `others`: whether there may be more keys.
std::string WrongWith(const Pages& pages, const ScanRequest& request, const StoreTraits& traits,
                      const Model& present, bool others = false) {
  std::map<std::string, std::size_t> seen;
  std::optional<std::string> last;
  for (const ScanResult& page : pages) {
    if (page.errc != Errc::kOk) return "a page failed: " + std::string(Describe(page.errc));
    if (page.keys.size() > request.limit) return "a page has too many keys";
    for (const ScannedKey& scanned : page.keys) {
      if (traits.ordered && last && scanned.key <= *last) return "out of order: " + scanned.key;
      last = scanned.key;
      ++seen[scanned.key];
      const auto expected = present.find(scanned.key);
      if (expected == present.end()) {
        if (!others) return "an unknown key: " + scanned.key;
        continue;
      }
      StoredState state = expected->second;
      if (!request.values) state.value.clear();
      if (scanned.state != state) return "a wrong state: " + scanned.key;
    }
  }
  for (const auto& [key, state] : present) {
    if (!seen.contains(key)) return "a missing key: " + key;
  }
  return {};
}

std::string WrongWithScan(Store& store, const ScanRequest& request, const Model& model) {
  return WrongWith(ScanAll(store, request), request, store.traits(), model);
}

STOUT_STORE_TEST_NOT_TSAN("a scan returns each key with its stamp, whatever the size of pages",
                          STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  CHECK(store.traits().scans);
  const Epoch epoch = NewEpochNow(store);
  Model model;
  std::vector<WriteItem> items;
  for (Version i = 1; i <= 12; ++i) items.push_back(Put("k" + std::to_string(i), "value", i));
  Write(store, epoch, items, &model);
  Write(store, epoch, {Delete("k3", 20), Delete("never", 21), Put("k5", "new", 22)}, &model);
  for (std::size_t limit = 1; limit <= model.size() + 2; ++limit) {
    for (const bool values : {true, false}) {
      CAPTURE(limit, values);
      CHECK(WrongWithScan(store, {.cursor = {}, .limit = limit, .values = values}, model) == "");
    }
  }
  // Last: a cluster then has a key of its own in each slot, which a scan passes over.
  if (!store.traits().fences) return;
  CHECK_FALSE(FenceNow(store, "scope", epoch));
  CHECK(WrongWithScan(store, {}, model) == "");
}

STOUT_STORE_TEST_NOT_TSAN("a scan of an empty store ends without a key", STOUT_TEST_ALL_STORES) {
  CHECK(WrongWithScan(fixture.store(), {}, {}) == "");
  // A store may have nothing but what it needs for itself.
  (void)NewEpochNow(fixture.store());
  CHECK(WrongWithScan(fixture.store(), {}, {}) == "");
}

STOUT_STORE_TEST_NOT_TSAN("a scan returns keys of any bytes", STOUT_TEST_ALL_STORES) {
  Model model;
  std::vector<WriteItem> items;
  Version version = 0;
  for (const std::string& key : {""s, "\0"s, "\0\0"s, "\0\1"s, "\1"s, "a"s, "a\0"s, "a\0b"s, "ab"s,
                                 "\x7f"s, "\x80"s, "\xff"s, "\xff\0"s, "\xff\xff"s, "*[a-z]?"s}) {
    items.push_back(Put(key, key + "\0\xff"s, ++version));
  }
  Write(fixture.store(), 1, items, &model);
  for (const std::size_t limit : {1, 2, 100}) {
    CAPTURE(limit);
    CHECK(WrongWithScan(fixture.store(), {.cursor = {}, .limit = limit}, model) == "");
  }
}

STOUT_STORE_TEST_NOT_TSAN("a scan of an ordered store begins behind any key",
                          STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  if (!store.traits().ordered) return;
  Model model;
  std::vector<WriteItem> items;
  Version version = 0;
  for (const std::string& key : {""s, "\0"s, "a"s, "a\0"s, "b"s, "d"s})
    items.push_back(Put(key, "v", ++version));
  Write(store, 1, items, &model);
  for (const std::string& key : {""s, "\0"s, "a"s, "a\0"s, "aa"s, "c"s, "d"s, "\xff"s}) {
    CAPTURE(key);
    const Model behind(model.upper_bound(key), model.end());
    for (const std::size_t limit : {1, 100}) {
      const ScanRequest request{.cursor = "k"s + key + '\0', .limit = limit};
      CHECK(WrongWithScan(store, request, behind) == "");
    }
  }
}

STOUT_STORE_TEST_NOT_TSAN("a scan with a bad cursor or a limit of 0 is refused",
                          STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("a", "", 1), Put("b", "", 2)})) == WriteResult{});
  CHECK(ScanNow(store, {.cursor = {}, .limit = 0}).errc == Errc::kRefused);
  CHECK(ScanNow(store, {.cursor = "?"}).errc == Errc::kRefused);
  CHECK(ScanNow(store, {.cursor = "\0"s}).errc == Errc::kRefused);
  const std::string good = ScanNow(store, {.cursor = {}, .limit = 1}).cursor;
  REQUIRE_FALSE(good.empty());
  CHECK(ScanNow(store, {.cursor = good}).errc == Errc::kOk);
  // No cut cursor does harm. One of a store in byte order is the cursor of a shorter key.
  for (std::size_t size = 1; size < good.size(); ++size) {
    const Errc errc = ScanNow(store, {.cursor = good.substr(0, size)}).errc;
    CAPTURE(good, size);
    CHECK((errc == Errc::kRefused || errc == Errc::kOk));
  }
}

STOUT_STORE_TEST_NOT_TSAN("a scan agrees with a model after random writes", STOUT_TEST_ALL_STORES) {
  const unsigned seed = GENERATE(1U, 2U, 3U);
  CAPTURE(seed);
  std::mt19937 random(seed);
  Store& store = fixture.store();
  Model model;
  Version version = 0;
  for (int round = 0; round < 4; ++round) {
    std::map<std::string, WriteItem> items;
    for (int i = 0; i < 60; ++i) {
      const std::string key = std::to_string(random() % 200);
      ++version;
      items[key] = random() % 3 == 0 ? Delete(key, version)
                                     : Put(key, std::string(random() % 40, 'v'), version);
    }
    std::vector<WriteItem> batch;
    for (const auto& [key, item] : items) batch.push_back(item);
    Write(store, 1, batch, &model);
    const ScanRequest request{
        .cursor = {}, .limit = 1 + random() % 70, .values = random() % 2 == 0};
    CAPTURE(round, request.limit, request.values);
    CHECK(WrongWithScan(store, request, model) == "");
  }
}

STOUT_STORE_TEST("a scan returns all keys that are there throughout, whatever else is written",
                 STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  Model model;
  std::vector<WriteItem> items;
  for (Version i = 1; i <= 300; ++i) items.push_back(Put("k" + std::to_string(i), "v", i));
  for (Version i = 1; i <= 100; ++i) items.push_back(Delete("d" + std::to_string(i), 1000 + i));
  Write(store, 1, items, &model);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937 random(1);
    for (Version version = 10'000; !stop; version += 50) {
      std::map<std::string, WriteItem> changes;
      for (Version i = 0; i < 50; ++i) {
        // Between the others, and with the same first letters.
        const std::string key = "k" + std::to_string(random() % 300) + "x";
        changes[key] =
            random() % 2 == 0 ? Delete(key, version + i) : Put(key, "other", version + i);
      }
      WriteBatch batch = Batch(1, {});
      for (const auto& [key, item] : changes) batch.items.push_back(item);
      (void)WriteNow(store, batch);
    }
  });
  for (const std::size_t limit : {3, 50}) {
    const ScanRequest request{.cursor = {}, .limit = limit, .values = limit == 3};
    CAPTURE(limit);
    CHECK(WrongWith(ScanAll(store, request), request, store.traits(), model, true) == "");
  }
  stop = true;
  writer.join();
}

STOUT_STORE_TEST_NOT_TSAN("a page of large values is bounded, and none is left out",
                          STOUT_TEST_ALL_STORES) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  Store& store = fixture.store();
  Model model;
  Version version = 0;
  for (const std::size_t mib : {1, 1, 5, 1, 1, 1, 1, 6, 6, 1}) {
    ++version;
    const std::string key = "large" + std::to_string(version);
    Write(store, 1, {Put(key, std::string(mib * kMiB, 'x'), version)}, &model);
    Write(store, 1, {Put(key + "-", "small", version)}, &model);
  }
  const ScanRequest request{.cursor = {}, .limit = 1000};
  const Pages pages = ScanAll(store, request);
  CHECK(WrongWith(pages, request, store.traits(), model) == "");
  for (const ScanResult& page : pages) {
    std::size_t bytes = 0;
    std::size_t largest = 0;
    for (const ScannedKey& scanned : page.keys) {
      bytes += scanned.state.value.size();
      largest = std::max(largest, scanned.state.value.size());
    }
    CHECK(bytes <= 4 * kMiB + largest);
  }
  // Without values they are small.
  CHECK(WrongWithScan(store, {.cursor = {}, .limit = 1000, .values = false}, model) == "");
}

#ifdef STOUT_TEST_HAS_DURABLE_STORES
STOUT_STORE_TEST_NOT_TSAN("a scan goes on with its cursor after the store is reopened",
                          STOUT_TEST_DURABLE_STORES) {
  Model model;
  std::vector<WriteItem> items;
  for (Version i = 1; i <= 40; ++i) items.push_back(Put("k" + std::to_string(i), "v", i));
  Write(fixture.store(), 1, items, &model);
  const ScanRequest request{.cursor = {}, .limit = 7};
  Pages pages;
  ScanRequest next = request;
  do {
    pages.push_back(ScanNow(fixture.store(), next));
    next.cursor = pages.back().cursor;
    fixture.Reopen();
  } while (!next.cursor.empty() && pages.size() < 1000);
  CHECK(WrongWith(pages, request, fixture.store().traits(), model) == "");
}
#endif

#ifndef STOUT_TEST_REDIS_CLUSTER
// A store whose scans have a fault, which WrongWith() must find.
class WrongStore final : public ForwardingStore {
 public:
  enum class Fault { kNone, kSkipsAKey, kForgetsTombstones, kRepeatsAKey, kOldStamps, kFullPages };

  WrongStore(Store& store, Fault fault) : ForwardingStore(store), fault_(fault) {}

  void Scan(const ScanRequest& request, ScanHandler handler) override {
    ForwardingStore::Scan(request, [this, handler = std::move(handler)](ScanResult result) mutable {
      Spoil(&result.keys);
      handler(std::move(result));
    });
  }

 private:
  void Spoil(std::vector<ScannedKey>* keys) const {
    if (keys->empty()) return;
    switch (fault_) {
      case Fault::kNone:
        return;
      case Fault::kSkipsAKey:
        return keys->pop_back();
      case Fault::kForgetsTombstones:
        std::erase_if(*keys, [](const ScannedKey& scanned) { return !scanned.state.found; });
        return;
      case Fault::kRepeatsAKey:
        keys->front() = keys->back();
        return;
      case Fault::kOldStamps:
        --keys->front().state.stamp.version;
        return;
      case Fault::kFullPages:
        keys->resize(keys->size() + 3, keys->back());
        return;
    }
  }

  const Fault fault_;
};

TEST_CASE("the check of scans finds the faults of a wrong store", "[store]") {
  using Fault = WrongStore::Fault;
  Memory memory;
  Model model;
  Write(memory.store(), 1, {Put("a", "1", 1), Put("b", "2", 2), Put("c", "3", 3), Delete("d", 4)},
        &model);
  const auto wrong_with = [&](Fault fault) {
    WrongStore store(memory.store(), fault);
    return WrongWithScan(store, {.cursor = {}, .limit = 2}, model);
  };
  CHECK(wrong_with(Fault::kNone) == "");
  CHECK(wrong_with(Fault::kSkipsAKey) == "a missing key: b");
  CHECK(wrong_with(Fault::kForgetsTombstones) == "a missing key: d");
  CHECK(wrong_with(Fault::kRepeatsAKey) == "out of order: b");
  CHECK(wrong_with(Fault::kOldStamps) == "a wrong state: a");
  CHECK(wrong_with(Fault::kFullPages) == "a page has too many keys");
}

TEST_CASE("a store without scans refuses them", "[store]") {
  class NoScans final : public Store {
   public:
    [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
    void Write(const WriteBatch&, WriteHandler handler) override { handler({}); }
    void Read(const ReadBatch&, ReadHandler handler) override { handler({}); }
    void NewEpoch(EpochHandler handler) override { handler({}, 1); }

   private:
    StoreTraits traits_;
  };
  NoScans store;
  CHECK_FALSE(store.traits().scans);
  CHECK(ScanNow(store, {}).errc == Errc::kRefused);
}
#endif

}  // namespace
}  // namespace stout::test
