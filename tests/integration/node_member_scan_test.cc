// Goal: a scan over the members of ranges returns every key once, and never by a member that lacks
// acknowledged writes. Method: stores in memory, and records that the test changes.

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/cluster.h"
#include "node/member_scan.h"
#include "stout/adapters/memory_store.h"
#include "stout/adapters/partition.h"
#include "stout/core/range_actions.h"
#include "stout/core/registry_table.h"
#include "stout/forwarding_store.h"
#include "tests/support/catch.h"
#include "tests/support/gated_store.h"

namespace stout::node {
namespace {

constexpr RangeId kRanges = 8;

// Finds keys by their whole values, as a store with an attribute.
class SearchingStore final : public ForwardingStore {
 public:
  explicit SearchingStore(const boost::asio::any_io_executor& executor)
      : ForwardingStore(store_), executor_(executor), store_(executor), traits_(store_.traits()) {
    traits_.schema = Schema();
  }
  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Search(const SearchRequest& request, SearchHandler handler) override {
    ++searches;
    store_.Scan({.cursor = {}, .limit = 1000},
                [this, request, handler = std::move(handler)](const ScanResult& all) mutable {
                  SearchResult result{.errc = all.errc};
                  for (const ScannedKey& key : all.keys) {
                    if (key.state.value.find(request.text) != std::string::npos)
                      result.keys.push_back(key.key);
                  }
                  boost::asio::post(executor_, [result = std::move(result),
                                                handler = std::move(handler)]() mutable {
                    handler(std::move(result));
                  });
                });
  }

  int searches = 0;

 private:
  const boost::asio::any_io_executor executor_;
  MemoryStore store_;
  StoreTraits traits_;
};

struct Members {
  Members() {
    for (const char* const id : {"a", "b", "c"}) {
      stores[id] = std::make_unique<SearchingStore>(context.get_executor());
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
    Write(id, {.key = key, .value = id, .version = 1});
  }
  void Write(const std::string& id, WriteItem item) {
    WriteBatch batch;
    batch.epoch = 1;
    batch.items.push_back(std::move(item));
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
  SearchResult Search(const std::string& text, const std::string& beside = {}) {
    std::optional<SearchResult> found;
    scan.Search({.text = text, .beside = beside},
                [&](SearchResult result) { found = std::move(result); });
    context.restart();
    context.poll();
    REQUIRE(found);
    std::ranges::sort(found->keys);
    return *found;
  }
  [[nodiscard]] int Searches(const std::string& id) const {
    return dynamic_cast<const SearchingStore&>(*stores.at(id)).searches;
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
  std::map<std::string, Cluster::Queue> queues;
  std::set<Version> observed;
  MemberScan scan{SlotPartition(kRanges),
                  "scope",
                  [this] { return std::make_shared<const RegistryTable>(records); },
                  [this](const std::string& id) {
                    const auto found = stores.find(id);
                    return found == stores.end() ? nullptr : found->second.get();
                  },
                  [this] { return self; },
                  [this](const std::string& id) { return &queues[id]; },
                  [this](Version version) { observed.insert(version); }};
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

TEST_CASE("a scan reports the versions of states of shared ranges, also of deleted keys",
          "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}});
  world.Write("a", {.key = "{x}kept", .value = "1", .version = 20});
  world.Write("a", {.key = "{x}deleted", .kind = WriteKind::kDelete, .version = 21});
  RangeRecord& record = world.records.sets[RangeOfKey("{x}")].value;
  CHECK(world.All().contains("{x}kept"));
  CHECK(world.observed.empty());
  record.shared = 2;  // the states are older than the sharing
  CHECK(world.All().contains("{x}kept"));
  CHECK(world.observed.empty());
  record.shared = 1;
  CHECK(world.All().contains("{x}kept"));
  CHECK(world.observed == std::set<Version>{20, 21});
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

// Ranges below 4 are in at a and b, the others at c only, where a is out and has old keys.
void PlaceApart(Members& world, std::vector<std::string>& expected) {
  for (RangeId range = 0; range < kRanges; ++range) {
    range < 4 ? world.Place(range, {{"a", true}, {"b", true}})
              : world.Place(range, {{"a", false}, {"c", true}});
  }
  for (int i = 0; i < 40; ++i) {
    const std::string key = "key" + std::to_string(i);
    world.Put("a", key);
    world.Put(RangeOfKey(key) < 4 ? "b" : "c", key);
    expected.push_back(key);
  }
  world.Put("c", "stout:mark");
  std::ranges::sort(expected);
}

TEST_CASE("a search over members finds each key once, by members that are in", "[node][members]") {
  Members world;
  std::vector<std::string> expected;
  PlaceApart(world, expected);
  CHECK(world.Search("").keys == expected);
  CHECK(world.Search("none").keys.empty());
  // The datalets' own names are the values.
  std::erase_if(expected, [](const std::string& key) { return RangeOfKey(key) < 4; });
  CHECK(world.Search("c").keys == expected);

  const int before = world.Searches("a") + world.Searches("b");
  const std::string beside = expected.front();
  std::erase_if(expected,
                [&](const std::string& key) { return RangeOfKey(key) != RangeOfKey(beside); });
  CHECK(world.Search("", beside).keys == expected);
  CHECK(world.Searches("a") + world.Searches("b") == before);
}

TEST_CASE("a search asks the member with the shortest queue", "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}, {"b", true}});
  for (int i = 0; i < 40; ++i) (void)world.Search("");
  CHECK(world.Searches("a") > 5);  // ties go by chance
  CHECK(world.Searches("b") > 5);
  const int before = world.Searches("a");
  const auto waiting = world.queues["a"].own;
  for (int i = 0; i < 40; ++i) (void)world.Search("");
  CHECK(world.Searches("a") == before);
}

TEST_CASE("a search takes nothing from a member that may lack keys", "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}});
  CHECK(world.Search("").errc == Errc::kOk);
  // It lost its data before its owners noticed.
  world.stores["a"] = std::make_unique<SearchingStore>(world.context.get_executor());
  CHECK(world.Search("").errc == Errc::kTransient);
  // It cannot search.
  world.stores["a"] = std::make_unique<MemoryStore>(world.context.get_executor());
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}});
  CHECK(world.Page("").errc == Errc::kOk);
  CHECK(world.Search("").errc == Errc::kTransient);
}

TEST_CASE("a search that ends after the node's stores uses none of them", "[node][members]") {
  Members world;
  for (RangeId range = 0; range < kRanges; ++range) world.Place(range, {{"a", true}});
  std::optional<SearchResult> found;
  world.scan.Search({.text = ""}, [&](SearchResult result) { found = std::move(result); });
  world.scan.Close();
  world.context.restart();
  world.context.poll();
  REQUIRE(found);
  CHECK(found->errc == Errc::kClosed);
}

}  // namespace
}  // namespace stout::node
