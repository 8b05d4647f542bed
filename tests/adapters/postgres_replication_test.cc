// PostgreSQL whose commits wait for a standby that is not there.

#include <future>
#include <string>

#include "postgres_test_support.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

class ReplicationTest : public PostgresTest {
 protected:
  // From now on each commit waits for ever.
  void WaitForStandby() { server().MakeCommitsWaitFor("nobody"); }
  void WaitNoLonger() { server().MakeCommitsWaitFor(""); }

  // From now on each row that is written takes this many seconds.
  void WritesSleep(const std::string& seconds) {
    server().Execute(
        "CREATE OR REPLACE FUNCTION sleeps() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN PERFORM pg_sleep(" +
        seconds + "); RETURN new; END$$");
    server().Execute(
        "CREATE TRIGGER sleeps BEFORE INSERT OR UPDATE ON stout FOR EACH ROW "
        "EXECUTE FUNCTION sleeps()");
  }

  void WritesSleepNoLonger() {
    server().Execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
    server().Execute("DROP TRIGGER sleeps ON stout");
  }

  [[nodiscard]] int Count(const std::string& condition) {
    return std::stoi(server().Execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'libstout' AND " +
        condition));
  }

  // The answer of a call whose commit an administrator ends while it waits.
  template <typename Call>
  auto Cancel(const std::string& function, Call call) {
    auto answer = std::async(std::launch::async, call);
    CHECK(Eventually([&] {
      return server().Execute("SELECT bool_or(" + function +
                              "(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND "
                              "application_name = 'libstout'") == "t";
    }));
    return answer.get();
  }
};

}  // namespace

TEST_CASE_METHOD(ReplicationTest, "postgres: a commit whose wait for a standby ends is unknown") {
  const auto store = Open("timeout=60s&connections=1");
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WaitForStandby();
  const std::string function = GENERATE("pg_cancel_backend", "pg_terminate_backend");
  CAPTURE(function);
  const WriteResult write =
      Cancel(function, [&] { return WriteNow(*store, Batch(1, {Put("k", "2", 2)})); });
  CHECK(write.batch == Errc::kUnknown);
  CHECK(Cancel(function, [&] { return FenceNow(*store, "s", 1); }) == Errc::kUnknown);
  // Its row is there by now, but on no standby.
  CHECK(Cancel(function, [&] { return FenceNow(*store, "s", 1); }) == Errc::kUnknown);
  CHECK(Cancel(function, [&] { return NewEpochNow(*store); }) == 0);
  WaitNoLonger();
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "2", 2)})) == WriteResult{});
}

TEST_CASE_METHOD(ReplicationTest, "postgres: a search that commits unreplicated rows is unknown") {
  const auto store = Open("timeout=60s&connections=1");
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  server().Execute("ALTER TABLE stout ADD CHECK (key <> 'bad')");
  WaitForStandby();
  const WriteResult write = Cancel("pg_cancel_backend", [&] {
    return WriteNow(*store, Batch(1, {Put("bad", "x", 2), Put("k", "2", 3)}));
  });
  CHECK(write.batch == Errc::kUnknown);
  WaitNoLonger();
}

TEST_CASE_METHOD(ReplicationTest, "postgres: a role that hides warnings hides no lost wait") {
  server().Execute("ALTER ROLE postgres SET client_min_messages = error");
  const auto store =
      Open("timeout=60s&connections=1" + std::string(GENERATE("", "&prepare=false")));
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WaitForStandby();
  const WriteResult write =
      Cancel("pg_cancel_backend", [&] { return WriteNow(*store, Batch(1, {Put("k", "2", 2)})); });
  CHECK(write.batch == Errc::kUnknown);
  WaitNoLonger();
  server().Execute("ALTER ROLE postgres RESET client_min_messages");
}

// The second attempt finds no row, and so would have nothing to wait for.
TEST_CASE_METHOD(ReplicationTest, "postgres: a repeated delete in a user's table waits as well") {
  server().Execute("CREATE TABLE own (key bytea PRIMARY KEY, value bytea)");
  const auto store = Open(PostgresOptions{
      .templates = PostgresTemplates{
          .upsert = "INSERT INTO own SELECT * FROM unnest($1::bytea[], $2::bytea[]) "
                    "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
          .remove = "DELETE FROM own WHERE key = ANY ($1::bytea[])",
          .select = "SELECT key, value FROM own WHERE key = ANY ($1::bytea[])"}});
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WaitForStandby();
  const auto remove = [&] { return WriteNow(*store, Batch(1, {Delete("k", 2)})); };
  CHECK(Cancel("pg_cancel_backend", remove).batch == Errc::kUnknown);
  CHECK(Cancel("pg_cancel_backend", remove).batch == Errc::kUnknown);
  WaitNoLonger();
  CHECK(remove() == WriteResult{});
}

TEST_CASE_METHOD(ReplicationTest,
                 "postgres: commits that wait for a standby do not pile up, and show nothing") {
  const auto store = Open("timeout=200ms&connections=1&read_connections=1");
  REQUIRE(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WaitForStandby();
  for (Version version = 2; version < 10; ++version) {
    CHECK(WriteNow(*store, Batch(1, {Put("k" + std::to_string(version), "2", version)})).batch !=
          Errc::kOk);
  }
  CHECK(Count("wait_event = 'SyncRep'") == 1);
  CHECK_FALSE(ReadOne(*store, "k2").found);
  WaitNoLonger();
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "2", 10)})) == WriteResult{});
}

TEST_CASE_METHOD(ReplicationTest, "postgres: server processes that time out do not pile up") {
  const auto store = Open("timeout=200ms&connections=1&read_connections=1");
  REQUIRE(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WritesSleep("60");
  for (Version version = 2; version < 10; ++version) {
    REQUIRE(Eventually([&] {
      return WriteNow(*store, Batch(1, {Put("k" + std::to_string(version), "2", version)})).batch ==
             Errc::kUnknown;
    }));
  }
  // The one that was given up last, and the one that is connecting.
  CHECK(Count("true") <= 2);
  WritesSleepNoLonger();
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "2", 10)})) == WriteResult{});
}

TEST_CASE_METHOD(ReplicationTest, "postgres: only a former process of the store itself is ended",
                 "[not_tsan]") {
  const auto store = Open("timeout=200ms&connections=1&read_connections=1");
  const auto other = Open("timeout=60s&connections=1&read_connections=1");
  REQUIRE(WriteAtLast(*other, Batch(1, {Put("l", "1", 1)})) == WriteResult{});
  REQUIRE(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WritesSleep("CASE new.key WHEN 'l' THEN 5 ELSE 60 END");
  auto waits = std::async(std::launch::async,
                          [&] { return WriteNow(*other, Batch(1, {Put("l", "2", 2)})); });
  for (Version version = 2; version < 5; ++version) {
    REQUIRE(Eventually([&] {
      return WriteNow(*store, Batch(1, {Put("k" + std::to_string(version), "2", version)})).batch ==
             Errc::kUnknown;
    }));
  }
  CHECK(waits.get() == WriteResult{});
  WritesSleepNoLonger();
}

}  // namespace stout::test
