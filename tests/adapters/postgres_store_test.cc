// What is particular to the PostgreSQL store: rows that the server refuses, servers that go and
// come.

#include "stout/adapters/postgres_store.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <future>
#include <random>

#include "postgres_test_support.h"
#include "tests/network/tcp_proxy.h"

namespace stout::test {

using namespace std::chrono_literals;

TEST_CASE_METHOD(PostgresTest, "postgres: a key beyond the index's limit is refused alone") {
  const auto store = Open();
  std::string key(8000, '\0');
  std::mt19937 random(1);  // or the server would compress it below the limit
  for (char& c : key) c = static_cast<char>(random());
  std::vector<WriteItem> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(Put("k" + std::to_string(i), "v", static_cast<Version>(i + 1)));
  }
  items[37].key = key;
  items[99].key = key + "2";
  CHECK(WriteNow(*store, Batch(1, items)) ==
        WriteResult{Errc::kOk, {{37, Errc::kRefused}, {99, Errc::kRefused}}});
  CHECK(ReadOne(*store, "k36") == Found("v", {1, 37}));
  CHECK(ReadOne(*store, "k98") == Found("v", {1, 99}));
  CHECK_FALSE(ReadOne(*store, key).found);
}

TEST_CASE_METHOD(PostgresTest, "postgres: who may not create the tables is told what to create") {
  server_.Execute("CREATE ROLE app LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  Diagnostics why;
  std::string url = server_.Url();
  url.replace(url.find("postgres@"), 8, "app");
  const auto store = OpenStore(url, pool_.get_executor(), &why);
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(why.message.find("permission denied") != std::string::npos);
  CHECK(why.message.find("CREATE TABLE IF NOT EXISTS \"stout\"") != std::string::npos);
}

TEST_CASE_METHOD(PostgresTest, "postgres: addresses that lead nowhere") {
  Diagnostics why;
  const auto executor = pool_.get_executor();
  auto store = OpenStore("postgres://127.0.0.1:1/x?connect_timeout=2s", executor, &why);
  CHECK(store.error() == Errc::kTransient);
  CHECK(why.message.find("Connection refused") != std::string::npos);
  std::string url = server_.Url();
  url += "x";
  store = OpenStore(url, executor, &why);
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(why.message.find("\"postgresx\" does not exist") != std::string::npos);
  store = OpenStore(server_.Url("tabel=x"), executor, &why);
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(why.message.find("tabel") != std::string::npos);
}

TEST_CASE_METHOD(PostgresTest, "postgres: two stores with keys in common do not deadlock") {
  const auto one = Open();
  const auto two = Open();
  constexpr int kRounds = 40;
  constexpr int kKeys = 200;
  const auto write = [](Store& store, Epoch epoch, bool backwards) {
    int wrong = 0;
    for (int round = 1; round <= kRounds; ++round) {
      std::vector<WriteItem> items;
      for (int k = 0; k < kKeys; ++k) {
        items.push_back(Put("key" + std::to_string(backwards ? kKeys - k : k), "v",
                            static_cast<Version>(round)));
      }
      const WriteResult result = WriteNow(store, Batch(epoch, items));
      if (result.batch != Errc::kOk) ++wrong;
    }
    return wrong;
  };
  auto other = std::async(std::launch::async, [&] { return write(*two, 2, true); });
  CHECK(write(*one, 1, false) == 0);
  CHECK(other.get() == 0);
}

TEST_CASE_METHOD(PostgresTest, "postgres: a server that is killed and started again") {
  const auto store = Open("timeout=5s");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  server_.Kill();
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  const Errc gone = WriteNow(*store, batch).batch;
  CHECK((gone == Errc::kTransient || gone == Errc::kUnknown));
  CHECK(WriteNow(*store, batch).batch == Errc::kTransient);
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
  server_.Start();
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found("2", {1, 2}));
}

TEST_CASE_METHOD(PostgresTest, "postgres: a ghost write changes nothing") {
  TcpProxy network(server_.port());
  const auto store = Open("timeout=300ms", network.port());
  const auto other = Open();  // past the proxy
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  network.Behave({.hold_requests = true});
  CHECK(WriteNow(*store, Batch(1, {Put("k", "ghost", 2), Put("l", "ghost", 3)})).batch ==
        Errc::kUnknown);
  CHECK(WriteAtLast(*other, Batch(1, {Put("k", "newer", 4)})) == WriteResult{});
  network.Behave({});
  CHECK(Eventually([&] { return ReadOne(*other, "l") == Found("ghost", {1, 3}); }));
  CHECK(ReadOne(*other, "k") == Found("newer", {1, 4}));
}

TEST_CASE_METHOD(PostgresTest, "postgres: a lost answer leaves the outcome open, once") {
  TcpProxy network(server_.port());
  const auto store = Open("timeout=300ms", network.port());
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  network.Behave({.swallow_answers = true});
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  CHECK(WriteNow(*store, batch).batch == Errc::kUnknown);
  network.Behave({});
  CHECK(WriteAtLast(*store, batch) == WriteResult{});  // a repetition
  CHECK(ReadOne(*store, "k") == Found("2", {1, 2}));
}

TEST_CASE_METHOD(PostgresTest, "postgres: a message cut in the middle is not half a batch") {
  TcpProxy network(server_.port());
  const auto store = Open("timeout=5s", network.port());
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  network.Behave({.cut_after = 20'000});
  std::vector<WriteItem> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(Put("k" + std::to_string(i), std::string(1000, 'x'), 2));
  }
  CHECK(WriteNow(*store, Batch(1, items)).batch == Errc::kUnknown);
  network.Behave({});
  std::size_t found = 0;
  for (const WriteItem& item : items) found += ReadOne(*store, item.key).found ? 1U : 0U;
  CHECK(found == 0);
  CHECK(WriteAtLast(*store, Batch(1, items)) == WriteResult{});
}

TEST_CASE_METHOD(PostgresTest, "postgres: a server that stands still") {
  const auto store = Open("timeout=300ms&connect_timeout=300ms");
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  server_.Signal(SIGSTOP);
  const WriteBatch batch = Batch(1, {Put("k", "2", 2)});
  CHECK(WriteNow(*store, batch).batch == Errc::kUnknown);
  CHECK(WriteNow(*store, batch).batch == Errc::kTransient);  // there is no connection
  server_.Signal(SIGCONT);
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
}

TEST_CASE_METHOD(PostgresTest, "postgres: a store that is destroyed answers what it has not done") {
  auto store = Open("timeout=60s");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  server_.Signal(SIGSTOP);
  std::vector<WriteBatch> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(Batch(1, {Put("k", "2", 2)}));
  std::atomic<int> unknown{0};
  for (const WriteBatch& batch : batches) {
    store->Write(batch, [&](WriteResult result) { unknown += result.batch == Errc::kUnknown; });
  }
  store.reset();
  CHECK(unknown == 20);
  server_.Signal(SIGCONT);
}

TEST_CASE_METHOD(PostgresTest, "postgres: tombstones are collected when their time is over") {
  const auto store = Open("tombstone_ttl=1s");
  CHECK(WriteNow(*store, Batch(1, {Put("stays", "v", 1), Delete("goes", 2)})) == WriteResult{});
  CHECK(ReadOne(*store, "goes").stamp == Stamp{1, 2});
  CHECK(Eventually([&] { return ReadOne(*store, "goes") == StoredState{}; }));
  CHECK(ReadOne(*store, "stays") == Found("v", {1, 1}));
}

TEST_CASE_METHOD(PostgresTest, "postgres: a server that is not durable is said to be none") {
  CHECK(Open()->traits().durable);
  server_.Execute("ALTER ROLE postgres SET synchronous_commit = off");
  CHECK_FALSE(Open()->traits().durable);
}

}  // namespace stout::test
