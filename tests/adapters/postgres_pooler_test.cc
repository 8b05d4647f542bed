// PostgreSQL behind pgbouncer, which gives each transaction another session. Tests of standbys
// (postgres_standby_test.cc), locks (postgres_locks_test.cc), isolation (postgres_fence_test.cc)
// and templates (postgres_templates_test.cc) run behind it, too: there, `pooled` is true.

#include <future>
#include <vector>

#include "postgres_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/pgbouncer.h"

namespace stout::test {

TEST_CASE_METHOD(PostgresTest, "postgres: a pooler is noticed, and nothing is prepared behind it") {
  const Pgbouncer pooler(server().port());
  // More connections than the pooler has.
  const auto store = Open("connections=8&read_connections=4", pooler.port());
  const auto writer = [&](int number) {
    int wrong = 0;
    for (int i = 0; i < 50; ++i) {
      const std::string key = std::to_string(number) + "/" + std::to_string(i);
      wrong += WriteNow(*store, Batch(1, {Put(key, "v", 1), Delete("d" + key, 2)})) == WriteResult{}
                   ? 0
                   : 1;
      wrong += ReadOne(*store, key) == Found("v", {1, 1}) ? 0 : 1;
    }
    return wrong;
  };
  std::vector<std::future<int>> writers;
  for (int w = 0; w < 8; ++w) writers.push_back(std::async(std::launch::async, writer, w));
  for (std::future<int>& wrong : writers) CHECK(wrong.get() == 0);
  CHECK(server().Execute("SELECT count(*) FROM stout WHERE value IS NOT NULL") == "400");
}

TEST_CASE_METHOD(PostgresTest, "postgres: a fence shuts out what comes through a pooler") {
  const Pgbouncer pooler(server().port());
  const auto former = Open("", pooler.port());
  const auto successor = Open("", pooler.port());
  CHECK(WriteNow(*former, Scoped("s", Batch(1, {Put("k", "1", 1)}))) == WriteResult{});
  CHECK_FALSE(FenceNow(*successor, "s", 2));
  CHECK(WriteNow(*former, Scoped("s", Batch(1, {Put("k", "2", 2)}))) ==
        WriteResult{Errc::kFenced, {}});
  CHECK(ReadOne(*successor, "k") == Found("1", {1, 1}));
}

TEST_CASE_METHOD(PostgresTest, "postgres: a pooler that knew its server as a standby is used") {
  Pgbouncer pooler(server().port());
  const auto store = Open("", pooler.port());
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  // The pooler goes on telling clients what its server reported when it logged in.
  pooler.Kill();
  server().Kill();
  server().Demote();
  server().Start();
  pooler.Start();
  CHECK_FALSE(WhyNot(Url("", pooler.port()), Errc::kTransient).empty());
  server().Promote();
  REQUIRE_FALSE(CanConnect("host=127.0.0.1 port=" + std::to_string(pooler.port()) +
                           " user=postgres dbname=postgres target_session_attrs=read-write"));
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "2", 2)})) == WriteResult{});
  CHECK(ReadOne(*Open("", pooler.port()), "k") == Found("2", {1, 2}));
}

// The pooler keeps the connections of its clients when another server takes over.
TEST_CASE_METHOD(PostgresTest,
                 "postgres: a server behind a pooler is told the epoch of each write") {
  const Pgbouncer pooler(server().port());
  const auto store = Open("", pooler.port());
  REQUIRE(WriteNow(*store, Batch(5, {Put("k", "1", 1)})) == WriteResult{});
  server().Execute("UPDATE stout_epoch SET epoch = 0");  // as an older server has it
  CHECK(WriteNow(*store, Batch(5, {Put("k", "2", 2)})) == WriteResult{});
  CHECK(NewEpochNow(*Open()) > 5);
}

TEST_CASE_METHOD(PostgresTest, "postgres: without prepared statements where there is no pooler") {
  const auto store = Open("prepare=false");
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1), Delete("l", 2)})) == WriteResult{});
  CHECK(ReadOne(*store, "k") == Found("v", {1, 1}));
}

}  // namespace stout::test
