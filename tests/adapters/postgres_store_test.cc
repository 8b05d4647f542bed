// The PostgreSQL store: its set-up, and rows that the server refuses. remote_store_test.cc tests
// servers and networks that fail.

#include "stout/adapters/postgres_store.h"

#include <future>
#include <random>

#include "postgres_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/log_capture.h"
#include "tests/support/silent_address.h"

namespace stout::test {
namespace {

// Two hosts on one port. They follow each other in the list.
std::string TwoHosts(const std::string& first, const std::string& second, int port) {
  return "postgres://app@" + first + ":" + std::to_string(port) + "," + second + ":" +
         std::to_string(port) + "/postgres?connect_timeout=1s";
}

}  // namespace

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
  server().Execute("CREATE ROLE app LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  Diagnostics why;
  std::string url = server().Url();
  url.replace(url.find("postgres@"), 8, "app");
  const auto store = OpenStore(url, pool_.get_executor(), &why);
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(why.message.find("permission denied") != std::string::npos);
  CHECK(why.message.find("CREATE TABLE IF NOT EXISTS \"stout\"") != std::string::npos);
}

TEST_CASE_METHOD(PostgresTest, "postgres: a lost epoch is found again in rows and fences") {
  REQUIRE(WriteNow(*Open(), Batch(100, {Put("k", "v", 1)})) == WriteResult{});
  server().Execute("DROP TABLE stout_epoch");
  CHECK(NewEpochNow(*Open()) > 100);
  REQUIRE_FALSE(FenceNow(*Open(), "s", 200));
  server().Execute("DELETE FROM stout_epoch");
  const std::string why = RemoteStoreFixture::WhyNot(Url());
  REQUIRE(why.find("INSERT") != std::string::npos);
  server().Execute(why.substr(why.find("INSERT")));
  CHECK(NewEpochNow(*Open()) > 200);
}

TEST_CASE_METHOD(PostgresTest, "postgres: addresses that lead nowhere") {
  Diagnostics why;
  const auto executor = pool_.get_executor();
  auto store = OpenStore("postgres://127.0.0.1:1/x?connect_timeout=2s", executor, &why);
  CHECK(store.error() == Errc::kTransient);
  CHECK(why.message.find("Connection refused") != std::string::npos);
  std::string url = server().Url();
  url += "x";
  store = OpenStore(url, executor, &why);
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(why.message.find("\"postgresx\" does not exist") != std::string::npos);
  store = OpenStore(server().Url("tabel=x"), executor, &why);
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(why.message.find("tabel") != std::string::npos);
}

// The stores open before an address is silent, because opening waits two seconds or more for it.
TEST_CASE_METHOD(PostgresTest, "postgres: a silent host leaves time for the next one") {
  server().Execute("CREATE ROLE app LOGIN SUPERUSER");
  LogCapture log;
  {
    const auto store = OpenUrl(TwoHosts("127.0.0.2", "127.0.0.1", server().port()));
    const SilentAddress silent("127.0.0.2", static_cast<std::uint16_t>(server().port()));
    CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
    server().Kill();
    // The first write may find out that its connection is lost, and the second connects.
    CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 2)})).batch != Errc::kOk);
    CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 2)})).batch == Errc::kTransient);
  }
  pool_.join();
  CHECK(log.Count("Connection refused") == 1);
  CHECK(log.Count("addresses without an answer, shown as reset: 1") == 1);
}

TEST_CASE_METHOD(PostgresTest, "postgres: after a host refuses the login, the next is not tried") {
  server().Execute("CREATE ROLE app LOGIN SUPERUSER");
  LogCapture log;
  {
    const auto store = OpenUrl(TwoHosts("127.0.0.1", "127.0.0.2", server().port()));
    const SilentAddress silent("127.0.0.2", static_cast<std::uint16_t>(server().port()));
    server().Execute("ALTER ROLE app NOLOGIN");
    CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})).batch == Errc::kTransient);
  }
  pool_.join();
  CHECK(log.Count("role \"app\" is not permitted to log in") == 1);
  CHECK(log.Count("no connection within") == 0);
}

TEST_CASE_METHOD(PostgresTest, "postgres: two stores with keys in common do not deadlock") {
  // A store waits for the rows of the other, on a busy machine for longer than by default.
  const auto one = Open("lock_timeout=50s&timeout=1min");
  const auto two = Open("lock_timeout=50s&timeout=1min");
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

TEST_CASE_METHOD(PostgresTest, "postgres: tombstones are collected when their time is over") {
  const auto store = Open("tombstone_ttl=1s");
  CHECK(WriteNow(*store, Batch(1, {Put("stays", "v", 1), Delete("goes", 2)})) == WriteResult{});
  CHECK(ReadOne(*store, "goes").stamp == Stamp{1, 2});
  CHECK(Eventually([&] { return ReadOne(*store, "goes") == StoredState{}; }));
  CHECK(ReadOne(*store, "stays") == Found("v", {1, 1}));
}

TEST_CASE_METHOD(PostgresTest, "postgres: a server that is not durable is said to be none") {
  CHECK(Open()->traits().durable);
  server().Execute("ALTER ROLE postgres SET synchronous_commit = off");
  CHECK_FALSE(Open()->traits().durable);
}

}  // namespace stout::test
