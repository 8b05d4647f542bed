// A merge of stores against a map that saw the same changes.

#include "blowfish/store/merge.h"

#include <array>
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
#include <utility>
#include <vector>

#include "blowfish/index/record_reader.h"
#include "change_layers.h"
#include "random_values.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kNow = 1'000'000;

struct KeyState {
  Stamp stamp;
  bool deleted = false;
  std::string value;
  std::uint64_t deleted_at_ms = 0;

  friend bool operator==(const KeyState&, const KeyState&) = default;
};
using MergedModel = std::map<std::string, KeyState>;

// Stretches of log, each a store; the model has the newest state of every key.
std::vector<std::shared_ptr<const SuffixStore>> RandomStores(SplitMix64& random,
                                                             const RandomValues& made,
                                                             Version& version, MergedModel& model) {
  std::vector<std::shared_ptr<const SuffixStore>> stores;
  for (std::uint64_t i = random.Below(4); i > 0; --i) {
    LogTable table(made.schema);
    for (std::uint64_t n = random.Below(60); n > 0 && !made.values.empty(); --n) {
      const std::string key = std::to_string(random.Below(100));
      KeyState state{.stamp = {1, ++version}};
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

// Names the files of a merge, one after the other, and opens them.
class NewFiles {
 public:
  explicit NewFiles(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string operator()() const { return prefix_ + std::to_string((*number_)++); }
  [[nodiscard]] std::vector<std::shared_ptr<SuccinctStore>> Open() const {
    std::vector<std::shared_ptr<SuccinctStore>> files;
    for (int i = 0; i < *number_; ++i) {
      auto opened = SuccinctStore::Open(prefix_ + std::to_string(i), Verify::kEverything);
      REQUIRE(opened.has_value());
      files.push_back(std::move(*opened));
    }
    return files;
  }

 private:
  std::string prefix_;
  std::shared_ptr<int> number_ = std::make_shared<int>(0);
};

// Adds the content of a file to that of others, which share no key with it.
void AddStore(SuccinctStore& store, MergedModel& all) {
  ValueReader reader(store);
  for (std::uint32_t record = 0; record < store.records(); ++record) {
    std::string key;
    store.keys().AppendKey(record, key);
    KeyState state{.stamp = store.StampOf(record), .value = std::string(reader.Get(record))};
    CHECK(all.emplace(std::move(key), std::move(state)).second);
  }
  for (std::uint64_t deleted = 0; deleted < store.deleted_keys().size(); ++deleted) {
    std::string key;
    store.deleted_keys().AppendKey(deleted, key);
    const Tombstone tombstone = store.TombstoneOf(deleted);
    KeyState state{tombstone.stamp, true, {}, tombstone.deleted_at_ms};
    CHECK(all.emplace(std::move(key), std::move(state)).second);
  }
}

MergedModel ContentOf(const std::vector<std::shared_ptr<SuccinctStore>>& files) {
  MergedModel all;
  for (const auto& file : files) AddStore(*file, all);
  return all;
}

std::vector<std::shared_ptr<const SuccinctStore>> Const(
    const std::vector<std::shared_ptr<SuccinctStore>>& files) {
  return {files.begin(), files.end()};
}

std::vector<FileToMerge> ToMerge(const std::vector<std::shared_ptr<SuccinctStore>>& files) {
  std::vector<FileToMerge> to_merge;
  for (const auto& file : files) to_merge.push_back({file, {}});
  return to_merge;
}

TEST_CASE("a merge has the newest state of every key, and the tombstones that count", "[merge]") {
  const std::uint64_t seed = GENERATE(range(1, 80));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const test::TempDirectory directory;
  const RandomValues made = MakeRandomValues(seed, 50);
  const std::uint64_t forget_before = kNow - 1000;
  const MergeOptions options{
      .forget_before_ms = forget_before,
      .max_file_bytes = random.Below(2) == 0 ? kMaxValueBytes : 1 + random.Below(1000),
      .encoding =
          std::array{Encoding::kIndex, Encoding::kBlocks, Encoding::kText}[random.Below(3)]};
  std::vector<std::shared_ptr<SuccinctStore>> files;
  MergedModel model;
  Version version = 0;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    const MergeInput input{
        .files = ToMerge(files), .newer = RandomStores(random, made, version, model), .older = {}};
    const NewFiles paths(directory.path() + "/" + std::to_string(round) + "-");
    Diagnostics why;
    const ErrorCode failed = Merge(input, made.schema, paths, options, &why);
    CAPTURE(why.message);
    REQUIRE_FALSE(failed);
    std::erase_if(model, [&](const auto& entry) {
      return entry.second.deleted && entry.second.deleted_at_ms < forget_before;
    });
    files = paths.Open();
    CHECK(ContentOf(files) == model);
    for (const auto& file : files)
      CHECK((file->records() <= 1 || FitsIndex(file->texts().value_bytes(), file->records(),
                                               made.schema.size(), options.max_file_bytes)));
  }
}

TEST_CASE("a merge leaves out what is hidden", "[merge]") {
  const std::uint64_t seed = GENERATE(range(1, 20));
  SplitMix64 random(seed);
  const test::TempDirectory directory;
  const RandomValues made = MakeRandomValues(seed, 50);
  MergedModel model;
  Version version = 0;
  const NewFiles old(directory.path() + "/old");
  REQUIRE_FALSE(Merge({.newer = RandomStores(random, made, version, model)}, made.schema, old, {}));
  MergeInput input;
  for (const auto& file : old.Open()) {
    HiddenRecords hidden(file->records());
    for (std::uint32_t record = 0; record < file->records(); ++record) {
      if (random.Below(3) == 0) continue;
      hidden.Hide(record);
      std::string key;
      file->keys().AppendKey(record, key);
      model.erase(key);
    }
    input.files.push_back({file, hidden});
  }
  const NewFiles paths(directory.path() + "/new");
  REQUIRE_FALSE(Merge(input, made.schema, paths, {}));
  CHECK(ContentOf(paths.Open()) == model);
}

TEST_CASE("a merge keeps old tombstones of keys that an older file has", "[merge]") {
  const test::TempDirectory directory;
  LogTable table{Schema()};
  table.Apply({Operation::Kind::kPut, "a", {1, 1}, "value", 0});
  const NewFiles old(directory.path() + "/old");
  REQUIRE_FALSE(Merge({.newer = {std::make_shared<SuffixStore>(table)}}, Schema(), old, {}));
  LogTable deletes{Schema()};
  for (const char* key : {"a", "b"}) deletes.Apply({Operation::Kind::kDelete, key, {1, 2}, {}, 1});
  const NewFiles paths(directory.path() + "/new");
  REQUIRE_FALSE(
      Merge({.newer = {std::make_shared<SuffixStore>(deletes)}, .older = Const(old.Open())},
            Schema(), paths, {.forget_before_ms = 2}));
  CHECK(ContentOf(paths.Open()) == MergedModel{{"a", {{1, 2}, true, {}, 1}}});
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
  const NewFiles old(directory.path() + "/old");
  REQUIRE_FALSE(Merge({.newer = newer}, schema, old, {}));
  const auto files = old.Open();
  REQUIRE(files.size() == 1);

  constexpr int kMerges = 5;
  std::atomic<int> merges = 0;
  std::vector<NewFiles> paths;
  for (int merge = 0; merge < kMerges; ++merge)
    paths.emplace_back(directory.path() + "/" + std::to_string(merge) + "-");
  std::jthread merging([&, input = MergeInput{.files = ToMerge(files)}] {
    for (; merges < kMerges; ++merges) (void)Merge(input, schema, paths[merges], {});
  });
  std::size_t wrong = 0;
  while (merges < kMerges) wrong += UseLayers(random, *files[0], model);
  merging.join();
  CHECK(wrong == 0);
  for (const NewFiles& merged : paths) CHECK(ContentOf(merged.Open()) == model);
}

// Three records in a store.
std::shared_ptr<const SuffixStore> ThreeRecords() {
  LogTable table{Schema()};
  for (const char* key : {"a", "b", "c"}) {
    table.Apply({Operation::Kind::kPut, key, {1, 1}, std::string_view("0123456789"), 0});
  }
  return std::make_shared<SuffixStore>(table);
}

TEST_CASE("a merge of more than a file takes writes several", "[merge]") {
  const test::TempDirectory directory;
  const MergeInput input{.newer = {ThreeRecords()}};
  const auto files_of = [&](std::uint64_t max_file_bytes) {
    const NewFiles paths(directory.path() + "/" + std::to_string(max_file_bytes) + "-");
    REQUIRE_FALSE(Merge(input, Schema(), paths, {.max_file_bytes = max_file_bytes}));
    return paths.Open().size();
  };
  // A key takes two or three bytes with its lengths, a value ten, and its attribute one.
  CHECK(files_of(39) == 1);
  CHECK(files_of(38) == 2);
  CHECK(files_of(25) == 2);
  CHECK(files_of(24) == 3);
  CHECK(files_of(1) == 3);
}

// Entries with keys of 1000 random bytes, half of them deleted.
std::shared_ptr<const SuffixStore> LongKeys(int entries) {
  SplitMix64 random(1);
  LogTable table{Schema()};
  for (int i = 0; i < entries; ++i) {
    std::string key;
    while (key.size() < 1000) key += static_cast<char>(random.Below(256));
    const auto kind = i % 2 == 0 ? Operation::Kind::kPut : Operation::Kind::kDelete;
    table.Apply({kind, key, {1, 1}, "", kNow});
  }
  return std::make_shared<SuffixStore>(table);
}

TEST_CASE("a merge bounds the keys of a file, those of tombstones too", "[merge]") {
  const test::TempDirectory directory;
  const NewFiles whole(directory.path() + "/whole");
  REQUIRE_FALSE(Merge({.newer = {LongKeys(300)}}, Schema(), whole, {}));
  const NewFiles paths(directory.path() + "/");
  REQUIRE_FALSE(Merge({.files = ToMerge(whole.Open()), .newer = {}}, Schema(), paths,
                      {.max_file_bytes = 10'100}));
  const auto files = paths.Open();
  CHECK(files.size() == 30);
  for (const auto& file : files)
    CHECK(file->keys().text_bytes() + file->deleted_keys().text_bytes() <= 10'100);
  CHECK(ContentOf(files) == ContentOf(whole.Open()));
}

TEST_CASE("a merge that is to stop leaves no file", "[merge]") {
  const test::TempDirectory directory;
  std::stop_source source;
  source.request_stop();
  const auto stopped = Merge({.newer = {ThreeRecords()}}, Schema(),
                             NewFiles(directory.path() + "/"), {.stop = source.get_token()});
  CHECK(stopped == Errc::kTransient);
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("an index is bounded by bytes, and by records", "[merge]") {
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
