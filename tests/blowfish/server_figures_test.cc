// INFO and the metrics of a server.

#include <regex>
#include <string>
#include <vector>

#include "server_settings.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/resp_client.h"

namespace stout::blowfish {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using test::BlowfishServer;
using test::Eventually;
using test::HttpClient;
using test::HttpReply;
using test::kRestless;
using test::RespClient;
using test::With;

TEST_CASE("INFO tells how many shards may merge, and how many do") {
  const BlowfishServer server(4, With(kRestless, {"--merges", "2"}));
  RespClient client(server.port());
  CHECK_THAT(client.Do({"INFO", "persistence"}), Contains("merges_at_once:2\r\n"));
  for (int i = 0; i < 5000; ++i) client.Queue({"SET", std::to_string(i), std::string(50, 'x')});
  for (int i = 0; i < 5000; ++i) REQUIRE(client.Receive() == "+OK");
  CHECK(Eventually([&] {
    const std::string info = client.Do({"INFO", "persistence"});
    return info.find("merges:0\r") == std::string::npos &&
           info.find("merges_running:0\r\nmerges_waiting:0\r\nmerge_memory_estimate:0\r") !=
               std::string::npos;
  }));
}

TEST_CASE("INFO tells calls, errors, latencies and keys in redis's form") {
  BlowfishServer server(2);
  {
    RespClient client(server.port());
    for (int i = 0; i < 100; ++i) client.Queue({"SET", std::to_string(i), "v"});
    for (int i = 0; i < 100; ++i) REQUIRE(client.Receive() == "+OK");
    REQUIRE(client.Do({"GET", "1"}) == "$v");
    REQUIRE_THAT(client.Do({"GET"}), StartsWith("-ERR wrong number"));
    REQUIRE_THAT(client.Do({"SET", "1", "v", "EX", "0"}), StartsWith("-ERR invalid expire"));
    REQUIRE_THAT(client.Do({"CLIENT", "LIST"}), Contains("id="));
    REQUIRE_THAT(client.Do({"NOSUCH"}), StartsWith("-ERR unknown"));
    const auto is = [&](const std::string& section, const std::string& line) {
      return std::regex_search(client.Do({"INFO", section}), std::regex(line + "\r\n"));
    };
    const std::string time = "usec=[0-9]+,usec_per_call=[0-9]+\\.[0-9]{2},";
    CHECK(is("commandstats", "cmdstat_get:calls=1," + time + "rejected_calls=1,failed_calls=0"));
    CHECK(is("commandstats", "cmdstat_set:calls=101," + time + "rejected_calls=0,failed_calls=1"));
    CHECK(is("commandstats",
             "cmdstat_client\\|list:calls=1," + time + "rejected_calls=0,failed_calls=0"));
    CHECK(is("errorstats", "errorstat_ERR:count=3"));
    CHECK(is("stats", "total_error_replies:3"));
    const std::string number = "[0-9]+\\.[0-9]{3}";
    CHECK(is("latencystats",
             "latency_percentiles_usec_set:p50=" + number + ",p99=" + number + ",p99.9=" + number));
    CHECK(Eventually([&] { return is("keyspace", "db0:keys=100,expires=0,avg_ttl=0"); }));

    // As redis: only by name, or with all others.
    for (const std::string all : {"all", "everything"}) {
      CHECK_THAT(client.Do({"INFO", all}), Contains("cmdstat_") && Contains("_usec_set:"));
    }
    CHECK_THAT(client.Do({"INFO"}), !Contains("cmdstat_") && !Contains("_usec_") &&
                                        Contains("errorstat_") && Contains("db0:"));
    CHECK(client.Do({"INFO", "default", "latencystats"}).find("cmdstat_") == std::string::npos);

    REQUIRE(client.Do({"CONFIG", "RESETSTAT"}) == "+OK");
    CHECK_THAT(client.Do({"INFO", "commandstats"}), !Contains("cmdstat_set"));
    CHECK_THAT(client.Do({"INFO", "errorstats", "latencystats"}),
               !Contains("errorstat_") && !Contains("_usec_set"));
  }
  server.Kill();
  server.Start();
  RespClient client(server.port());
  CHECK_THAT(client.Do({"INFO", "keyspace"}), Contains("db0:keys=100,"));
  REQUIRE(client.Do({"FLUSHALL"}) == "+OK");
  CHECK(Eventually([&] { return client.Do({"INFO", "keyspace"}) == "$# Keyspace\r\n"; }));
}

TEST_CASE("figures are served to Prometheus") {
  const BlowfishServer server(2, {"--metrics", "127.0.0.1:0"});
  std::smatch found;
  const std::string log = server.Log();
  REQUIRE(std::regex_search(log, found, std::regex("metrics at port ([0-9]+)")));
  HttpClient client(static_cast<std::uint16_t>(std::stoi(found[1])));
  RespClient(server.port()).Do({"SET", "k", "v"});
  const HttpReply first = client.Do("GET", "/metrics");
  CHECK(first.status == 200);
  CHECK(first.Field("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK_THAT(first.body, Contains("\nblowfish_shard_keys{shard=\"1\"} ") &&
                             Contains("# TYPE blowfish_connections_total counter\n") &&
                             Contains("\nblowfish_command_seconds_count{command=\"set\"} 1\n") &&
                             Contains("\nblowfish_http_connections 1\n"));
  CHECK(client.Do("HEAD", "/metrics").status == 200);
  CHECK(client.Do("GET", "/").status == 404);
  CHECK(client.Do("PUT", "/metrics", "text").Field("allow") == "GET, HEAD");
  const HttpReply last = client.Do("GET", "/metrics?x=y");
  CHECK_THAT(last.body,
             Contains("\nblowfish_http_requests_total{method=\"GET\",status=\"200\"} 1\n") &&
                 Contains("\nexposer_scrapes_total 1\n"));
}

TEST_CASE("figures are served at a port without a host") {
  const std::string port = std::to_string(test::FreePort());
  const BlowfishServer server(1, {"--metrics", port});
  HttpClient client(static_cast<std::uint16_t>(std::stoi(port)));
  CHECK(client.Do("GET", "/metrics").status == 200);
}

}  // namespace
}  // namespace stout::blowfish
