// How PostgreSQL keeps fences: batches that are under way, that stand still, that come late.

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "postgres_test_support.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

class FenceTest : public PostgresTest {
 protected:
  [[nodiscard]] bool Sees(const std::string& condition) {
    return server().Execute("SELECT " + condition) == "t";
  }
  [[nodiscard]] bool Locks(const std::string& condition) {
    return Sees("EXISTS (SELECT FROM pg_locks WHERE " + condition + ")");
  }
};

}  // namespace

TEST_CASE_METHOD(FenceTest, "postgres: a fence waits for a batch that is under way") {
  const auto former = Open("lock_timeout=60s");
  const auto successor = Open();
  CHECK(WriteNow(*former, Scoped("s", Batch(1, {Put("k", "1", 1)}))) == WriteResult{});
  PostgresSession stranger(server());
  stranger.Execute("BEGIN; UPDATE stout SET value = value");
  auto batch = std::async(std::launch::async, [&] {
    return WriteNow(*former, Scoped("s", Batch(1, {Put("k", "2", 2)})));
  });
  REQUIRE(Eventually([&] { return Locks("locktype = 'transactionid' AND NOT granted"); }));
  auto fence = std::async(std::launch::async, [&] { return FenceNow(*successor, "s", 2); });
  REQUIRE(Eventually([&] { return Locks("locktype = 'advisory' AND NOT granted"); }));
  stranger.Execute("COMMIT");
  CHECK_FALSE(fence.get());
  // On a busy machine the fence may have timed out. The visible state stays in both cases.
  const StoredState seen = ReadOne(*successor, "k");
  CHECK(seen.value == (batch.get() == WriteResult{} ? "2" : "1"));
  CHECK(ReadOne(*successor, "k") == seen);
}

TEST_CASE_METHOD(FenceTest, "postgres: a repeated fence does not wait for the owner's batches") {
  const auto store = Open("lock_timeout=60s");
  CHECK_FALSE(FenceNow(*store, "s", 1));
  CHECK(WriteNow(*store, Scoped("s", Batch(1, {Put("k", "1", 1)}))) == WriteResult{});
  PostgresSession stranger(server());
  stranger.Execute("BEGIN; UPDATE stout SET value = value");
  auto batch = std::async(std::launch::async, [&] {
    return WriteNow(*store, Scoped("s", Batch(1, {Put("k", "2", 2)})));
  });
  REQUIRE(Eventually([&] { return Locks("locktype = 'transactionid' AND NOT granted"); }));
  CHECK_FALSE(FenceNow(*store, "s", 1));
  CHECK(Locks("locktype = 'transactionid' AND NOT granted"));
  stranger.Execute("COMMIT");
  CHECK(batch.get() == WriteResult{});
}

TEST_CASE_METHOD(FenceTest, "postgres: a batch that stands still does not hold up a fence") {
  TcpProxy network(server().port());
  const auto former = Open("timeout=60s", network.port());
  const auto successor = Open();
  CHECK(WriteNow(*former, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  // The scope is locked, and most of the batch will not come for an hour.
  network.Behave({.bytes_per_second = 2000});
  auto batch = std::async(std::launch::async, [&] {
    return WriteNow(*former, Scoped("s", Batch(1, {Put("k", std::string(8'000'000, 'x'), 2)})));
  });
  REQUIRE(Eventually([&] { return Locks("locktype = 'advisory' AND granted"); }));
  CHECK_FALSE(FenceNow(*successor, "s", 2));
  network.Behave({});
  CHECK(batch.get().batch == Errc::kUnknown);
  CHECK(ReadOne(*successor, "k") == Found("1", {1, 1}));
  CHECK(WriteAtLast(*former, Batch(1, {Put("l", "1", 3)})) == WriteResult{});
  CHECK(WriteNow(*former, Scoped("s", Batch(1, {Put("k", "2", 4)}))) ==
        WriteResult{Errc::kFenced, {}});
}

TEST_CASE_METHOD(FenceTest, "postgres: a ghost that comes after the fence changes nothing") {
  TcpProxy network(server().port());
  const auto former = Open("timeout=300ms", network.port());
  const auto successor = Open("read_connections=1&connections=1");
  CHECK(WriteAtLast(*former, Scoped("s", Batch(1, {Put("k", "1", 1)}))) == WriteResult{});
  network.Behave({.hold_connected = true});
  CHECK(WriteNow(*former, Scoped("s", Batch(1, {Put("k", "ghost", 2), Put("new", "ghost", 3)})))
            .batch == Errc::kUnknown);
  CHECK_FALSE(FenceNow(*successor, "s", 2));
  CHECK(ReadOne(*successor, "k") == Found("1", {1, 1}));
  network.Behave({});
  REQUIRE(Eventually([&] { return network.tally().ghosts > 0; }));
  // Its session ends behind it; those of the successor are left.
  REQUIRE(Eventually([&] {
    return Sees("count(*) = 2 FROM pg_stat_activity WHERE application_name = 'libstout'");
  }));
  CHECK(ReadOne(*successor, "k") == Found("1", {1, 1}));
  CHECK_FALSE(ReadOne(*successor, "new").found);
}

TEST_CASE_METHOD(FenceTest, "postgres: fences, epochs and batches do not deadlock each other") {
  constexpr int kRounds = 60;
  std::atomic<int> wrong{0};
  const auto own = [&](Store* store, const std::string& scope, Epoch epoch) {
    for (int round = 1; round <= kRounds; ++round) {
      // Each epoch is new to the store, which notes it: one more lock.
      epoch += 2;
      if (FenceNow(*store, scope, epoch)) ++wrong;
      std::vector<WriteItem> items;
      for (int k = 0; k < 50; ++k) {
        const int key = scope == "s" ? k : 50 - k;
        items.push_back(Put("key" + std::to_string(key), "v", static_cast<Version>(round)));
      }
      if (WriteNow(*store, Scoped(scope, Batch(epoch, items))).batch != Errc::kOk) ++wrong;
      if (NewEpochNow(*store) == 0) ++wrong;
    }
  };
  const std::array<std::unique_ptr<Store>, 2> stores = {Open(), Open()};
  auto one = std::async(std::launch::async, own, stores[0].get(), "s", 0);
  auto two = std::async(std::launch::async, own, stores[1].get(), "t", 1);
  one.get();
  two.get();
  CHECK(wrong == 0);
  CHECK(Sees("deadlocks = 0 FROM pg_stat_database WHERE datname = 'postgres'"));
}

TEST_CASE_METHOD(FenceTest, "postgres: the search for refused rows keeps its scope locked") {
  const auto store = Open();
  CHECK(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  server().Execute(
      "ALTER TABLE stout ADD CHECK (key <> 'bad'); "
      "CREATE TABLE gate (shut int); INSERT INTO gate VALUES (1); "
      "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "WHILE NEW.key = 'k' AND EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP; "
      "RETURN NEW; END $$; "
      "CREATE TRIGGER waits BEFORE INSERT ON stout FOR EACH ROW EXECUTE FUNCTION wait()");
  // "bad" comes first, so that only the search meets the trigger that waits for the gate.
  auto batch = std::async(std::launch::async, [&] {
    return WriteNow(*store, Scoped("s", Batch(1, {Put("bad", "x", 2), Put("k", "2", 3)})));
  });
  REQUIRE(Eventually(
      [&] { return Sees("EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep')"); }));
  CHECK(Locks("locktype = 'advisory' AND granted"));
  server().Execute("DELETE FROM gate");
  CHECK(batch.get() == WriteResult{Errc::kOk, {{0, Errc::kRefused}}});
}

// The batch begins before the fence is raised, and looks at it afterwards.
TEST_CASE_METHOD(FenceTest, "postgres: transactions that see the past by default see each fence") {
  const bool pooled = GENERATE(false, true);
  CAPTURE(pooled);
  for (const char* level : {"repeatable read", "serializable"}) {
    server().Execute(std::string("ALTER ROLE postgres SET default_transaction_isolation = '") +
                     level + "'");
    const auto store = Open("lock_timeout=60s&timeout=60s", PortOf(pooled));
    const std::string scope = level;
    PostgresSession successor(server());
    successor.Execute("BEGIN ISOLATION LEVEL READ COMMITTED");
    successor.Execute("SELECT pg_advisory_xact_lock(7305241, hashtext(encode('" + scope +
                      "', 'hex')))");
    auto batch = std::async(std::launch::async, [&] {
      return WriteNow(*store, Scoped(scope, Batch(1, {Put(scope, "late", 1)})));
    });
    REQUIRE(Eventually([&] { return Locks("locktype = 'advisory' AND NOT granted"); }));
    successor.Execute("INSERT INTO stout_fence VALUES ('" + scope + "', 5)");
    successor.Execute("COMMIT");
    CHECK(batch.get() == WriteResult{Errc::kFenced, {}});
    CHECK_FALSE(ReadOne(*store, scope).found);
  }
}

TEST_CASE_METHOD(FenceTest, "postgres: who has given up a batch does not wait for its locks") {
  const auto store = Open("timeout=300ms&connections=1");
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  PostgresSession stranger(server());
  stranger.Execute("BEGIN; UPDATE stout SET value = value");
  for (Version version = 2; version < 6; ++version) {
    const Errc errc = WriteNow(*store, Batch(1, {Put("k", "2", version)})).batch;
    CHECK((errc == Errc::kUnknown || errc == Errc::kTransient));
  }
  CHECK(Eventually([&] { return !Locks("NOT granted"); }));
}

TEST_CASE_METHOD(PostgresTest, "postgres: an epoch of a refused write is noted with the next one") {
  const auto store = Open();
  server().Execute("ALTER TABLE stout ADD CHECK (key <> 'bad')");
  CHECK(WriteNow(*store, Batch(100, {Put("bad", "v", 1)})).items.size() == 1);
  CHECK(WriteNow(*store, Batch(100, {Put("good", "v", 1)})) == WriteResult{});
  CHECK(NewEpochNow(*store) > 100);
}

}  // namespace stout::test
