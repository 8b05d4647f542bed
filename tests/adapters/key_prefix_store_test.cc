// Two parts of one store, beside the contract suite (PartOfMemory).

#include "stout/adapters/key_prefix_store.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hooked_store.h"
#include "store_test_support.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

// Makes a store that says that it returns keys in any order.
std::shared_ptr<HookedStore> MakeUnordered(const boost::asio::any_io_executor& executor) {
  auto store = std::make_shared<HookedStore>(executor);
  store->own_traits().ordered = false;
  return store;
}

std::vector<std::string> KeysOf(Store& store, std::size_t limit, std::size_t* pages = nullptr) {
  std::vector<std::string> keys;
  ScanRequest request{.cursor = {}, .limit = limit};
  do {
    ScanResult page = store.AsyncScan(request, boost::asio::use_future).get();
    REQUIRE(page.errc == Errc::kOk);
    for (ScannedKey& key : page.keys) keys.push_back(std::move(key.key));
    request.cursor = std::move(page.cursor);
    if (pages != nullptr) ++*pages;
  } while (!request.cursor.empty());
  return keys;
}

void Set(Store& store, const std::string& key) {
  const WriteBatch batch = Batch(1, {Put(key, "of " + key, 1)});
  REQUIRE(store.AsyncWrite(batch, boost::asio::use_future).get() == WriteResult{});
}

TEST_CASE("parts of a store have keys of their own", "[store][part]") {
  boost::asio::thread_pool pool(1);
  const bool ordered = GENERATE(true, false);
  CAPTURE(ordered);
  const std::shared_ptr<Store> whole =
      ordered ? std::shared_ptr<Store>(std::make_shared<MemoryStore>(pool.get_executor()))
              : MakeUnordered(pool.get_executor());
  KeyPrefixStore one(whole, "stout:t1!");
  KeyPrefixStore ten(whole, "stout:t10!");
  Set(one, "");
  Set(one, "a");
  Set(ten, "a");
  Set(ten, "b");
  for (int i = 0; i < 50; ++i) Set(*whole, "before" + std::to_string(i));
  for (int i = 0; i < 50; ++i) Set(*whole, "z" + std::to_string(i));
  CHECK(KeysOf(one, 10) == std::vector<std::string>{"", "a"});
  CHECK(KeysOf(ten, 1) == std::vector<std::string>{"a", "b"});
  CHECK(KeysOf(*whole, 10).size() == 104);
  const ReadBatch read{.id = 1, .lane = 0, .keys = {"b", "a"}};
  const ReadResult found = one.AsyncRead(read, boost::asio::use_future).get();
  CHECK_FALSE(found.states[0].found);
  CHECK(found.states[1].value == "of a");
  std::size_t pages = 0;
  CHECK(KeysOf(ten, 10, &pages).size() == 2);
  CHECK(pages == (ordered ? 1 : 11));  // it reads the part only, if that is possible
}

// The keys of a part are in other slots of the whole store than its users think.
TEST_CASE("a limit of a scope passes through a store, but not through a part", "[store][part]") {
  struct Recorded final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    void LimitScope(const Scope& scope, HashSlots) override { limited.push_back(scope); }
    std::vector<Scope> limited;
  };
  boost::asio::thread_pool pool(1);
  MemoryStore memory(pool.get_executor());
  const auto whole = std::make_shared<Recorded>(memory);
  Store& store = *whole;
  ForwardingStore(store).LimitScope("all", {0, 9});
  KeyPrefixStore(whole, "part!").LimitScope("part", {0, 9});
  CHECK(whole->limited == std::vector<Scope>{"all"});
}

}  // namespace
}  // namespace stout::test
