// Batches that wait for RocksDB's writer are written together.
#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rocksdb_test_support.h"
#include "store_test_support.h"
#include "stout/adapters/memory_store.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/rounds.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKiB = 1024;

class GroupsTest {
 protected:
  ~GroupsTest() {
    (void)Release();
    store_.reset();
  }

  // From now on the only writer waits, in the handler of this write.
  void Hold() {
    held_ = std::make_shared<Held>();
    writes_.push_back(Batch(1, {Put("held", "", ++holds_)}));
    store_->Write(writes_.back(), [held = held_](const WriteResult&) {
      held->begin.count_down();
      held->end.wait();
    });
    held_->begin.wait();
  }

  // `then` runs in the handler.
  void Submit(WriteBatch batch, std::function<void()> then = {}) {
    writes_.push_back(std::move(batch));
    auto promise = std::make_shared<std::promise<WriteResult>>();
    results_.push_back(promise->get_future());
    store_->Write(writes_.back(), [promise, then = std::move(then)](WriteResult result) {
      if (then) then();
      promise->set_value(std::move(result));
    });
  }

  // Returns what Submit() was answered since Hold().
  std::vector<WriteResult> Release() {
    if (const auto held = std::exchange(held_, {})) held->end.count_down();
    std::vector<WriteResult> results;
    for (auto& each : std::exchange(results_, {})) results.push_back(each.get());
    return results;
  }

  const TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_ =
      OpenOrThrow({.path = directory_.path(), .sync = false, .threads = 1});

 private:
  struct Held {
    std::latch begin{1};
    std::latch end{1};
  };

  std::deque<WriteBatch> writes_;
  std::vector<std::future<WriteResult>> results_;
  std::shared_ptr<Held> held_;
  Version holds_ = 0;
};

TEST_CASE_METHOD(GroupsTest, "batches that wait for a writer are written together", "[rocksdb]") {
  Hold();
  StoredState last;
  Submit(Batch(1, {Put("a", "v", 1)}), [&] { last = ReadOne(*store_, "c"); });
  Submit(Batch(2, {Put("b", "v", 1)}));
  Submit(Batch(1, {Put("c", "v", 2)}));
  CHECK(Release() == std::vector<WriteResult>(3));
  CHECK(last == Found("v", {1, 2}));  // before the second handler has run
  CHECK(NewEpochNow(*store_) == 3);
}

TEST_CASE_METHOD(GroupsTest, "a batch that must be alone is written alone", "[rocksdb]") {
  Hold();
  WriteBatch alone = Batch(1, {Put("b", "v", 1)});
  alone.alone = true;
  std::vector<bool> found;
  const auto look = [&] {
    for (const char* key : {"a", "b", "c"}) found.push_back(ReadOne(*store_, key).found);
  };
  Submit(Batch(1, {Put("a", "v", 1)}), look);
  Submit(alone, look);
  Submit(Batch(1, {Put("c", "v", 2)}), look);
  CHECK(Release() == std::vector<WriteResult>(3));
  // After a and c together, and then b.
  CHECK(found == std::vector<bool>{true, false, true, true, false, true, true, true, true});
}

TEST_CASE_METHOD(GroupsTest, "a group has 256 KiB, or one larger batch", "[rocksdb]") {
  const auto [first, second, together] = GENERATE(table<std::size_t, std::size_t, bool>(
      {{100, 155, true}, {100, 157, false}, {300, 1, false}, {1, 300, false}}));
  CAPTURE(first, second);
  Hold();
  bool found = false;
  Submit(Batch(1, {Put("a", std::string(first * kKiB, 'v'), 1)}),
         [&] { found = ReadOne(*store_, "b").found; });
  Submit(Batch(1, {Put("b", std::string(second * kKiB, 'v'), 1)}));
  CHECK(Release() == std::vector<WriteResult>(2));
  CHECK(found == together);
  CHECK(ReadOne(*store_, "b").found);
}

TEST_CASE_METHOD(GroupsTest, "a batch is answered before the next group is written", "[rocksdb]") {
  Hold();
  StoredState then;
  Submit(Batch(1, {Put("k", "v", 1)}), [&] { then = ReadOne(*store_, "k"); });
  Submit(Batch(1, {Put("k", "v", 2)}));
  CHECK(Release() == std::vector<WriteResult>(2));
  CHECK(then == Found("v", {1, 1}));
  CHECK(ReadOne(*store_, "k") == Found("v", {1, 2}));
}

TEST_CASE_METHOD(GroupsTest, "the end of a store finishes the batches that wait", "[rocksdb]") {
  Hold();
  for (int i = 0; i < 5; ++i) {
    Submit(Batch(1, {Put("k" + std::to_string(i), std::string(200 * kKiB, 'v'), 1)}));
  }
  std::thread end([this] { store_.reset(); });
  CHECK(Release() == std::vector<WriteResult>(5));
  end.join();
}

TEST_CASE_METHOD(GroupsTest, "a batch that cannot be compared does not fail others", "[rocksdb]") {
  REQUIRE(WriteNow(*store_, Batch(1, {Put("damaged", "v", 1)})) == WriteResult{});
  REQUIRE_FALSE(store_->Compact());
  DamageTables(directory_.path());
  Hold();
  Submit(Batch(1, {Put("before", "v", 1)}));
  Submit(Batch(1, {Put("new", "v", 1), Put("damaged", "w", 2)}));
  Submit(Batch(1, {Put("after", "v", 1)}));
  CHECK(Release() == std::vector<WriteResult>{{}, {Errc::kTransient, {}}, {}});
  CHECK(ReadOne(*store_, "before").found);
  CHECK_FALSE(ReadOne(*store_, "new").found);
  CHECK(ReadOne(*store_, "after").found);
}

TEST_CASE_METHOD(GroupsTest, "a failed write of a group is unknown for all that it has",
                 "[rocksdb]") {
  REQUIRE_FALSE(FenceNow(*store_, "fenced", 2));
  REQUIRE(WriteNow(*store_, Batch(1, {Put("there", "v", 1)})) == WriteResult{});
  Hold();
  Submit(Batch(1, {Put("small", "v", 1)}));
  Submit(Scoped("fenced", Batch(1, {Put("a", "v", 1)})));
  Submit(Batch(1, {Put("there", "v", 1)}));
  Submit(Batch(1, {Put("large", std::string(200 * kKiB, 'x'), 1)}));
  const FileSizeLimit limit(64 * kKiB);
  const WriteResult unknown{Errc::kUnknown, {}};
  CHECK(Release() == std::vector<WriteResult>{unknown, {Errc::kFenced, {}}, {}, unknown});
}

// A group is answered by one thread. On a machine that is very busy the second batch may come after
// the first commit, so this tries several times.
TEST_CASE("batches wait for the commit of an earlier group", "[rocksdb]") {
  const TempDirectory directory;
  const auto store = OpenOrThrow({.path = directory.path(), .sync_delay = 100ms, .threads = 4});
  bool together = false;
  for (Version version = 1; version <= 10 && !together; ++version) {
    std::array<WriteBatch, 3> batches;
    std::array<std::promise<std::thread::id>, 3> answered;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      batches.at(i) = Batch(1, {Put(std::to_string(i), "v", version)});
      store->Write(batches.at(i), [&, i](const WriteResult& result) {
        const bool done = result == WriteResult{};
        answered.at(i).set_value(done ? std::this_thread::get_id() : std::thread::id());
      });
      std::this_thread::sleep_for(20ms);
    }
    std::array<std::thread::id, 3> threads;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads.at(i) = answered.at(i).get_future().get();
    }
    REQUIRE(threads[0] != std::thread::id());
    together = threads[1] == threads[2] && threads[1] != std::thread::id();
  }
  CHECK(together);
}

// Writers that each have one write under way, of a key of their own and one that all share.
TEST_CASE("each batch is answered once, whatever runs beside it", "[rocksdb]") {
  constexpr int kWriters = 8;
  constexpr Version kWrites = 60;
  const TempDirectory directory;
  const Duration sync_delay = GENERATE(0ms, 1ms);
  const auto store = OpenOrThrow(
      {.path = directory.path(), .sync = sync_delay > 0ms, .sync_delay = sync_delay, .threads = 3});
  std::atomic<Version> newest = 0;
  std::vector<std::thread> writers;
  std::atomic<int> failed = 0;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (Version i = 1; i <= kWrites; ++i) {
        const Version version = ++newest;
        WriteBatch batch = Batch(5, {Put("own" + std::to_string(w), std::to_string(i), version)});
        if (w % 2 == 0) batch.items.push_back(Put("shared", std::to_string(version), version));
        batch.alone = (w + static_cast<int>(i)) % 5 == 0;
        if (w % 3 == 0) batch.scope = "scope";
        if (WriteNow(*store, batch) != WriteResult{}) ++failed;
        if (ReadOne(*store, "own" + std::to_string(w)).value != std::to_string(i)) ++failed;
        if (i % 10 == 0 && FenceNow(*store, "scope", 5)) ++failed;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(failed == 0);
  const StoredState shared = ReadOne(*store, "shared");
  CHECK(shared.value == std::to_string(shared.stamp.version));
  CHECK(NewEpochNow(*store) == 6);
}

// Batches of few keys, by several owners of few scopes.
WriteBatch RandomBatch(SplitMix64& random, const std::string& round) {
  std::vector<WriteItem> items;
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
    if (random.Below(4) != 0) continue;
    const Version version = 1 + random.Below(5);
    // The same stamp has the same state, as the contract asks.
    const bool deletes = version == 3;
    items.push_back(deletes ? Delete(round + key, version)
                            : Put(round + key, std::to_string(version), version));
  }
  constexpr std::array kScopes{"", "", "one", "two"};
  return Scoped(kScopes.at(random.Below(kScopes.size())),
                Batch(1 + random.Below(4), std::move(items)));
}

TEST_CASE_METHOD(GroupsTest, "a group does what its batches would do one after the other",
                 "[rocksdb][long]") {
  boost::asio::io_context context;
  MemoryStore model(context.get_executor());
  for (const auto& [scope, epoch] : {std::pair("one", Epoch{2}), std::pair("two", Epoch{3})}) {
    REQUIRE_FALSE(FenceNow(*store_, scope, epoch));
    REQUIRE_FALSE(FenceNow(model, scope, epoch));
  }
  std::size_t fenced = 0;
  std::size_t older = 0;
  const auto seeds = std::min<std::uint64_t>(Rounds("STOUT_SEEDS", 60), 1000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    SplitMix64 random(seed);
    const std::string round = std::to_string(seed) + "/";
    std::vector<WriteResult> expected;
    Hold();
    for (std::uint64_t left = 1 + random.Below(12); left > 0; --left) {
      WriteBatch batch = RandomBatch(random, round);
      expected.push_back(WriteNow(model, batch));
      fenced += expected.back().batch == Errc::kFenced ? 1 : 0;
      older += expected.back().items.size();
      Submit(std::move(batch));
    }
    REQUIRE(Release() == expected);
    std::vector<std::string> keys;
    for (const char* key : {"a", "b", "c", "d", "e", "f"}) keys.push_back(round + key);
    REQUIRE(ReadNow(*store_, keys).states == ReadNow(model, keys).states);
  }
  CHECK(fenced >= seeds / 2);
  CHECK(older >= seeds / 2);
}

}  // namespace
}  // namespace stout::test
