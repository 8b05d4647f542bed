// A file of records against the records.

#include "blowfish/store/succinct_store.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/file/index_file_writer.h"
#include "blowfish/store/layer_ladder.h"
#include "blowfish/store/succinct_store_format.h"
#include "blowfish/store/succinct_store_writer.h"
#include "blowfish/store/value_reader.h"
#include "random_values.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

struct Stored {
  Stamp stamp;
  std::string value;
};
using StoredModel = std::map<std::string, Stored>;

StoredModel RandomModel(std::uint64_t seed, RandomValues& made) {
  SplitMix64 random(seed);
  made = MakeRandomValues(seed, 200);
  const bool numbered = random.Below(2) == 0;
  StoredModel model;
  for (std::string& value : made.values) {
    std::string key = numbered ? "user:" : "";
    key += std::to_string(random.Below(1000));
    if (!numbered) key.insert(key.begin(), static_cast<char>(random.Below(256)));
    model[key] = {{random.Below(3), random.Next() >> random.Below(64)}, std::move(value)};
  }
  return model;
}

void Write(const Schema& schema, const StoredModel& model, const std::string& path,
           Encoding encoding = Encoding::kIndex) {
  SuccinctStoreWriter writer(schema, kMaxValueBytes, encoding);
  for (const auto& [key, stored] : model) writer.Append({key, stored.stamp, stored.value});
  CHECK(writer.records() == model.size());
  Diagnostics why;
  const ErrorCode failed = writer.Finish(path, &why);
  CAPTURE(why.message);
  REQUIRE(failed == ErrorCode());
}

// The flags of the mapping of a file in /proc/self/smaps, which proc(5) explains.
std::string FlagsOfMapping(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) found = true;
    if (found && line.starts_with("VmFlags:")) return line;
  }
  return {};
}

TEST_CASE("the system reads nothing ahead for a store", "[succinct_store]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/store";
  RandomValues made;
  const StoredModel model = RandomModel(1, made);
  Write(made.schema, model, path);
  const auto store = SuccinctStore::Open(path).value();
  CHECK(FlagsOfMapping(path).find(" rr") != std::string::npos);
  store->ReadAhead();  // reads once, and changes nothing
  CHECK(FlagsOfMapping(path).find(" rr") != std::string::npos);
}

TEST_CASE("a store gives back keys, stamps and values", "[succinct_store]") {
  const std::uint64_t seed = GENERATE(range(1, 60));
  const auto encoding = GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText);
  CAPTURE(seed, static_cast<int>(encoding));
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  RandomValues made;
  const StoredModel model = RandomModel(seed, made);
  Write(made.schema, model, path, encoding);

  Diagnostics why;
  auto opened = SuccinctStore::Open(path, Verify::kEverything, &why);
  CAPTURE(why.message);
  REQUIRE(opened.has_value());
  SuccinctStore& store = **opened;
  CHECK(store.schema() == made.schema);
  REQUIRE(store.records() == model.size());
  CHECK(store.encoding() == encoding);
  ValueReader reader(store);
  std::uint32_t record = 0;
  std::uint64_t bytes = 0;
  for (const auto& [key, stored] : model) {
    CHECK(store.keys().Find(key) == record);
    CHECK(store.Has(key, KeyFilter::HashOf(key)));
    std::string read;
    store.keys().AppendKey(record, read);
    CHECK(read == key);
    CHECK(store.StampOf(record) == stored.stamp);
    CHECK(reader.Get(record) == stored.value);
    const std::string_view end = std::string_view(stored.value).substr(stored.value.size() / 2);
    const auto half = static_cast<std::int64_t>(stored.value.size() / 2);
    CHECK(reader.GetRange(record, {half, -1}) == end);
    for (std::size_t a = 0; a < made.schema.size(); ++a) {
      CHECK(reader.GetAttribute(record, a) == made.schema.Attribute(stored.value, a));
    }
    bytes += stored.value.size();
    ++record;
  }
  CHECK(store.value_bytes() == bytes);
  CHECK_FALSE(store.keys().Find("no such key"));
}

// A copy of a file whose key filter is other bytes, or none at all.
void CopyWithFilter(const std::string& from, const std::string& to,
                    std::optional<std::string_view> filter) {
  const auto file = IndexFile::Open(from, SuccinctStore::kFileKind, SuccinctStore::kFileVersion,
                                    Verify::kEverything);
  REQUIRE(file.has_value());
  auto copy = IndexFileWriter::Create(to, SuccinctStore::kFileKind, file->version());
  REQUIRE(copy.has_value());
  for (const IndexFile::Section& each : file->sections()) {
    if (each.name != section::kKeyFilter) copy->Add(each.name, each.bytes);
  }
  if (filter) copy->Add(section::kKeyFilter, std::as_bytes(std::span(*filter)));
  REQUIRE(copy->Publish() == ErrorCode());
}

TEST_CASE("a store without a key filter, as earlier programs wrote, may have any key",
          "[succinct_store]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  Write(Schema(), {{"a", {}}, {"b", {}}}, path);
  {
    const auto store = SuccinctStore::Open(path);
    REQUIRE(store.has_value());
    int others = 0;
    for (int i = 0; i < 100; ++i) others += (*store)->MayHave(KeyFilter::HashOf(std::to_string(i)));
    CHECK(others < 10);
  }
  const std::string copy = directory.path() + "/1.records";
  CopyWithFilter(path, copy, std::nullopt);
  const auto store = SuccinctStore::Open(copy);
  REQUIRE(store.has_value());
  CHECK((*store)->Has("a", KeyFilter::HashOf("a")));
  CHECK((*store)->MayHave(KeyFilter::HashOf("c")));
  CHECK_FALSE((*store)->Has("c", KeyFilter::HashOf("c")));
  CopyWithFilter(path, copy, "no whole block");
  CHECK(SuccinctStore::Open(copy).error() == Errc::kCorrupt);
}

TEST_CASE("a store gives back its tombstones", "[succinct_store]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  SuccinctStoreWriter writer{Schema()};
  writer.Append({"b", {3, 4}, "here"});
  writer.AppendTombstone("a", {{1, 2}, 1000});
  writer.AppendTombstone("c", {{5, 6}, 2000});
  REQUIRE(writer.Finish(path) == ErrorCode());
  auto opened = SuccinctStore::Open(path);
  REQUIRE(opened.has_value());
  const SuccinctStore& store = **opened;
  CHECK(store.deleted_keys().size() == 2);
  for (const char* const key : {"a", "b", "c"}) CHECK(store.Has(key, KeyFilter::HashOf(key)));
  const auto deleted = store.deleted_keys().Find("c");
  REQUIRE(deleted);
  CHECK(store.TombstoneOf(*deleted) == Tombstone{{5, 6}, 2000});
  CHECK_FALSE(store.deleted_keys().Find("b"));
  CHECK_FALSE(store.keys().Find("a"));
}

TEST_CASE("files with blocks or a text index are refused by software of before",
          "[succinct_store]") {
  const auto encoding = GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText);
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  Write(Schema(), {{"a", {{1, 1}, "one"}}}, path, encoding);
  for (const std::uint32_t version : {1, 2}) {
    CAPTURE(version);
    Diagnostics why;
    const auto file =
        IndexFile::Open(path, SuccinctStore::kFileKind, version, Verify::kEverything, &why);
    const bool reads =
        encoding == Encoding::kIndex || (encoding == Encoding::kBlocks && version == 2);
    CHECK(file.has_value() == reads);
    if (!reads) {
      CHECK(file.error() == Errc::kBadUrl);
      CHECK_THAT(why.message, Catch::Contains("use a newer program"));
    }
  }
}

TEST_CASE("a store with blocks has no layers", "[succinct_store]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  Write(Schema(), {{"a", {{1, 1}, "one"}}, {"b", {{1, 2}, "two"}}}, path, Encoding::kBlocks);
  auto opened = SuccinctStore::Open(path);
  REQUIRE(opened.has_value());
  LayerLadder ladder((*opened)->index_layers());
  CHECK(ladder.next_bytes() == 0);
  CHECK_FALSE(ladder.Add());
}

TEST_CASE("the account of a store's space has every byte of its file", "[succinct_store]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  RandomValues made;
  const StoredModel model = RandomModel(1, made);
  Write(made.schema, model, path, GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText));
  auto opened = SuccinctStore::Open(path);
  REQUIRE(opened.has_value());
  std::uint64_t bytes = 0;
  for (const Space& space : (*opened)->SpaceByPart()) bytes += space.bytes;
  CHECK(bytes == std::filesystem::file_size(path) + (*opened)->index().table_bytes());
  LayerLadder ladder((*opened)->index_layers());
  (void)ladder.Add();
  std::uint64_t more = 0;
  for (const Space& space : (*opened)->SpaceByPart()) more += space.bytes;
  CHECK(more - bytes == ladder.bytes());
}

TEST_CASE("keys that do not come in order are refused", "[succinct_store]") {
  const test::TempDirectory directory;
  SuccinctStoreWriter writer{Schema()};
  writer.Append({"b", {}, "1"});
  writer.Append({"a", {}, "2"});
  Diagnostics why;
  CHECK(writer.Finish(directory.path() + "/0.records", &why) == Errc::kBadOptions);
  CHECK_THAT(why.message, Catch::Contains("are not in order"));
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("a file that was changed is refused, byte by byte", "[succinct_store]") {
  const auto encoding = GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText);
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/0.records";
  Write(Schema(), {{"a", {{1, 1}, "one"}}, {"b", {{1, 2}, "two"}}}, path, encoding);
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CAPTURE(i);
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
    const std::string name = directory.path() + "/changed";
    std::ofstream(name, std::ios::binary) << changed;
    Diagnostics why;
    CHECK_FALSE(SuccinctStore::Open(name, Verify::kEverything, &why).has_value());
    CHECK(why.message.find(name) != std::string::npos);
  }
}

TEST_CASE("a schema is encoded and decoded", "[succinct_store]") {
  const Schema schema = Schema::Make({"a", "long name", std::string("\0x", 2)}, '\0').value();
  const std::vector<std::byte> bytes = EncodeSchema(schema);
  CHECK(DecodeSchema(bytes).value() == schema);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = DecodeSchema(std::span(bytes).first(size));
    // Names that are whole make a schema.
    if (cut) CHECK(EncodeSchema(*cut).size() == size);
  }
}

}  // namespace
}  // namespace stout::blowfish
