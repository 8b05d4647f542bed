// Tenants that share the memory of a map.
#include "stout/tenants.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/write_back_map.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"
#include "tests/support/scripted_store.h"

namespace stout {
namespace {

namespace asio = boost::asio;

// A map whose store has each key, with its name as value.
struct TenantWorld {
  explicit TenantWorld(std::size_t cache_bytes = std::size_t{1} << 20) {
    map = std::make_unique<WriteBackMap>(
        context.get_executor(), store,
        WriteBackMapOptions{.engine = Hasty(), .cache_bytes = cache_bytes, .tenants = tenants});
    map->interposer().OpenWithEpoch(1);
  }

  void On(UniqueFunction<void()> call) {
    asio::post(map->get_executor(), std::move(call));
    for (bool more = true; more;) {
      context.restart();
      context.poll();
      more = !store.reads.empty();
      while (!store.reads.empty()) {
        auto read = store.TakeRead();
        asked.push_back(read.batch);
        ReadResult result;
        for (const std::string& key : read.batch.keys)
          result.states.push_back({.found = true, .value = key, .stamp = {1, 1}});
        read.handler(std::move(result));
      }
    }
  }
  void Get(TenantId tenant, const std::string& key) {
    On([this, tenant, key] {
      map->Get(key, {.tenant = tenant}, [this, key](ErrorCode ec, const KeyMap::Entry& entry) {
        REQUIRE_FALSE(ec);
        CHECK(*entry.value == key);
        CHECK(map->Holds(key));  // at least until this handler returns
      });
    });
  }
  bool Holds(const std::string& key) {
    bool holds = false;
    On([&] { holds = map->Holds(key); });
    return holds;
  }
  TenantStats StatsOf(TenantId tenant) {
    const auto all = map->CachedByTenant();
    return tenant < all.size() ? all[tenant] : TenantStats();
  }

  asio::io_context context;
  ScriptedStore store;
  std::shared_ptr<Tenants> tenants = std::make_shared<Tenants>();
  std::unique_ptr<WriteBackMap> map;
  std::vector<ReadBatch> asked;
};

std::string NumberedKey(int i) { return "key" + std::to_string(1000 + i); }

}  // namespace

TEST_CASE("names of tenants get numbers, and those beyond the limit share one", "[tenants]") {
  Tenants tenants(2);
  CHECK(tenants.IdOf("") == 0);
  CHECK(tenants.IdOf("default") == 0);
  const TenantId shop = tenants.IdOf("shop");
  CHECK(tenants.IdOf("reports") == shop + 1);
  CHECK(tenants.IdOf("shop") == shop);
  CHECK(tenants.IdOf("third") == Tenants::kOther);
  CHECK(tenants.IdOf("fourth") == Tenants::kOther);
  CHECK(tenants.IdOf("other") == Tenants::kOther);
  CHECK(tenants.Names() == std::vector<std::string>{"default", "other", "shop", "reports"});
}

TEST_CASE("a map counts each tenant's look-ups and bytes", "[tenants]") {
  TenantWorld world;
  for (const char* const key : {"a", "b", "a", "a"}) world.Get(2, key);
  world.Get(3, "b");
  world.Get(3, "c");
  const TenantStats second = world.StatsOf(2);
  const TenantStats third = world.StatsOf(3);
  CHECK(std::pair(second.hits, second.misses) == std::pair<std::uint64_t, std::uint64_t>(2, 2));
  CHECK(std::pair(third.hits, third.misses) == std::pair<std::uint64_t, std::uint64_t>(1, 1));
  CHECK(second.bytes + third.bytes == world.map->cached_bytes());
  CHECK(third.bytes == 2 * second.bytes);  // b is in the account of the last user
}

TEST_CASE("a prefetch of keys is not a use of them", "[tenants]") {
  TenantWorld world;
  world.Get(2, "a");
  world.On([&] { world.map->Prefetch(std::vector<KeyView>{"a", "absent"}); });
  const TenantStats stats = world.StatsOf(2);
  CHECK(std::pair(stats.hits, stats.misses) == std::pair<std::uint64_t, std::uint64_t>(0, 1));
  CHECK_FALSE(world.Holds("absent"));
}

TEST_CASE("a request that has read a key is counted once", "[tenants]") {
  TenantWorld world;
  world.Get(2, "a");
  world.On([&] { CHECK(world.map->Peek("a", {.tenant = 2, .counted = true})); });
  CHECK(world.StatsOf(2).hits == 0);
  world.On([&] { CHECK(world.map->Peek("a", {.tenant = 2})); });
  CHECK(world.StatsOf(2).hits == 1);
}

TEST_CASE("a store learns whose reads it gets", "[tenants]") {
  TenantWorld world;
  world.On([&] {
    const auto ignore = [](ErrorCode, const KeyMap::Entry&) {};
    world.map->Get("a", ignore);
    world.map->Get("b", {.tenant = 2}, ignore);
    world.map->Get("c", ignore);
    world.map->Get("b", {.tenant = 3}, ignore);
  });
  std::vector<std::pair<std::string, TenantId>> asked;
  for (const ReadBatch& batch : world.asked) {
    for (std::size_t i = 0; i < batch.keys.size(); ++i)
      asked.emplace_back(batch.keys[i], batch.tenants.empty() ? 0 : batch.tenants[i]);
  }
  CHECK(asked == std::vector<std::pair<std::string, TenantId>>{{"a", 0}, {"b", 2}, {"c", 0}});
}

TEST_CASE("a tenant that is not admitted displaces nobody", "[tenants]") {
  TenantWorld measure;
  measure.Get(2, NumberedKey(0));
  const std::size_t one = measure.map->cached_bytes();
  TenantWorld world(100 * one);
  for (int i = 0; i < 100; ++i) world.Get(2, NumberedKey(i));
  REQUIRE(world.map->cached_bytes() == 100 * one);

  world.tenants->Admit(3, 0.0);
  for (int i = 0; i < 500; ++i) world.Get(3, NumberedKey(200 + i));
  int left = 0;
  for (int i = 0; i < 100; ++i) left += world.Holds(NumberedKey(i)) ? 1 : 0;
  CHECK(left >= 98);  // a guest has the place of one
  CHECK(world.StatsOf(3).reason == AdmissionReason::kByHand);

  world.tenants->Admit(3, 1.0);
  for (int i = 0; i < 500; ++i) world.Get(3, NumberedKey(200 + i));
  left = 0;
  for (int i = 0; i < 100; ++i) left += world.Holds(NumberedKey(i)) ? 1 : 0;
  CHECK(left < 10);
}

// Tenant 2 reads a few keys again and again, tenant 3 each key once. So the reads of tenant 3
// yield.
struct ThrottledWorld : TenantWorld {
  ThrottledWorld() : TenantWorld(20'000) {
    int scanned = 0;
    for (int i = 0; i < 20'000 && StatsOf(3).share > .01; ++i) {
      Get(2, NumberedKey(i % 10));
      Get(3, "scanned" + std::to_string(++scanned));
    }
    REQUIRE(StatsOf(3).share <= .01);
    asked.clear();
  }
  void Ask(TenantId tenant, const std::string& key) {
    map->Get(key, {.tenant = tenant}, [](ErrorCode, const KeyMap::Entry&) {});
  }
};

TEST_CASE("the reads of a tenant with a small share yield", "[tenants]") {
  ThrottledWorld world;
  SECTION("by the law") {}
  SECTION("although its share was fixed") {
    world.tenants->Admit(3, 0.1);
    world.Get(2, NumberedKey(1));
    world.asked.clear();
  }
  world.On([&] {
    world.Ask(3, "a");
    world.Ask(2, "b");
    world.Ask(3, "c");
  });
  REQUIRE(world.asked.size() == 2);
  CHECK(world.asked[0].keys == std::vector<std::string>{"b"});
  CHECK(world.asked[1].keys == std::vector<std::string>{"a", "c"});
}

TEST_CASE("a small share by hand does not make a tenant yield that is alone", "[tenants]") {
  TenantWorld world;
  world.tenants->Admit(3, 0.0);
  world.Get(3, "first");  // a map learns of shares at a look-up
  world.asked.clear();
  world.On([&] {
    for (const TenantId tenant : {3, 2})
      world.map->Get(NumberedKey(static_cast<int>(tenant)), {.tenant = tenant},
                     [](ErrorCode, const KeyMap::Entry&) {});
  });
  CHECK(world.asked.size() == 1);
}

TEST_CASE("a tenant that is admitted by hand does not yield", "[tenants]") {
  ThrottledWorld world;
  world.tenants->Admit(3, 1.0);
  world.Get(2, NumberedKey(1));
  world.asked.clear();
  world.On([&] {
    world.Ask(3, "a");
    world.Ask(2, "b");
  });
  CHECK(world.asked.size() == 1);
}

TEST_CASE("a read that yields is hastened by another tenant's", "[tenants]") {
  ThrottledWorld world;
  world.On([&] {
    world.Ask(3, "a");
    world.Ask(3, "b");
    world.Ask(2, "b");
    world.Ask(3, "b");
  });
  REQUIRE(world.asked.size() == 2);
  CHECK(world.asked[0].keys == std::vector<std::string>{"b"});
  CHECK(world.asked[1].keys == std::vector<std::string>{"a"});
}

TEST_CASE("what a throttled tenant reads ahead stays until it is used", "[tenants]") {
  TenantWorld measure;
  measure.Get(2, NumberedKey(0));
  TenantWorld world(200 * measure.map->cached_bytes());
  for (int i = 0; i < 200; ++i) world.Get(2, NumberedKey(i));
  world.tenants->Admit(3, 0.0);
  for (int round = 0; round < 20; ++round) {
    const int first = 200 + round * 50;
    world.On([&] {
      const auto ignore = [](ErrorCode, const KeyMap::Entry&) {};
      for (int i = 0; i < 50; ++i)
        world.map->Get(NumberedKey(first + i), {.tenant = 3, .ahead = true}, ignore);
    });
    world.On([&] {
      for (int i = 0; i < 50; ++i)
        CHECK(world.map->Peek(NumberedKey(first + i), {.tenant = 3, .counted = true}));
    });
  }
  int left = 0;
  for (int i = 0; i < 200; ++i) left += world.Holds(NumberedKey(i)) ? 1 : 0;
  CHECK(left >= 140);  // those that it read ahead together have the place of others
  CHECK(world.StatsOf(3).misses == 1000);
  CHECK(world.StatsOf(3).hits == 0);
}

TEST_CASE("reads of keys that are used once do not displace those that are used again",
          "[tenants]") {
  TenantWorld measure;
  measure.Get(0, NumberedKey(0));
  TenantWorld world(100 * measure.map->cached_bytes());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 40; ++i) world.Get(0, NumberedKey(i));
  }
  for (int i = 0; i < 500; ++i) world.Get(0, NumberedKey(200 + i));
  for (int i = 0; i < 40; ++i) CHECK(world.Holds(NumberedKey(i)));
}

}  // namespace stout
