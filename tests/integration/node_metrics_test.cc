// The figures of stout-node for operators: the pages of --metrics, and INFO.

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/config.h"
#include "node/node_monitor.h"
#include "node/node_service.h"
#include "resp/server/listener.h"
#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
#include "stout/write_back_map.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/node_server.h"
#include "tests/support/private_server.h"
#include "tests/support/process.h"
#include "tests/support/resp_client.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using Catch::Contains;
using test::Eventually;
using test::HttpReply;

// Returns status 0 if nobody listens.
HttpReply Page(int port, const std::string& path) {
  try {
    return test::HttpClient(static_cast<std::uint16_t>(port)).Do("GET", path);
  } catch (const std::exception&) {
    return {};
  }
}

// Returns the value in the line of this metric, or nullopt.
std::optional<double> Value(const std::string& metrics, const std::string& name) {
  const auto line = ("\n" + metrics).find("\n" + name + " ");
  if (line == std::string::npos) return std::nullopt;
  return std::stod(metrics.substr(line + name.size() + 1));
}

// A node in this process, which tests open and fail.
struct Monitored {
  explicit Monitored(Duration unhealthy_after = std::chrono::seconds(20)) {
    config.metrics = program::Address{"127.0.0.1", 0};
    config.unhealthy_after = unhealthy_after;
    Diagnostics why;
    REQUIRE(!monitor.Listen(&why));
    Store& watched = monitor.Watch(store);
    map.emplace(context.get_executor(), watched, config.map);
    ranges.emplace(*map, [this] { told = true; });
    service.emplace(*ranges, watched, nullptr, "");
    listener.emplace(context, *service);
    REQUIRE(!listener->Listen("127.0.0.1", 0, &why));
    listener->Start();
    thread = std::jthread([this] { context.run(); });
  }
  ~Monitored() {
    shown.reset();
    context.stop();
    thread.join();
  }

  void Open() {
    map->interposer().AsyncOpenScope(config.scope, asio::use_future).get();
    shown.emplace(monitor, *service, context);
  }
  // As another node does.
  void TakeOver() {
    other.emplace(context.get_executor(), store, config.map);
    other->interposer().AsyncOpenScope(config.scope, asio::use_future).get();
  }

  [[nodiscard]] HttpReply Get(const std::string& path) const { return Page(monitor.port(), path); }
  [[nodiscard]] test::RespClient Connect() const { return test::RespClient(service->port); }

  Config config;
  NodeMonitor monitor{config};
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  FaultyStore store{context.get_executor(), std::make_unique<MemoryStore>(context.get_executor())};
  std::optional<WriteBackMap> map;
  std::optional<WriteBackMap> other;
  std::optional<OneRange> ranges;
  std::optional<NodeService> service;
  std::optional<resp::Listener> listener;
  std::optional<NodeMonitor::Shown> shown;
  std::atomic<bool> told = false;
  std::jthread thread;
};

TEST_CASE("a node's metrics move with its commands", "[node][metrics]") {
  Monitored node;
  node.Open();
  const HttpReply before = node.Get("/metrics");
  CHECK(before.status == 200);
  CHECK(before.Field("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(Value(before.body, "stout_node_commands_total") == 0);
  CHECK(Value(before.body, "stout_node_healthy") == 1);
  CHECK_FALSE(Value(before.body, "stout_node_keys"));

  test::RespClient client = node.Connect();
  CHECK(client.Do({"SET", "k", "text"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "$text");
  CHECK_THAT(client.Do({"GET"}), Contains("wrong number of arguments"));
  CHECK_THAT(client.Do({"INCR", "k"}), Contains("not an integer"));
  CHECK(client.Do({"DBSIZE"}) == ":1");

  const std::string text = node.Get("/metrics").body;
  const std::map<std::string, double> expected = {
      {"stout_node_clients", 1},
      {"stout_node_connections_total", 1},
      {"stout_node_commands_total", 5},
      {"stout_node_slow_readers_total", 0},
      {"stout_node_protocol_errors_total", 0},
      {"stout_node_command_seconds_count{command=\"get\"}", 1},
      {"stout_node_command_seconds_bucket{command=\"set\",le=\"+Inf\"}", 1},
      {"stout_node_command_rejected_total{command=\"get\"}", 1},
      {"stout_node_command_failed_total{command=\"incr\"}", 1},
      {"stout_node_errors_total{error=\"ERR\"}", 2},
      {"stout_node_keys", 1},
      {"stout_keys_marked_total{shard=\"0\",lane=\"0\"}", 1},
      {"stout_policy_info{shard=\"0\",lane=\"0\",policy=\"natural\"}", 1},
      {"stout_node_http_connections", 1},
  };
  for (const auto& [name, value] : expected) {
    CAPTURE(name);
    CHECK(Value(text, name) == value);
  }
  for (const char* name : {"stout_node_input_bytes_total", "stout_node_output_bytes_total",
                           "stout_node_resident_bytes", "stout_node_cpu_seconds_total",
                           "stout_cached_bytes{shard=\"0\"}"}) {
    CAPTURE(name);
    CHECK(Value(text, name) > 0);
  }

  const json::value stats = json::parse(node.Get("/stats").body);
  CHECK(stats.at("total").at("stout_keys_marked_total") == 1);
  CHECK(stats.at("node").at("stout_node_keys") == 1);
  const json::value& service = stats.at("service");
  CHECK(service.at("stout_node_commands_total") == 5);
  CHECK(service.at("commands").at("get").at("stout_node_command_seconds").at("count") == 1);
  CHECK(service.at("stout_node_errors_total").at("ERR") == 2);
  CHECK(stats.at("http").as_object().contains("requests"));
}

TEST_CASE("a node serves the live page and refuses other requests", "[node][metrics]") {
  Monitored node;
  CHECK(node.Get("/history").status == 503);
  node.Open();
  const HttpReply page = node.Get("/");
  CHECK(page.status == 200);
  CHECK(page.Field("content-type") == "text/html; charset=utf-8");
  CHECK_THAT(page.Field("content-security-policy"), Contains("default-src 'none'"));
  CHECK(node.Connect().Do({"SET", "k", "v"}) == "+OK");
  const auto history = [&] { return json::parse(node.Get("/history").body); };
  REQUIRE(Eventually([&] { return !history().at("series").as_array().empty(); }));
  CHECK(history().at("program") == "stout-node");
  CHECK(history().at("policy") == "natural");
  CHECK(history().at("store") == "memory");
  CHECK(history().at("lanes") == 1);
  CHECK(node.Get("/metrics/more").status == 404);
  test::HttpClient client(node.monitor.port());
  CHECK(client.Do("HEAD", "/metrics").status == 200);
  CHECK(client.Do("PUT", "/metrics", "text").Field("allow") == "GET, HEAD");
}

TEST_CASE("a node is unhealthy before it serves and when another one has its scope",
          "[node][metrics]") {
  Monitored node;
  CHECK(node.Get("/healthz").status == 503);
  CHECK_THAT(node.Get("/healthz").body, Contains("the node does not serve yet"));
  CHECK(Value(node.Get("/metrics").body, "stout_node_healthy") == 0);
  CHECK(node.Get("/stats").status == 200);
  node.Open();
  CHECK(node.Get("/healthz").status == 200);
  node.TakeOver();
  // The node does not write, so only the question of a scraper can show it.
  REQUIRE(Eventually([&] { return node.Get("/healthz").status == 503; }));
  CHECK_THAT(node.Get("/healthz").body,
             Contains("another node has taken over scope 'stout-node' of the store"));
  CHECK(Value(node.Get("/metrics").body, "stout_node_healthy") == 0);
  CHECK(Eventually([&] { return node.told.load(); }));
}

TEST_CASE("a node is unhealthy while its store does not answer", "[node][metrics]") {
  Monitored node(std::chrono::nanoseconds(1));
  node.Open();
  for (int i = 0; i < 3; ++i) node.store.ScriptRead(Fault::kFail);
  std::string body;
  REQUIRE(Eventually([&] {
    body = node.Get("/healthz").body;
    return body.find("no read, or no write, by this server has succeeded") != std::string::npos;
  }));
  CHECK_THAT(body, Contains("the store (memory)"));
  CHECK(Eventually([&] { return node.Get("/healthz").status == 200; }));
}

// --- INFO ---------------------------------------------------------------------------------------

// The fields by name, behind those of their sections: "Memory/used_memory".
std::map<std::string, std::string> Fields(const std::string& info) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(info.substr(1));  // "$"
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line == "\r") continue;
    REQUIRE(line.back() == '\r');
    line.pop_back();
    if (line.starts_with("# ")) {
      section = line.substr(2);
      continue;
    }
    const auto colon = line.find(':');
    REQUIRE(colon != std::string::npos);
    CHECK(fields.emplace(section + "/" + line.substr(0, colon), line.substr(colon + 1)).second);
  }
  return fields;
}

TEST_CASE("INFO of a node has the fields that exporters read", "[node][metrics]") {
  Monitored node;
  node.Open();
  test::RespClient client = node.Connect();
  REQUIRE(client.Do({"SET", "k", "v"}) == "+OK");
  REQUIRE(client.Do({"GET", "k"}) == "$v");
  REQUIRE_THAT(client.Do({"GET"}), Contains("wrong number"));
  auto fields = Fields(client.Do({"INFO", "all"}));
  const std::string number = "[0-9]+";
  const std::string decimal = "[0-9]+\\.[0-9]+";
  const std::map<std::string, std::string> expected = {
      {"Server/redis_version", "7\\.0\\.0"},
      {"Server/redis_mode", "standalone"},
      {"Server/uptime_in_seconds", number},
      {"Server/process_id", number},
      {"Server/tcp_port", std::to_string(node.service->port)},
      {"Clients/connected_clients", "1"},
      {"Clients/maxclients", "10000"},
      {"Memory/used_memory", number},
      {"Memory/used_memory_rss", number},
      {"Memory/maxmemory", "0"},
      {"Persistence/loading", "0"},
      {"Stats/total_connections_received", "1"},
      {"Stats/total_commands_processed", "4"},
      {"Stats/rejected_connections", "0"},
      {"Stats/total_error_replies", "1"},
      {"Stats/total_net_input_bytes", number},
      {"Stats/total_net_output_bytes", number},
      {"Replication/role", "master"},
      {"Replication/connected_slaves", "0"},
      {"CPU/used_cpu_sys", decimal},
      {"CPU/used_cpu_user", decimal},
      {"Cluster/cluster_enabled", "0"},
      {"Commandstats/cmdstat_get",
       "calls=1,usec=" + number + ",usec_per_call=" + decimal + ",rejected_calls=1,failed_calls=0"},
      {"Errorstats/errorstat_ERR", "count=1"},
      {"Latencystats/latency_percentiles_usec_get",
       "p50=" + decimal + ",p99=" + decimal + ",p99\\.9=" + decimal},
  };
  for (const auto& [name, pattern] : expected) {
    CAPTURE(name, fields[name]);
    CHECK(std::regex_match(fields[name], std::regex(pattern)));
  }
  CHECK_FALSE(fields.contains("Keyspace/db0"));  // not counted yet

  CHECK(client.Do({"DBSIZE"}) == ":1");
  CHECK(client.Do({"SET", "l", "v"}) == "+OK");
  fields = Fields(client.Do({"INFO"}));
  CHECK(fields["Keyspace/db0"] == "keys=1,expires=0,avg_ttl=0");  // as of DBSIZE
  CHECK_FALSE(fields.contains("Commandstats/cmdstat_get"));
  CHECK(client.Do({"FLUSHALL"}) == "+OK");
  CHECK(client.Do({"INFO", "keyspace"}) == "$# Keyspace\r\n");
}

// --- The program --------------------------------------------------------------------------------

bool IsHealthy(int metrics) { return Page(metrics, "/healthz").status == 200; }

bool Says(int metrics, const std::string& problem) {
  const HttpReply reply = Page(metrics, "/healthz");
  return reply.status == 503 && reply.body.find(problem) != std::string::npos;
}

std::vector<std::string> MetricsAt(int port) {
  return {"--metrics", fmt::format("127.0.0.1:{}", port)};
}

TEST_CASE("the pages of a node are there while it waits for its store", "[node][metrics]") {
  const int metrics = test::FreePort();
  auto waits = std::async(std::launch::async, [metrics] {
    return Eventually([&] { return Says(metrics, "the node does not serve yet"); });
  });
  const test::NodeServer node("memory:?latency=2s", MetricsAt(metrics));
  CHECK(waits.get());
  CHECK(Eventually([&] { return IsHealthy(metrics); }));
}

TEST_CASE("a node that drains is unhealthy, and its pages are there to the end",
          "[node][metrics]") {
  const int metrics = test::FreePort();
  const test::NodeServer node("memory:", MetricsAt(metrics));
  REQUIRE(Eventually([&] { return IsHealthy(metrics); }));
  const auto commands = [&] {
    return Value(Page(metrics, "/metrics").body, "stout_node_commands_total").value_or(0);
  };
  {
    // More replies than sockets hold, so that the drain waits for this client.
    test::RespClient slow(node.port());
    REQUIRE(slow.Do({"SET", "k", std::string(4'000'000, 'x')}) == "+OK");
    const double before = commands();
    for (int i = 0; i < 20; ++i) slow.Queue({"GET", "k"});
    slow.Send("");
    REQUIRE(Eventually([&] { return commands() == before + 20; }));
    // Its raise() ends the node also under ThreadSanitizer, which holds signals from outside back.
    test::RespClient(node.port()).Send("SHUTDOWN\r\n");
    CHECK(Eventually([&] { return Says(metrics, "the server is shutting down"); }));
    CHECK(Value(Page(metrics, "/metrics").body, "stout_node_clients") == 1);
  }
  CHECK(Eventually([&] { return !node.Up(); }));
  CHECK_THAT(node.Log(), Contains("ended with exit code 0"));
}

TEST_CASE("a node with a datalet shows the members of its ranges", "[node][metrics][members]") {
  const int metrics = test::FreePort();
  const test::NodeServer node(
      "", {"--join", "in-process:", "--datalet", "memory:", "--datalet-id", "left", "--ranges", "2",
           "--replicas", "1", "--metrics", fmt::format("127.0.0.1:{}", metrics)});
  CHECK(Eventually([&] { return IsHealthy(metrics); }));
  test::RespClient client(node.port());
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");  // slot 7629: range 0
  const auto shown = [&](const std::string& name) {
    return Value(Page(metrics, "/metrics").body, name);
  };
  CHECK(Eventually([&] { return shown(R"(stout_node_member_in{range="1",member="left"})") == 1; }));
  CHECK(shown(R"(stout_node_member_in{range="0",member="left"})") == 1);
  CHECK(shown(R"(stout_node_member_filling{range="0",member="left"})") == 0);
  CHECK(shown(R"(stout_node_member_copied_states_total{range="0",member="left"})") == 0);
  CHECK(shown(R"(stout_keys_marked_total{shard="0",member="left",lane="0"})").value_or(0) >= 1);
  CHECK(shown(R"(stout_cached_bytes{shard="0",member="left"})").value_or(0) > 0);
  CHECK(shown(R"(stout_node_member_lag_keys{range="0",member="left"})") == 0);
  CHECK(shown(R"(stout_node_member_lag_seconds{range="0",member="left"})") == 0);
  CHECK(Eventually([&] { return shown(R"(stout_node_ranges{owner="self"})") == 2; }));
  CHECK(shown(R"(stout_node_ranges{owner="other"})") == 0);
  CHECK(shown(R"(stout_node_ranges{owner="none"})") == 0);
  CHECK(Eventually([&] { return shown(R"(stout_node_ranges_in_mode{mode="ms+sc"})") == 2; }));
  CHECK(Eventually([&] { return shown("stout_node_ranges_unswept") == 0; }));
  CHECK(shown("stout_node_ranges_taken_total") == 2);
  CHECK(shown("stout_node_forwarded_total") == 0);
  const json::value stats = json::parse(Page(metrics, "/stats").body);
  REQUIRE(stats.at("members").as_array().size() == 2);
  CHECK(stats.at("members").at(0).at("member").as_string() == "left");
  CHECK(stats.at("members").at(0).at("stout_node_member_in").as_int64() == 1);
  CHECK(stats.at("shards").at(0).at("member").as_string() == "left");
  CHECK(Eventually([&] {
    const std::string history = Page(metrics, "/history").body;
    return history.find("0/left/0") != std::string::npos &&
           history.find(R"("members":[{"stout_node_member_in":1)") != std::string::npos;
  }));
  REQUIRE(client.Do({"STOUT.MODE", "aa+ec"}) == "+OK");  // then another map than the owner's serves
  CHECK(Eventually(
      [&] { return client.Do({"STOUT.STATUS"}).find(R"("mode":"ms)") == std::string::npos; }));
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK(shown(R"(stout_node_ranges_in_mode{mode="aa+ec"})") == 2);
  CHECK(shown(R"(stout_keys_marked_total{shard="0",member="left",lane="0"})") == 1);
  CHECK(shown(R"(stout_node_member_in{range="0",member="left"})") == 1);
}

TEST_CASE("a node whose metrics address is taken does not start", "[node][metrics]") {
  const std::string taken = fmt::format("127.0.0.1:{}", test::FreePort());
  const test::NodeServer other("memory:", {"--metrics", taken});
  const auto fails = [](const std::string& metrics) {
    try {
      return test::RunToEnd({"timeout", "20", STOUT_NODE, "--store", "memory:", "--listen",
                             "127.0.0.1:0", "--metrics", metrics});
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  };
  CHECK_THAT(fails(taken), Contains("--metrics: cannot listen on " + taken));
  CHECK_THAT(fails("nowhere"), Contains("--metrics: 'nowhere' is not HOST:PORT"));
}

}  // namespace
}  // namespace stout::node
