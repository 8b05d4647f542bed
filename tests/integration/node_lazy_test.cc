// Lazy members. Method: a real node that keeps its ranges in RocksDB, and a PostgreSQL and a Redis
// that follow it, of which one is killed under load.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

std::size_t Count(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST_CASE("a lazy PostgreSQL and a lazy Redis follow a node, also after a restart under load",
          "[node][members][not_tsan]") {
  constexpr std::size_t kRanges = 4;
  constexpr int kKeys = 200;
  PostgresServer postgres;
  const RedisServer redis;
  const TempDirectory directory;
  const NodeServer node("",
                        {"--join", "in-process:", "--ranges", std::to_string(kRanges), "--datalet",
                         "rocksdb:" + directory.path() + "/data", "--member-timeout", "1s"});
  RespClient client(node.port());
  const auto key = [](int k) { return "k" + std::to_string(k); };
  for (int k = 0; k < kKeys; ++k) REQUIRE(client.Do({"SET", key(k), "before"}) == "+OK");
  const std::string timeouts = "timeout=1s&connect_timeout=1s";
  const auto add = [&](const std::string& url, const std::string& id) {
    return client.Do({"STOUT.DATALET", "ADD", url, id, "LAZY"});
  };
  REQUIRE(add(postgres.Url(timeouts), "reports") == "+OK");
  REQUIRE(add(redis.Url(timeouts), "fast") == "+OK");
  CHECK(Count(client.Do({"STOUT.DATALET", "LIST"}), R"("lazy":true)") == 2);
  const auto follow = [&] {
    return Count(client.Do({"STOUT.STATUS"}), R"("state":"lazy")") == 2 * kRanges;
  };
  REQUIRE(Eventually(follow));

  std::atomic<bool> stop = false;
  std::atomic<int> written = 0;
  std::atomic<int> refused = 0;
  std::thread load([&] {
    RespClient own(node.port());
    while (!stop) {
      const int n = written;
      if (own.Do({"SET", key(n % kKeys), std::to_string(n)}) != "+OK") ++refused;
      ++written;
    }
  });
  const auto progress = [&] {
    return Eventually([&, goal = written + 2 * kKeys] { return written > goal; });
  };
  CHECK(progress());
  postgres.Kill();
  CHECK(progress());
  std::this_thread::sleep_for(1500ms);  // longer than the time after which a member leaves
  CHECK(progress());
  postgres.Start();
  CHECK(progress());
  stop = true;
  load.join();
  CHECK(refused == 0);
  CHECK(client.Do({"DEL", key(0)}) == ":1");

  std::string wanted;  // of each key, in order
  std::vector<std::string> keys;
  for (int k = 1; k < kKeys; ++k) keys.push_back(key(k));
  std::sort(keys.begin(), keys.end());
  for (const std::string& each : keys) {
    const std::string value = client.Do({"GET", each});
    wanted += (wanted.empty() ? "" : ",") + each + "=" + value.substr(1);
  }
  std::string rows;
  const bool equal = Eventually([&] {
    rows = postgres.Execute(
        "SELECT string_agg(convert_from(key, 'UTF8') || '=' || convert_from(value, 'UTF8'), ',' "
        "ORDER BY key) FROM stout WHERE value IS NOT NULL AND "
        "convert_from(key, 'UTF8') NOT LIKE 'stout:%'");
    return rows == wanted;
  });
  CHECK(equal);
  CHECK(rows == wanted);
  CHECK(Eventually(follow));
  CHECK(std::stoi(redis.Execute({"DBSIZE"})) >= kKeys - 1);
  CHECK(client.Do({"STOUT.DATALET", "REMOVE", "reports"}) == "+OK");
  CHECK(Eventually([&] {
    return client.Do({"STOUT.DATALET", "LIST"}).find("reports") == std::string::npos;
  }));
}

TEST_CASE("the only datalet that is in cannot become lazy", "[node][members][not_tsan]") {
  const RedisServer redis;
  const NodeServer node("", {"--join", "in-process:", "--ranges", "1", "--datalet", redis.Url()});
  RespClient client(node.port());
  REQUIRE(Eventually([&] { return client.Do({"SET", "k", "v"}) == "+OK"; }));
  CHECK_THAT(client.Do({"STOUT.DATALET", "ADD", redis.Url(), "LAZY"}),
             Catch::Matchers::Contains("cannot be lazy: it is the only one that is in"));
}

}  // namespace
}  // namespace stout::test
