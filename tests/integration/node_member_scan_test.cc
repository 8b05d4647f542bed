// Goal: a scan over the members of ranges returns every key once, and never by a member that lacks
// acknowledged writes. Method: stores in memory, and records that the test changes.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/member_scan.h"
#include "stout/adapters/memory_store.h"
#include "stout/adapters/partition.h"
#include "stout/core/range_actions.h"
#include "stout/core/registry_table.h"
#include "tests/support/catch.h"
#include "tests/support/gated_store.h"

namespace stout::node {
namespace {

constexpr RangeId kRanges = 8;

struct Members {
  Members() {
    for (const char* const id : {"a", "b", "c"}) {
      stores[id] = std::make_unique<MemoryStore>(context.get_executor());
      records.datalets[id] = {.value = {.url = std::string("stout://") + id, .node = id},
                              .revision = 1};
    }
  }

  void Place(RangeId range, const std::map<std::string, bool>& members) {
    RangeRecord& record = records.sets[range].value;
    record.members.clear();
    for (const auto& [id, in] : members) {
      record.members.push_back({.datalet = id, .in = in, .since = TimePoint(changes)});
      if (stores.contains(id)) Put(id, internal::IdentityKeyOf("scope/" + std::to_string(range)));
    }
  }
  void Put(const std::string& id, const std::string& key) {
    WriteBatch batch;
    batch.epoch = 1;
    batch.items.push_back({.key = key, .value = id, .version = 1});
    bool done = false;
    stores[id]->Write(batch, [&](const WriteResult& result) {
      done = true;
      CHECK(result.batch == Errc::kOk);
    });
    context.restart();
    context.poll();
    CHECK(done);
  }
  ScanResult Page(const std::string& cursor, std::size_t limit = 3) {
    std::optional<ScanResult> page;
    scan.Scan({.cursor = cursor, .limit = limit},
              [&](ScanResult result) { page = std::move(result); });
    context.restart();
    context.poll();
    REQUIRE(page);
    return *page;
  }
  // The keys, each with the datalet from which it came.
  std::multimap<std::string, std::string> All() {
    std::multimap<std::string, std::string> keys;
    std::string cursor;
    do {
      ScanResult page = Page(cursor);
      REQUIRE(page.errc == Errc::kOk);
      for (const ScannedKey& key : page.keys) keys.emplace(key.key, key.state.value);
      cursor = page.cursor;
    } while (!cursor.empty());
    return keys;
  }

  boost::asio::io_context context;
  std::map<std::string, std::unique_ptr<Store>> stores;
  std::chrono::microseconds changes{1};
  RegistryTable records;
  std::string self;
  MemberScan scan{SlotPartition(kRanges), "scope",
                  [this] { return std::make_shared<const RegistryTable>(records); },
                  [this](const std::string& id) {
                    const auto found = stores.find(id);
                    return found == stores.end() ? nullptr : found->second.get();
                  },
                  [this] { return self; }};
};

RangeId RangeOfKey(const std::string& key) { return SlotPartition(kRanges).RangeOf(key); }

TEST_CASE("a scan over members returns each key once, by a member that is in", "[node][members]") {
  Members world;
  // Ranges below 4 are in at a and b, the others at c only, where a is out and has old keys.
  for (RangeId range = 0; range < kRanges; ++range) {
    range < 4 ? world.Place(range, {{"a", true}, {"b", true}})
              : world.Place(range, {{"a", false}, {"c", true}});
  }
  std::multimap<std::string, std::string> expected;
  for (int i = 0; i < 40; ++i) {
    const std::string key = "key" + std::to_string(i);
    const bool low = RangeOfKey(key) < 4;
    if (low || i % 2 == 0) world.Put("a", key);
    world.Put(low ? "b" : "c", key);
    expected.emplace(key, low ? "a" : "c");
  }
  world.Put("a", "stout:mark");
  world.Put("c", "stout:mark");
  CHECK(world.All() == expected);
  CHECK(world.scan.traits().scans);

  // The datalet of this node is preferred.
  world.self = "b";
  for (auto& [key, datalet] : expected) {
    if (datalet == "a") datalet = "b";
  }
  CHECK(world.All() == expected);
}

// The negative control: the same stores, and records that call the member in that lacks keys.
TEST_CASE("a scan misses keys if the records are wrong", "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}, {"b", true}});
  world.Put("b", "key");
  CHECK(world.All().empty());
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", false}, {"b", true}});
  CHECK(world.All().size() == 1);
}

TEST_CASE("a scan begins again if its member was out meanwhile", "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}, {"b", true}});
  for (int i = 0; i < 10; ++i) {
    world.Put("a", std::to_string(i));
    world.Put("b", std::to_string(i));
  }
  const ScanResult first = world.Page("");
  REQUIRE(!first.cursor.empty());
  CHECK(world.Page(first.cursor).errc == Errc::kOk);
  ++world.changes;
  world.Place(3, {{"a", false}, {"b", true}});
  CHECK(world.Page(first.cursor).errc == Errc::kTransient);
  ++world.changes;
  world.Place(3, {{"a", true}, {"b", true}});  // it missed changes between the pages
  CHECK(world.Page(first.cursor).errc == Errc::kTransient);
  CHECK(world.All().size() == 10);
}

TEST_CASE("a scan takes no page from a store that lost its data before its owners notice",
          "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}, {"b", true}});
  world.Put("a", "key");
  CHECK(world.All().size() == 1);
  world.stores["a"] = std::make_unique<MemoryStore>(world.context.get_executor());
  CHECK(world.Page("").errc == Errc::kTransient);
  world.stores["a"].reset();
  CHECK(world.Page("").errc == Errc::kOk);  // by b
}

TEST_CASE("a scan that ends after the node's stores uses none of them", "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}});
  auto gated = std::make_unique<GatedStore>(std::move(world.stores["a"]));
  GatedStore& gate = *gated;
  world.stores["a"] = std::move(gated);
  gate.Shut();
  std::optional<ScanResult> page;
  world.scan.Scan({.cursor = {}, .limit = 3}, [&](ScanResult result) { page = std::move(result); });
  world.scan.Close();
  world.stores.erase("b");
  gate.Open();
  world.context.restart();
  world.context.poll();
  REQUIRE(page);
  CHECK(page->errc == Errc::kClosed);
}

TEST_CASE("a scan is refused for now if a range has no member that can be called",
          "[node][members]") {
  Members world;
  CHECK(world.Page("").errc == Errc::kTransient);  // the records are not known yet
  for (RangeId range = 1; range < kRanges; ++range) world.Place(range, {{"a", true}});
  CHECK(world.Page("").errc == Errc::kTransient);  // a range without a set
  world.Place(0, {{"a", false}});
  CHECK(world.Page("").errc == Errc::kTransient);
  world.Place(0, {{"gone", true}});
  CHECK(world.Page("").errc == Errc::kTransient);
  world.Place(0, {{"a", true}});
  CHECK(world.Page("").errc == Errc::kOk);
  CHECK(world.Page("no place").errc == Errc::kRefused);
  CHECK(world.Page("1/99/").errc == Errc::kRefused);
  CHECK(world.Page("99/0/").errc == Errc::kTransient);  // a plan that was forgotten
}

}  // namespace
}  // namespace stout::node
