// The contract of every store: the promises of stout/store.h.

#include <algorithm>
#include <atomic>
#include <boost/asio/use_future.hpp>
#include <latch>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "store_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
// The stores that this program tests: STOUT_TEST_ALL_STORES, and of them those that compare stamps,
// fence, and are durable.
#ifdef STOUT_TEST_REDIS_CLUSTER
#include "redis_cluster_fixture.h"
#else
#include "store_fixtures.h"
#endif

namespace stout::test {
namespace {

const WriteResult kAllDone{};

STOUT_STORE_TEST("a committed batch is readable, in the order asked for", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("a", "1", 1), Put("b", "2", 2), Put("c", "3", 3)})) ==
        kAllDone);
  const ReadResult result = ReadNow(store, {"c", "missing", "a", "b"});
  CHECK(result ==
        ReadResult{
            Errc::kOk,
            {Found(store, "3", {1, 3}), {}, Found(store, "1", {1, 1}), Found(store, "2", {1, 2})}});
}

STOUT_STORE_TEST("a read of stamps tells the same without the values, or with them",
                 STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("a", "1", 1), Put("b", "2", 2), Put("empty", "", 3)})) ==
        kAllDone);
  CHECK(WriteNow(store, Batch(1, {Delete("b", 4)})) == kAllDone);
  const std::vector<std::string> keys = {"b", "none", "a", "empty"};
  ReadBatch batch{.id = 1, .lane = 0, .keys = keys, .values = false};
  const ReadResult stamps = store.AsyncRead(batch, boost::asio::use_future).get();
  const ReadResult states = ReadNow(store, keys);
  REQUIRE(stamps.errc == Errc::kOk);
  REQUIRE(stamps.states.size() == keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CAPTURE(keys[i]);
    CHECK(stamps.states[i].found == states.states[i].found);
    CHECK(stamps.states[i].stamp == states.states[i].stamp);
    CHECK((stamps.states[i].value.empty() || stamps.states[i].value == states.states[i].value));
  }
}

STOUT_STORE_TEST("empty batches are answered", STOUT_TEST_ALL_STORES) {
  CHECK(WriteNow(fixture.store(), Batch(1, {})) == kAllDone);
  CHECK(ReadNow(fixture.store(), {}) == ReadResult{});
}

STOUT_STORE_TEST("a newer version replaces an older one", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("k", "old", 1)})) == kAllDone);
  CHECK(WriteNow(store, Batch(1, {Put("k", "new", 2)})) == kAllDone);
  CHECK(ReadOne(store, "k") == Found(store, "new", {1, 2}));
}

STOUT_STORE_TEST("an older version changes nothing and counts as done",
                 STOUT_TEST_COMPARING_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("k", "new", 2)})) == kAllDone);
  CHECK(WriteNow(store, Batch(1, {Put("k", "old", 1), Put("other", "x", 3)})) == kAllDone);
  CHECK(WriteNow(store, Batch(1, {Delete("k", 1)})) == kAllDone);
  CHECK(ReadOne(store, "k") == Found("new", {1, 2}));
  CHECK(ReadOne(store, "other") == Found("x", {1, 3}));
}

STOUT_STORE_TEST("a repeated batch is harmless", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1), Delete("gone", 2)});
  CHECK(WriteNow(store, batch) == kAllDone);
  CHECK(WriteNow(store, batch) == kAllDone);
  CHECK(ReadOne(store, "k") == Found(store, "v", {1, 1}));
  CHECK_FALSE(ReadOne(store, "gone").found);
}

STOUT_STORE_TEST("an older epoch is fenced, key by key", STOUT_TEST_COMPARING_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(2, {Put("mine", "new owner", 1)})) == kAllDone);
  // The old owner's version is higher, which counts for nothing.
  const WriteResult result =
      WriteNow(store, Batch(1, {Put("a", "1", 7), Put("mine", "old owner", 8), Put("b", "2", 9)}));
  CHECK(result == WriteResult{Errc::kOk, {{1, Errc::kFenced}}});
  CHECK(ReadNow(store, {"a", "mine", "b"}).states ==
        std::vector{Found("1", {1, 7}), Found("new owner", {2, 1}), Found("2", {1, 9})});
}

STOUT_STORE_TEST("a newer epoch wins with a smaller version", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("k", "old owner", 1000)})) == kAllDone);
  CHECK(WriteNow(store, Batch(2, {Put("k", "new owner", 1)})) == kAllDone);
  CHECK(ReadOne(store, "k") == Found(store, "new owner", {2, 1}));
}

STOUT_STORE_TEST("a deleted key is gone, and a ghost write does not raise it",
                 STOUT_TEST_COMPARING_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("k", "v", 1)})) == kAllDone);
  CHECK(WriteNow(store, Batch(1, {Delete("k", 3)})) == kAllDone);
  CHECK(ReadOne(store, "k") == StoredState{.found = false, .value = "", .stamp = {1, 3}});
  CHECK(WriteNow(store, Batch(1, {Put("k", "ghost", 2)})) == kAllDone);
  CHECK_FALSE(ReadOne(store, "k").found);
  CHECK(WriteNow(store, Batch(0, {Put("k", "ghost", 9)})) ==
        WriteResult{Errc::kOk, {{0, Errc::kFenced}}});
  CHECK_FALSE(ReadOne(store, "k").found);
  CHECK(WriteNow(store, Batch(1, {Put("k", "again", 4)})) == kAllDone);
  CHECK(ReadOne(store, "k") == Found("again", {1, 4}));
}

STOUT_STORE_TEST("a delete of a key that never was leaves a tombstone",
                 STOUT_TEST_COMPARING_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Delete("k", 2)})) == kAllDone);
  CHECK(WriteNow(store, Batch(1, {Put("k", "ghost", 1)})) == kAllDone);
  CHECK_FALSE(ReadOne(store, "k").found);
}

STOUT_STORE_TEST("keys and values are any bytes", STOUT_TEST_ALL_STORES) {
  using namespace std::string_literals;
  Store& store = fixture.store();
  const std::string key = "\0\xff k\0"s;
  const std::string value = "\0a\0\xfe"s;
  CHECK(WriteNow(store, Batch(1, {Put(key, value, 1), Put("\0"s, "zero", 2), Put("", "no", 3)})) ==
        kAllDone);
  CHECK(ReadNow(store, {key, "\0"s, "", "\0\0"s}).states ==
        std::vector{Found(store, value, {1, 1}),
                    Found(store, "zero", {1, 2}),
                    Found(store, "no", {1, 3}),
                    {}});
}

STOUT_STORE_TEST("an empty value is not an absent one", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  CHECK(WriteNow(store, Batch(1, {Put("empty", "", 1)})) == kAllDone);
  CHECK(ReadOne(store, "empty") == Found(store, "", {1, 1}));
  CHECK(ReadOne(store, "absent") == StoredState{});
}

STOUT_STORE_TEST("large values are kept whole", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  std::string large(std::size_t{4} << 20, 'x');
  for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
  CHECK(WriteNow(store, Batch(1, {Put("large", large, 1), Put("small", "s", 2)})) == kAllDone);
  CHECK(ReadOne(store, "large") == Found(store, large, {1, 1}));
}

STOUT_STORE_TEST("a batch of 10,000 items", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  std::vector<WriteItem> items;
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i) {
    keys.push_back("key" + std::to_string(i));
    items.push_back(Put(keys.back(), std::to_string(i), static_cast<Version>(i + 1)));
  }
  CHECK(WriteNow(store, Batch(1, items)) == kAllDone);
  const ReadResult result = ReadNow(store, keys);
  REQUIRE(result.states.size() == keys.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    wrong += result.states[i] == Found(store, std::to_string(i), {1, i + 1}) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

// Returns the longest queue that the answers of `reads` reads at once report.
std::size_t LongestQueue(Store& store, std::size_t reads) {
  std::mutex mutex;
  std::size_t longest = 0;
  std::latch answered(static_cast<std::ptrdiff_t>(reads));
  const ReadBatch batch{.id = 1, .lane = 0, .keys = {"k"}};
  for (std::size_t i = 0; i < reads; ++i) {
    store.Read(batch, [&](const ReadResult& result) {
      {
        const std::lock_guard lock(mutex);
        longest = std::max(longest, result.queue);
      }
      answered.count_down();
    });
  }
  answered.wait();
  return longest;
}

STOUT_STORE_TEST("a read reports the other requests that wait, or none", STOUT_TEST_ALL_STORES) {
  constexpr std::size_t kReads = 64;
  Store& store = fixture.store();
  const auto waits = [&] {
    const std::size_t longest = LongestQueue(store, kReads);
    CHECK(longest < kReads);
    return longest > 0;
  };
  if (fixture.ReportsQueue()) {
    CHECK(Eventually(waits));  // the reads before may have been too fast
  } else {
    CHECK_FALSE(waits());
  }
  CHECK(ReadNow(store, {"k"}).queue == 0);
}

STOUT_STORE_TEST("epochs strictly grow, beyond those seen in writes", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  const Epoch first = NewEpochNow(store);
  const Epoch second = NewEpochNow(store);
  CHECK(first > 0);
  CHECK(second > first);
  CHECK(WriteNow(store, Batch(second + 100, {Put("k", "v", 1)})) == kAllDone);
  CHECK(WriteNow(store, Batch(second + 50, {Put("l", "v", 1)})) == kAllDone);
  CHECK(NewEpochNow(store) > second + 100);
}

STOUT_STORE_TEST("a fence shuts older epochs out of the keys that nobody has written since",
                 STOUT_TEST_FENCING_STORES) {
  Store& store = fixture.store();
  REQUIRE(store.traits().fences);
  CHECK(WriteNow(store, Scoped("range/1", Batch(3, {Put("k", "first owner", 1)}))) == kAllDone);
  CHECK_FALSE(FenceNow(store, "range/1", 4));
  CHECK(WriteNow(store, Scoped("range/1", Batch(3, {Put("k", "late", 2), Put("new", "late", 3),
                                                    Delete("other", 4)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK(ReadNow(store, {"k", "new", "other"}).states ==
        std::vector{Found("first owner", {3, 1}), StoredState(), StoredState()});
  // Others are not concerned: the new owner, another scope, a writer without one.
  CHECK(WriteNow(store, Scoped("range/1", Batch(4, {Put("k", "second owner", 1)}))) == kAllDone);
  CHECK(WriteNow(store, Scoped("range/2", Batch(3, {Put("l", "neighbour", 5)}))) == kAllDone);
  CHECK(WriteNow(store, Batch(3, {Put("m", "stranger", 6)})) == kAllDone);
  CHECK(ReadNow(store, {"k", "l", "m"}).states == std::vector{Found("second owner", {4, 1}),
                                                              Found("neighbour", {3, 5}),
                                                              Found("stranger", {3, 6})});
}

STOUT_STORE_TEST("a fence never goes back, and may be repeated", STOUT_TEST_FENCING_STORES) {
  Store& store = fixture.store();
  CHECK_FALSE(FenceNow(store, "s", 7));
  CHECK_FALSE(FenceNow(store, "s", 7));
  CHECK(FenceNow(store, "s", 6) == Errc::kFenced);
  CHECK_FALSE(FenceNow(store, "t", 6));
  CHECK(WriteNow(store, Scoped("s", Batch(6, {Put("k", "v", 1)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK(WriteNow(store, Scoped("s", Batch(7, {Put("k", "v", 1)}))) == kAllDone);
  CHECK(NewEpochNow(store) > 7);
}

// The states that a successor reads after its fence stay: no batch of the former owner that is
// under way takes effect after it.
STOUT_STORE_TEST("a fence waits for the batches that are under way", STOUT_TEST_FENCING_STORES) {
  constexpr int kRounds = 30;
  constexpr int kWriters = 4;
  Store& store = fixture.store();
  for (Epoch epoch = 1; epoch <= kRounds; ++epoch) {
    std::latch answered(kWriters);
    std::vector<WriteBatch> late;
    for (int w = 0; w < kWriters; ++w) {
      late.push_back(Scoped("s", Batch(epoch, {Put("a" + std::to_string(w), "v", 1),
                                               Put("b" + std::to_string(w), "v", 2)})));
    }
    for (const WriteBatch& batch : late) {
      store.Write(batch, [&answered](const WriteResult&) { answered.count_down(); });
    }
    REQUIRE_FALSE(FenceNow(store, "s", epoch + 1));
    std::vector<std::string> keys;
    for (int w = 0; w < kWriters; ++w) {
      for (const char* name : {"a", "b"}) keys.push_back(name + std::to_string(w));
    }
    const ReadResult seen = ReadNow(store, keys);
    answered.wait();
    CHECK(ReadNow(store, keys).states == seen.states);
  }
}

// Every batch is answered, and the newest stamp of each key is what remains, whatever the order in
// which threads and the store interleave.
STOUT_STORE_TEST("concurrent batches on common keys end at the newest stamps",
                 STOUT_TEST_COMPARING_STORES) {
  constexpr int kThreads = 4;
  constexpr int kBatches = 60;
  constexpr int kKeys = 24;
  Store& store = fixture.store();

  std::atomic<Version> next_version{1};
  std::mutex mutex;
  std::map<std::string, std::pair<Stamp, WriteItem>> newest;
  std::atomic<int> wrong_answers{0};
  std::latch answered(kThreads * kBatches);
  std::vector<std::unique_ptr<WriteBatch>> batches;  // Kept until all are answered.

  const auto write_from = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int b = 0; b < kBatches; ++b) {
      WriteBatch batch;
      batch.epoch = 1 + random() % 2;
      for (int k = 0; k < kKeys; ++k) {
        if (random() % 3 != 0) continue;
        const Version version = next_version++;
        const std::string key = "key" + std::to_string(k);
        batch.items.push_back(random() % 4 == 0 ? Delete(key, version)
                                                : Put(key, std::to_string(version), version));
      }
      auto kept = std::make_unique<WriteBatch>(std::move(batch));
      const WriteBatch& sent = *kept;
      {
        const std::lock_guard lock(mutex);
        for (const WriteItem& item : sent.items) {
          auto& entry = newest[item.key];
          const Stamp stamp{sent.epoch, item.version};
          if (entry.first < stamp) entry = {stamp, item};
        }
        batches.push_back(std::move(kept));
      }
      store.Write(sent, [&, newest_epoch = sent.epoch == 2](WriteResult result) {
        bool right = result.batch == Errc::kOk;
        for (const ItemError& e : result.items) right &= e.errc == Errc::kFenced && !newest_epoch;
        if (!right) ++wrong_answers;
        answered.count_down();
      });
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back(write_from, t + 1);
  for (std::thread& thread : threads) thread.join();
  answered.wait();

  CHECK(wrong_answers == 0);
  for (const auto& [key, last] : newest) {
    CAPTURE(key);
    const StoredState state = ReadOne(store, key);
    CHECK(state.stamp == last.first);
    CHECK(state.found == (last.second.kind == WriteKind::kPut));
    CHECK(state.value == last.second.value);
  }
}

// Counts what happens to a handler; one that is destroyed uncalled counts as neither.
struct CallCounter {
  std::atomic<int> calls{0};
  std::atomic<int> done{0};
};

STOUT_STORE_TEST("each handler is called exactly once, also when the store is destroyed",
                 STOUT_TEST_ALL_STORES) {
  constexpr int kCalls = 200;
  CallCounter writes, reads, epochs, scans;
  std::vector<WriteBatch> batches;
  for (int i = 0; i < kCalls; ++i) {
    batches.push_back(Batch(1, {Put("key" + std::to_string(i), "v", 1), Put("common", "v", 1)}));
  }
  ReadBatch read;
  read.keys = {"common"};
  for (const WriteBatch& batch : batches) {
    fixture.store().Write(batch, [&writes](WriteResult result) {
      ++writes.calls;
      if (result == kAllDone) ++writes.done;
    });
    fixture.store().Read(read, [&reads](ReadResult result) {
      ++reads.calls;
      if (result.errc == Errc::kOk) ++reads.done;
    });
    fixture.store().NewEpoch([&epochs](ErrorCode ec, Epoch) {
      ++epochs.calls;
      if (!ec) ++epochs.done;
    });
    fixture.store().Scan({}, [&scans](const ScanResult& result) {
      ++scans.calls;
      if (result.errc == Errc::kOk) ++scans.done;
    });
  }
  fixture.Close();
  CHECK(writes.calls == kCalls);
  CHECK(reads.calls == kCalls);
  CHECK(epochs.calls == kCalls);
  CHECK(scans.calls == kCalls);
  if (fixture.FinishesAtClose()) CHECK(writes.done == kCalls);
}

STOUT_STORE_TEST("calls take completion tokens", STOUT_TEST_ALL_STORES) {
  Store& store = fixture.store();
  const WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  ReadBatch read;
  read.keys = {"k"};
  CHECK(store.AsyncWrite(batch, boost::asio::use_future).get() == kAllDone);
  CHECK(store.AsyncRead(read, boost::asio::use_future).get().states.at(0) ==
        Found(store, "v", {1, 1}));
  CHECK(store.AsyncNewEpoch(boost::asio::use_future).get() > 1);
  CHECK(store.AsyncScan({}, boost::asio::use_future).get().errc == Errc::kOk);
}

#ifdef STOUT_TEST_HAS_DURABLE_STORES
STOUT_STORE_TEST("a durable store has all that it answered for after it is reopened",
                 STOUT_TEST_DURABLE_STORES) {
  CHECK(fixture.store().traits().durable);
  const Epoch epoch = NewEpochNow(fixture.store());
  CHECK(WriteNow(fixture.store(),
                 Batch(epoch, {Put("a", "1", 1), Put("b", "2", 2), Put("", "", 3)})) == kAllDone);
  CHECK(WriteNow(fixture.store(), Batch(epoch, {Delete("b", 4)})) == kAllDone);
  fixture.Reopen();
  CHECK(ReadOne(fixture.store(), "a") == Found(fixture.store(), "1", {epoch, 1}));
  CHECK(ReadOne(fixture.store(), "") == Found(fixture.store(), "", {epoch, 3}));
  CHECK_FALSE(ReadOne(fixture.store(), "b").found);
  if (!fixture.store().traits().compares_stamps) return;
  CHECK(WriteNow(fixture.store(), Batch(epoch, {Put("b", "ghost", 3)})) == kAllDone);
  CHECK_FALSE(ReadOne(fixture.store(), "b").found);
}

STOUT_STORE_TEST("fences outlive the store", STOUT_TEST_DURABLE_STORES) {
  if (!fixture.store().traits().fences) return;
  CHECK_FALSE(FenceNow(fixture.store(), "s", 5));
  fixture.Reopen();
  CHECK(WriteNow(fixture.store(), Scoped("s", Batch(4, {Put("k", "late", 1)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK(FenceNow(fixture.store(), "s", 4) == Errc::kFenced);
  CHECK(NewEpochNow(fixture.store()) > 5);
}

STOUT_STORE_TEST("epochs strictly grow across reopening", STOUT_TEST_DURABLE_STORES) {
  const Epoch given = NewEpochNow(fixture.store());
  fixture.Reopen();
  const Epoch next = NewEpochNow(fixture.store());
  CHECK(next > given);
  CHECK(WriteNow(fixture.store(), Batch(next + 10, {Put("k", "v", 1)})) == kAllDone);
  fixture.Reopen();
  CHECK(NewEpochNow(fixture.store()) > next + 10);
}
#endif

}  // namespace
}  // namespace stout::test
