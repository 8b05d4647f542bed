// A merge of stores against a map that saw the same changes.

#include "blowfish/store/merge.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "blowfish/index/record_reader.h"
#include "change_layers.h"
#include "random_values.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kNow = 1'000'000;

struct Merged {
  Stamp stamp;
  bool deleted = false;
  std::string value;
  std::uint64_t deleted_at_ms = 0;
};
using MergedModel = std::map<std::string, Merged>;

// Stretches of log, each a store; the model has the newest state of every key.
std::vector<std::shared_ptr<const SuffixStore>> RandomStores(SplitMix64& random,
                                                             const RandomValues& made,
                                                             Version& version, MergedModel& model) {
  std::vector<std::shared_ptr<const SuffixStore>> stores;
  for (std::uint64_t i = random.Below(4); i > 0; --i) {
    LogTable table(made.schema);
    for (std::uint64_t n = random.Below(60); n > 0 && !made.values.empty(); --n) {
      const std::string key = std::to_string(random.Below(100));
      Merged state{.stamp = {1, ++version}};
      if (random.Below(4) == 0) {
        state.deleted = true;
        state.deleted_at_ms = kNow - random.Below(2000);
      } else {
        state.value = made.values[random.Below(made.values.size())];
      }
      table.Apply({state.deleted ? Operation::Kind::kDelete : Operation::Kind::kPut, key,
                   state.stamp, state.value, state.deleted_at_ms});
      model[key] = state;
    }
    stores.push_back(std::make_shared<SuffixStore>(table));
  }
  return stores;
}

void CheckStore(SuccinctStore& store, const MergedModel& model) {
  RecordReader reader(store.index());
  std::uint64_t records = 0;
  std::uint64_t deleted = 0;
  for (const auto& [key, state] : model) {
    CAPTURE(key);
    const auto record = store.keys().Find(key);
    const auto tombstone = store.deleted_keys().Find(key);
    CHECK(record.has_value() == !state.deleted);
    if (record) {
      CHECK(reader.Get(static_cast<std::uint32_t>(*record)) == state.value);
      CHECK(store.StampOf(static_cast<std::uint32_t>(*record)) == state.stamp);
      ++records;
    }
    if (tombstone) {
      CHECK(store.TombstoneOf(*tombstone) == Tombstone{state.stamp, state.deleted_at_ms});
      ++deleted;
    }
  }
  CHECK(records == store.records());
  CHECK(deleted == store.deleted_keys().size());
}

TEST_CASE("a merge has the newest state of every key, and the tombstones that count", "[merge]") {
  const std::uint64_t seed = GENERATE(range(1, 80));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const test::TempDirectory directory;
  const RandomValues made = MakeRandomValues(seed, 50);
  std::unique_ptr<SuccinctStore> oldest;
  MergedModel model;
  Version version = 0;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    const auto stores = RandomStores(random, made, version, model);
    const std::uint64_t forget_before = kNow - 1000;
    const std::string path = directory.path() + "/" + std::to_string(round);
    Diagnostics why;
    const auto report =
        Merge(oldest.get(), stores, made.schema, path, {.forget_before_ms = forget_before}, &why);
    CAPTURE(why.message);
    REQUIRE(report.has_value());
    std::erase_if(model, [&](const auto& entry) {
      return entry.second.deleted && entry.second.deleted_at_ms < forget_before;
    });
    auto opened = SuccinctStore::Open(path, Verify::kEverything, &why);
    REQUIRE(opened.has_value());
    oldest = std::move(*opened);
    CheckStore(*oldest, model);
    CHECK(report->records == oldest->records());
    CHECK(report->tombstones == oldest->deleted_keys().size());
  }
}

// Reads a random part of all records, changes layers, and fills them. Returns how many of the
// records that it reads or finds are not as in the model.
std::size_t UseLayers(SplitMix64& random, SuccinctStore& store, const MergedModel& model) {
  RecordIndex& index = store.index();
  ChangeLayers(random, index, random.Below(2) ? index.records_at() : index.places_of());
  RecordReader reader(index);
  std::size_t wrong = 0;
  for (int i = 0; i < 10; ++i) {
    const auto record = static_cast<std::uint32_t>(random.Below(store.records()));
    std::string key;
    store.keys().AppendKey(record, key);
    const std::string& value = model.at(key).value;
    wrong += reader.Get(record) != value;
    const auto attribute = store.schema().Attribute(value, 0);
    bool found = false;
    index.Locate(index.Search(0, attribute.value_or("")), [&](std::uint32_t located) {
      found = found || located == record;
      return true;
    });
    wrong += !found;
  }
  return wrong;
}

// Goal: a merge needs nothing of the layers, so their owner may change them. Method: the thread
// sanitizer sees each access that both make.
TEST_CASE("a merge reads a store while its owner adds, fills and deletes layers", "[merge]") {
  SplitMix64 random(1);
  const test::TempDirectory directory;
  const Schema schema = Schema::Make({"a", "b", "c", "d", "e"}, '|').value();
  LogTable table(schema);
  MergedModel model;
  for (int i = 0; i < 500; ++i) {
    const std::string key = std::to_string(i);
    std::string value = std::to_string(random.Below(20));
    for (int a = 1; a < 5; ++a) value += "|" + std::to_string(random.Below(1000));
    table.Apply({Operation::Kind::kPut, key, {1, 1}, value, 0});
    model[key] = {.stamp = {1, 1}, .value = value};
  }
  const std::vector newer = {std::make_shared<const SuffixStore>(table)};
  const std::string path = directory.path() + "/old";
  REQUIRE(Merge(nullptr, newer, schema, path, {}).has_value());
  auto store = SuccinctStore::Open(path);
  REQUIRE(store.has_value());

  constexpr int kMerges = 5;
  std::atomic<int> merges = 0;
  std::jthread merging([&, oldest = static_cast<const SuccinctStore*>(store->get())] {
    for (; merges < kMerges; ++merges) {
      (void)Merge(oldest, {}, schema, directory.path() + "/" + std::to_string(merges), {});
    }
  });
  std::size_t wrong = 0;
  while (merges < kMerges) wrong += UseLayers(random, **store, model);
  merging.join();
  CHECK(wrong == 0);
  for (int merge = 0; merge < kMerges; ++merge) {
    auto merged = SuccinctStore::Open(directory.path() + "/" + std::to_string(merge));
    REQUIRE(merged.has_value());
    CheckStore(**merged, model);
  }
}

// Three records in a store.
std::shared_ptr<const SuffixStore> ThreeRecords() {
  LogTable table{Schema()};
  for (const char* key : {"a", "b", "c"}) {
    table.Apply({Operation::Kind::kPut, key, {1, 1}, std::string_view("0123456789"), 0});
  }
  return std::make_shared<SuffixStore>(table);
}

TEST_CASE("a merge of more than an index takes says so, and leaves no file", "[merge]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0";
  const std::vector<std::shared_ptr<const SuffixStore>> stores = {ThreeRecords()};
  Diagnostics why;
  // Ten bytes a value, and one for its attribute.
  const auto refused = Merge(nullptr, stores, Schema(), path, {.max_value_bytes = 32}, &why);
  CHECK(refused.error() == Errc::kTooLarge);
  CHECK(why.message.find("use more shards") != std::string::npos);
  CHECK(std::filesystem::is_empty(directory.path()));
  CHECK(Merge(nullptr, stores, Schema(), path, {.max_value_bytes = 33}).has_value());
}

TEST_CASE("a merge that is to stop leaves no file", "[merge]") {
  const test::TempDirectory directory;
  std::stop_source source;
  source.request_stop();
  const auto stopped = Merge(nullptr, std::vector{ThreeRecords()}, Schema(),
                             directory.path() + "/0", {.stop = source.get_token()});
  CHECK(stopped.error() == Errc::kTransient);
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("what an index takes is bounded by bytes, and by records", "[merge]") {
  CHECK(FitsIndex(kMaxValueBytes, 0, 1));
  CHECK_FALSE(FitsIndex(kMaxValueBytes + 1, 0, 1));
  CHECK(FitsIndex(kMaxValueBytes - 15, 1, 15));
  CHECK_FALSE(FitsIndex(kMaxValueBytes - 15, 1, 16));
  // Empty values: two bytes for the attribute that each has, and five for the record's end.
  const std::uint64_t most = ((std::uint64_t{1} << 31) - 1) / 7;
  CHECK(FitsIndex(0, most, 1));
  CHECK_FALSE(FitsIndex(0, most + 1, 1));
}

}  // namespace
}  // namespace stout::blowfish
