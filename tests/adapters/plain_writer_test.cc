// The plain clients that store-bench compares libstout with, on real servers: what they call
// durable is there, whatever the connections; and comparisons with them.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "stores/comparison.h"
#include "stores/contender.h"
#include "stores/trials.h"
#include "stores/writer.h"
#include "stout/core/policy/basic.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"
#ifdef STOUT_HAS_POSTGRES
#include "tests/support/postgres_server.h"
#endif
#ifdef STOUT_HAS_ROCKSDB
#include "tests/support/temp_directory.h"
#endif

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Writes keys "0", "1", ... with their own names as values, and answers how many are done once all
/// are.
int WriteAll(const std::string& url, const WriterSpec& spec, int count) {
  asio::io_context context;
  const std::unique_ptr<Writer> writer = OpenWriter(url, spec, context);
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(std::to_string(i));
  int done = 0;
  const auto work = asio::make_work_guard(context);
  for (const std::string& key : keys) {
    writer->Write(key, key, [&](ErrorCode ec) {
      if (!ec) ++done;
    });
  }
  while (!writer->Idle()) context.run_one();
  return done;
}

const std::vector<WriterSpec> kSpecs = {{1, false}, {3, false}, {1, true}, {3, true}};

TEST_CASE("a plain Redis client has written what it says", "[plain-writer]") {
  test::RedisServer server;
  for (const WriterSpec& spec : kSpecs) {
    CAPTURE(spec.Name());
    server.Execute({"FLUSHALL"});
    CHECK(WriteAll(server.Url(), spec, 500) == 500);
    CHECK(server.Execute({"DBSIZE"}) == "500");
    CHECK(server.Execute({"GET", "499"}) == "499");
  }
}

TEST_CASE("a plain Redis client does not take an error for success", "[plain-writer]") {
  test::RedisServer server;
  server.Execute({"CONFIG", "SET", "maxmemory", "1"});
  CHECK_THROWS_WITH(WriteAll(server.Url(), {1, true}, 1), Catch::Contains("OOM"));
}

TEST_CASE("a trial or a preload whose write fails throws", "[plain-writer]") {
  test::RedisServer server;
  const std::atomic<bool> interrupted = false;
  const WriterSpec spec = GENERATE(WriterSpec{4, false}, WriterSpec{1, true});
  CAPTURE(spec.Name());
  const auto contender = MakePlain(server.Url(), spec, {.count = 100});
  server.Execute({"CONFIG", "SET", "maxmemory", "1"});
  SECTION("a trial") {
    CHECK_THROWS_WITH(
        RunTrial(*contender, 100, 5000, {.warmup = 1h, .measure = 1h}, 10s, 1, interrupted),
        Catch::Contains("OOM"));
  }
  SECTION("a preload") { CHECK_THROWS_WITH(Preload(*contender, 100, 1), Catch::Contains("OOM")); }
}

TEST_CASE("a write that fails once its session ends fails the next one", "[plain-writer]") {
  test::RedisServer server;
  const auto contender = MakePlain(server.Url(), {1, false}, {.count = 1});
  server.Execute({"CONFIG", "SET", "maxmemory", "1"});
  ErrorCode answer;
  contender->Begin(1)->target().Change(0, [&](ErrorCode ec) { answer = ec; });
  CHECK(answer == Errc::kClosed);
  CHECK_THROWS_WITH(contender->Begin(2), Catch::Contains("OOM"));
}

/// A light load, for a moment.
CompareOptions Small(const std::string& url) {
  CompareOptions options;
  options.stores = {{"redis", url}};
  options.writers = {{1, false}};
  options.documents = {20};
  options.coarse = options.fine = {.warmup = 1ms, .measure = 100ms};
  options.repetitions = 1;
  options.light_load_s = 0;
  return options;
}

TEST_CASE("each table of a comparison is preloaded", "[plain-writer]") {
  test::RedisServer server;
  const std::atomic<bool> interrupted = false;
  CompareOptions options = Small(server.Url("prefix=a:"));
  options.variants = {{"other", server.Url("prefix=b:")}};
  options.policies = {Natural{}, Unbatched{}};
  options.rate = 1;
  const std::vector<Comparison> comparisons = Compare(
      options, [](const Comparison&, const std::string&, double) {}, interrupted);
  REQUIRE(comparisons.at(0).entries.size() == 5);
  const auto documents = [&](const std::string& prefix) {
    return server.Execute({"EVAL", "return #redis.call('KEYS', ARGV[1])", "0", prefix + "server*"});
  };
  CHECK(documents("") == "20");
  CHECK(documents("a:") == "20");
  CHECK(documents("b:") == "20");
}

TEST_CASE("a rate below one that failed is not a least one", "[plain-writer]") {
  test::RedisServer server;
  test::TcpProxy network(server.port());
  const std::atomic<bool> interrupted = false;
  CompareOptions options = Small(server.Url({}, network.port()));
  options.max_p99 = 500ms;
  options.search = {.first = 50, .highest = 100, .step = 2};
  int at_highest = 0;
  // The found rate is too much when it is repeated.
  const auto slow_down = [&](const Comparison&, const std::string&, double rate) {
    if (rate == options.search.highest) ++at_highest;
    const bool confirming = rate == options.search.highest && at_highest == 2;
    network.Behave({.delay = confirming ? 500ms : 0ms});
  };
  const std::vector<Comparison> comparisons = Compare(options, slow_down, interrupted);
  const Entry& pool = comparisons.at(0).entries.at(0);
  REQUIRE(pool.sustained);
  CHECK(pool.sustained->rate < options.search.highest);
  CHECK_FALSE(pool.at_least);
}

#ifdef STOUT_HAS_POSTGRES
TEST_CASE("a plain PostgreSQL client has written what it says", "[plain-writer]") {
  test::PostgresServer server;
  for (const WriterSpec& spec : kSpecs) {
    CAPTURE(spec.Name());
    CHECK(WriteAll(server.Url("connections=7"), spec, 200) == 200);
    // Division by zero unless all rows are there, each with its own value.
    server.Execute(
        "SELECT 1 / (count(*) FILTER (WHERE key = value) = 200)::int FROM stout_bench_plain");
    server.Execute("TRUNCATE stout_bench_plain");
  }
}

TEST_CASE("a plain PostgreSQL client does not take an error for success", "[plain-writer]") {
  test::PostgresServer server;
  CHECK(WriteAll(server.Url(), {1, false}, 1) == 1);
  server.Execute("ALTER TABLE stout_bench_plain ADD CHECK (length(key) < 2)");
  CHECK_THROWS_WITH(WriteAll(server.Url(), {2, true}, 20), Catch::Contains("check constraint"));
}
#endif

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("a plain RocksDB client has written what it says", "[plain-writer]") {
  const test::TempDirectory directory;
  CHECK(WriteAll("rocksdb:" + directory.path() + "/db", {4, false}, 200) == 200);
  CHECK_THROWS_WITH(WriteAll("rocksdb:" + directory.path() + "/db", {4, true}, 1),
                    Catch::Contains("cannot pipeline"));
}
#endif

}  // namespace
}  // namespace stout::bench
