// Rows of a PostgreSQL that other sessions keep locked, and rows that fail for an unknown reason,
// directly and behind pgbouncer.

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "postgres_test_support.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

class LocksTest : public PostgresTest {
 protected:
  // Rows k0 to k27, of which another session locks k0 to k7.
  static constexpr int kRows = 28;
  static constexpr int kLocked = 8;

  static std::string Key(int row) { return "k" + std::to_string(row); }

  static WriteBatch AllRows(Version version) {
    std::vector<WriteItem> items;
    for (int row = 0; row < kRows; ++row) items.push_back(Put(Key(row), "v", version));
    return Batch(1, items);
  }

  // Returns the session that holds the locks.
  std::unique_ptr<PostgresSession> Lock() {
    auto session = std::make_unique<PostgresSession>(server());
    session->Execute("BEGIN");
    for (int row = 0; row < kLocked; ++row) {
      session->Execute("SELECT FROM stout WHERE key = '" + Key(row) + "' FOR UPDATE");
    }
    return session;
  }

  static std::vector<ItemError> LockedRows() {
    std::vector<ItemError> errors;
    for (std::uint32_t row = 0; row < kLocked; ++row) errors.push_back({row, Errc::kTransient});
    return errors;
  }

  [[nodiscard]] int CountWaiting() {
    return std::stoi(
        server().Execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"));
  }
};

// Each write of the row `bad` fails with this SQLSTATE.
void RaiseFor(const PostgresServer& server, const std::string& sqlstate) {
  server.Execute(
      "CREATE OR REPLACE FUNCTION complain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF NEW.key = 'bad' THEN RAISE EXCEPTION 'no thanks' USING ERRCODE = '" +
      sqlstate +
      "'; END IF; RETURN NEW; END $$; "
      "CREATE OR REPLACE TRIGGER complains BEFORE INSERT OR UPDATE ON stout "
      "FOR EACH ROW EXECUTE FUNCTION complain()");
}

}  // namespace

TEST_CASE_METHOD(LocksTest,
                 "postgres: locked rows fail alone, and their batch is written at once") {
  const bool pooled = GENERATE(false, true);
  CAPTURE(pooled);
  const auto store = Open("", PortOf(pooled));
  REQUIRE(WriteNow(*store, AllRows(1)) == WriteResult{});
  const auto stranger = Lock();
  CHECK(WriteNow(*store, AllRows(2)) == WriteResult{Errc::kOk, LockedRows()});
  CHECK(ReadOne(*store, Key(0)) == Found("v", {1, 1}));
  CHECK(ReadOne(*store, Key(kLocked)) == Found("v", {1, 2}));
  // Known by now.
  CHECK(WriteNow(*store, AllRows(3)) == WriteResult{Errc::kOk, LockedRows()});
  stranger->Execute("COMMIT");
  CHECK(WriteAtLast(*store, AllRows(4)) == WriteResult{});
  CHECK(ReadOne(*store, Key(0)) == Found("v", {1, 4}));
}

TEST_CASE_METHOD(LocksTest, "postgres: a batch of nothing but locked rows names each of them") {
  const auto store = Open();
  REQUIRE(WriteNow(*store, AllRows(1)) == WriteResult{});
  const auto stranger = Lock();
  WriteBatch locked = AllRows(2);
  locked.items.resize(kLocked);
  CHECK(WriteNow(*store, locked) == WriteResult{Errc::kTransient, LockedRows()});
  locked.items.resize(1);
  CHECK(WriteNow(*store, locked) == WriteResult{Errc::kTransient, {{0, Errc::kTransient}}});
}

TEST_CASE_METHOD(LocksTest, "postgres: a locked table fails a large batch as a whole") {
  const auto store = Open();
  REQUIRE(WriteNow(*store, AllRows(1)) == WriteResult{});
  PostgresSession stranger(server());
  stranger.Execute("BEGIN; LOCK TABLE stout IN EXCLUSIVE MODE");
  std::vector<WriteItem> items;
  for (int row = 0; row < 300; ++row) items.push_back(Put(Key(row), "w", 2));
  CHECK(WriteNow(*store, Batch(1, items)) == WriteResult{Errc::kTransient, {}});
  stranger.Execute("COMMIT");
  CHECK(WriteAtLast(*store, Batch(1, items)) == WriteResult{});
}

TEST_CASE_METHOD(LocksTest, "postgres: all or nothing is written of a batch that must not be cut") {
  const auto store = Open();
  REQUIRE(WriteNow(*store, AllRows(1)) == WriteResult{});
  const auto stranger = Lock();
  WriteBatch batch = AllRows(2);
  batch.all_or_nothing = true;
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kTransient, {}});
  CHECK(ReadOne(*store, Key(kRows - 1)) == Found("v", {1, 1}));
  stranger->Execute("COMMIT");
  CHECK(WriteAtLast(*store, batch) == WriteResult{});
}

TEST_CASE_METHOD(LocksTest, "postgres: rows known as locked hold one connection together") {
  const bool pooled = GENERATE(false, true);
  CAPTURE(pooled);
  const auto store = Open("lock_timeout=60s&timeout=60s", PortOf(pooled));
  REQUIRE(WriteNow(*store, AllRows(1)) == WriteResult{});
  server().Execute("ALTER TABLE stout ADD CHECK (key <> 'bad')");
  const auto stranger = Lock();
  // "bad" comes first, so that only the search meets the locks, which it hardly waits for.
  WriteBatch batch = AllRows(2);
  batch.items.push_back(Put("bad", "v", 2));
  std::vector<ItemError> expected = LockedRows();
  expected.push_back({kRows, Errc::kRefused});
  REQUIRE(WriteNow(*store, batch) == WriteResult{Errc::kOk, expected});

  std::vector<std::future<WriteResult>> alone;
  for (int row = 0; row < kLocked; ++row) {
    alone.push_back(std::async(std::launch::async, [&store, row] {
      return WriteNow(*store, Batch(1, {Put(Key(row), "v", 3)}));
    }));
  }
  const auto answered = [](const std::future<WriteResult>& result) {
    return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  REQUIRE(Eventually(
      [&] { return std::count_if(alone.begin(), alone.end(), answered) == kLocked - 1; }));
  CHECK(Eventually([&] { return CountWaiting() == 1; }));
  CHECK(WriteNow(*store, Batch(1, {Put(Key(kLocked), "v", 3)})) == WriteResult{});
  CHECK(CountWaiting() == 1);
  stranger->Execute("COMMIT");
  int written = 0;
  for (std::future<WriteResult>& result : alone) {
    const WriteResult got = result.get();
    written += got == WriteResult{} ? 1 : 0;
    const WriteResult later = {Errc::kTransient, {{0, Errc::kTransient}}};
    CHECK((got == WriteResult{} || got == later));
  }
  CHECK(written == 1);
}

TEST_CASE_METHOD(LocksTest, "postgres: an unknown SQLSTATE that repeats for one row refuses it",
                 "[not_tsan]") {
  const bool pooled = GENERATE(false, true);
  const bool alone = GENERATE(false, true);
  CAPTURE(pooled, alone);
  const auto store = Open("", PortOf(pooled));
  RaiseFor(server(), "ZZ001");
  Version version = 0;
  const auto write = [&] {
    ++version;
    std::vector<WriteItem> items = {Put("bad", "v", version)};
    if (!alone) items.insert(items.end(), {Put("a", "v", version), Put("z", "v", version)});
    return WriteNow(*store, Batch(1, items));
  };
  const Errc others = alone ? Errc::kTransient : Errc::kOk;
  for (int failures = 1; failures < 8; ++failures) {
    CHECK(write() == WriteResult{others, {{0, Errc::kTransient}}});
    if (!alone) CHECK(ReadOne(*store, "z") == Found("v", {1, version}));
  }
  CHECK(write() == WriteResult{Errc::kOk, {{0, Errc::kRefused}}});
  // Its next change is judged anew.
  CHECK(write() == WriteResult{others, {{0, Errc::kTransient}}});
}

TEST_CASE_METHOD(LocksTest, "postgres: a row is refused for no SQLSTATE that is not its fault") {
  const auto store = Open();
  const auto write = [&](Version version) {
    return WriteNow(*store, Batch(1, {Put("bad", "v", version)}));
  };
  const WriteResult later = {Errc::kTransient, {{0, Errc::kTransient}}};
  RaiseFor(server(), "53100");  // disk full
  for (Version version = 1; version <= 20; ++version) {
    CHECK(write(version) == WriteResult{Errc::kTransient, {}});
  }
  RaiseFor(server(), "55P03");  // as for a lock
  for (Version version = 1; version <= 20; ++version) CHECK(write(version) == later);
  // Two in turn, neither of which repeats in a row.
  for (Version version = 1; version <= 10; ++version) {
    RaiseFor(server(), version % 2 == 0 ? "ZZ001" : "ZZ002");
    CHECK(write(version) == later);
  }
  server().Execute("DROP TRIGGER complains ON stout");
  CHECK(write(21) == WriteResult{});
}

}  // namespace stout::test
