// PostgreSQL whose commits wait for a standby that is not there.

#include <catch2/catch.hpp>
#include <future>
#include <string>

#include "postgres_test_support.h"

namespace stout::test {
namespace {

class ReplicationTest : public PostgresTest {
 protected:
  // From now on each commit waits for ever.
  void WaitForStandby() { Configure("ALTER SYSTEM SET synchronous_standby_names = 'nobody'"); }
  void WaitNoLonger() { Configure("ALTER SYSTEM RESET synchronous_standby_names"); }

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

 private:
  void Configure(const std::string& sql) {
    server().Execute(sql);
    server().Execute("SELECT pg_reload_conf()");
    const bool waits = sql.find("RESET") == std::string::npos;
    REQUIRE(Eventually([&] {
      return server().Execute("SHOW synchronous_standby_names") == (waits ? "nobody" : "");
    }));
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

TEST_CASE_METHOD(ReplicationTest, "postgres: server processes that time out do not pile up") {
  const auto store = Open("timeout=200ms&connections=1&read_connections=1");
  REQUIRE(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WaitForStandby();
  for (Version version = 2; version < 10; ++version) {
    REQUIRE(Eventually([&] {
      return WriteNow(*store, Batch(1, {Put("k" + std::to_string(version), "2", version)})).batch ==
             Errc::kUnknown;
    }));
  }
  // The one that was given up last, and the one that is connecting.
  CHECK(Count("true") <= 2);
  WaitNoLonger();
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "2", 10)})) == WriteResult{});
}

TEST_CASE_METHOD(ReplicationTest, "postgres: only a former process of the store itself is ended") {
  const auto store = Open("timeout=200ms&connections=1&read_connections=1");
  const auto other = Open("timeout=60s&connections=1&read_connections=1");
  REQUIRE(WriteAtLast(*other, Batch(1, {Put("l", "1", 1)})) == WriteResult{});
  REQUIRE(WriteAtLast(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  WaitForStandby();
  auto waits = std::async(std::launch::async,
                          [&] { return WriteNow(*other, Batch(1, {Put("l", "2", 2)})); });
  for (Version version = 2; version < 5; ++version) {
    REQUIRE(Eventually([&] {
      return WriteNow(*store, Batch(1, {Put("k" + std::to_string(version), "2", version)})).batch ==
             Errc::kUnknown;
    }));
  }
  WaitNoLonger();
  CHECK(waits.get() == WriteResult{});
}

}  // namespace stout::test
