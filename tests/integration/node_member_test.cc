// Parts of a stout-node with --datalet that need no other node: its command line, the names of
// datalets, the keys that members keep for themselves, and labels of metrics.

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <initializer_list>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "node/config.h"
#include "node/datalet_id.h"
#include "node/node_metrics.h"
#include "node/range_metrics.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/memory_store.h"
#include "stout/core/batch.h"
#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"
#include "stout/error.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/process.h"
#ifdef STOUT_HAS_REDIS
#include "tests/support/redis_server.h"
#endif
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::node {
namespace {

namespace json = boost::json;
using Catch::Contains;
using namespace std::chrono_literals;

TEST_CASE("the name of a datalet is made from its URL, without its secrets", "[node][members]") {
  const std::string url = "postgres://app:secret@10.0.0.9/app";
  CHECK(DataletIdOf(url) == DataletIdOf(url));
  CHECK(DataletIdOf(url) != DataletIdOf("postgres://app:secret@10.0.0.8/app"));
  CHECK_THAT(DataletIdOf(url), Catch::StartsWith("postgres-") && !Contains("secret"));
  CHECK_FALSE(WhyInvalid(AddDatalet(DataletIdOf(url), {.url = url}, 0)));
}

TEST_CASE("a store keeps the identity of its data", "[node][members]") {
  boost::asio::io_context context;
  MemoryStore one(context.get_executor());
  MemoryStore other(context.get_executor());
  const auto id = DataIdOf(one);
  REQUIRE(id);
  CHECK_FALSE(id->empty());
  CHECK(DataIdOf(one).value() == *id);
  CHECK(DataIdOf(other).value() != *id);
  MemoryStore strange(context.get_executor());
  const WriteBatch write{.epoch = 1, .items = {{.key = "theirs", .value = "v", .version = 1}}};
  REQUIRE(strange.AsyncWrite(write, boost::asio::use_future).get().batch == Errc::kOk);
  Diagnostics why;
  CHECK(DataIdOf(strange, &why).error() == Errc::kBadOptions);
  CHECK_THAT(why.message, Contains("it has keys already, like 'theirs'"));
}

// --- The command line ---------------------------------------------------------------------------

// Not a function, because Config::given refers to the configuration.
struct NodeArguments {
  NodeArguments(std::initializer_list<const char*> arguments) {
    std::vector<const char*> argv = {"stout-node"};
    argv.insert(argv.end(), arguments);
    std::ostringstream text;
    auto* const out = std::cout.rdbuf(text.rdbuf());
    auto* const err = std::cerr.rdbuf(text.rdbuf());
    code = ParseCommandLine(static_cast<int>(argv.size()), argv.data(), config);
    std::cout.rdbuf(out);
    std::cerr.rdbuf(err);
    said = text.str();
  }
  NodeArguments(const NodeArguments&) = delete;
  NodeArguments& operator=(const NodeArguments&) = delete;

  std::optional<int> code;
  Config config;
  std::string said;  // on stdout and stderr
};

TEST_CASE("a node with a datalet tells the deployment what it was asked for", "[node][members]") {
  const NodeArguments node{
      "--join",   "in-process:", "--datalet", "memory:", "--datalet-id", "left",
      "--min-in", "4",           "--ranges",  "8",       "--mode",       "ms+ec"};
  CAPTURE(node.said);
  REQUIRE_FALSE(node.code);
  CHECK(node.config.datalet == "memory:");
  CHECK(node.config.datalet_id == "left");
  CHECK(node.config.cluster.replicas == 3);
  CHECK(node.config.cluster.min_in == 4);
  CHECK(node.config.cluster.ranges == 8);
  CHECK(node.config.cluster.mode == ReplicationMode::kMsEc);
  CHECK(node.config.mode_given);
  ClusterConfig kept{.replicas = 5, .min_in = 1, .ack = 4, .member_timeout = 7s, .ranges = 64};
  node.config.given(kept);
  CHECK(kept ==
        ClusterConfig{.replicas = 5, .min_in = 4, .ack = 4, .member_timeout = 7s, .ranges = 8});
}

TEST_CASE("a node refuses options of a datalet that do not fit together", "[node][members]") {
  const auto refused = [](std::initializer_list<const char*> arguments) {
    const NodeArguments node(arguments);
    CHECK(node.code.value_or(0) != 0);
    return node.said;
  };
  CHECK_THAT(refused({"--datalet", "memory:"}), Contains("--datalet needs --join"));
  CHECK_THAT(refused({"--store", "memory:", "--datalet", "memory:", "--join", "in-process:"}),
             Contains("give either --store") && Contains("or --datalet"));
  CHECK_THAT(refused({"--join", "in-process:"}), Contains("give either --store"));
  CHECK_THAT(refused({"--join", "in-process:", "--store", "memory:"}),
             Contains("--join needs a --store that all nodes can reach"));
  for (const char* const option : {"--datalet-id", "--capacity", "--replicas", "--min-in", "--ack"})
    CHECK_THAT(refused({"--store", "memory:", option, "1"}),
               Contains(fmt::format("{} needs --datalet", option)));
  CHECK_THAT(refused({"--store", "memory:", "--ranges", "4"}), Contains("--ranges needs --join"));
  CHECK_THAT(refused({"--store", "memory:", "--mode", "ms+sc"}),
             Contains("--mode needs --datalet"));
  const auto wrong = [&](const char* option, const char* value) {
    return refused({"--join", "in-process:", "--datalet", "memory:", option, value});
  };
  CHECK_THAT(wrong("--mode", "sc"), Contains("--mode") && Contains("ms+sc, ms+ec, aa+sc or aa+ec"));
  for (const char* const id : {"a/b", "a b", "\xc3\xa9"})
    CHECK_THAT(wrong("--datalet-id", id), Contains("--datalet-id") && Contains("without '/'"));
  CHECK_THAT(wrong("--replicas", "0"), Contains("--replicas"));
  CHECK_THAT(wrong("--max-replies", "8MiB"), Contains("--max-replies must exceed --max-value"));
  CHECK_THAT(refused({"--join", "in-process:", "--datalet", "stout://127.0.0.1:1"}),
             Contains("the store of another node"));
}

TEST_CASE("a node does not start with a datalet that forgets deletes too soon", "[node][members]") {
  const auto start = [] {
    test::RunToEnd({"timeout", "20", STOUT_NODE, "--join", "in-process:", "--listen", "127.0.0.1:0",
                    "--datalet", "memory:?tombstone_ttl=59min"});
  };
  CHECK_THROWS_WITH(start(), Contains("a tombstone_ttl of at least 1h"));
}

TEST_CASE("the values of one range may take all the room for replies", "[node][members]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:", "--max-value",
                                   "1MiB", "--max-replies", "10MiB"});
  test::RespClient client(node.port());
  const std::string large(700'000, 'x');
  const std::vector<std::string> keys = {"a{1}", "b{1}", "c{2}", "d{3}", "e{4}", "f{5}"};
  for (const std::string& key : keys)
    CHECK(client.Do({"SET", key, key < "c" ? large : "v"}) == "+OK");
  std::vector<std::string> get = keys;
  get.insert(get.begin(), "MGET");
  CHECK(client.Do(get) == "[$" + large + ", $" + large + ", $v, $v, $v, $v]");
  get.insert(get.end(), 20, "a{1}");
  CHECK(client.Do(get).starts_with("-ERR the replies are larger than --max-replies"));
}

TEST_CASE("all replies of one batch share the room for replies", "[node][members][not_tsan]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:", "--ranges", "1",
                                   "--max-value", "1MiB", "--max-replies", "10MiB"});
  test::RespClient client(node.port());
  const std::string key(700'000, 'k');
  REQUIRE(client.Do({"SET", key, std::string(700'000, 'x')}) == "+OK");
  REQUIRE(client.Do({"SET", "k", std::string(700'000, 'x')}) == "+OK");
  const std::vector<std::string> read = GENERATE_COPY(
      std::vector<std::string>{"MGET", "k", "k"}, std::vector<std::string>{"SCAN", "0"},
      std::vector<std::string>{"STOUT.RANGE", "", "", "VALUES"});
  for (int i = 0; i < 20; ++i) {
    client.Queue(read);
    client.Queue({"WAIT", "0", "0"});  // so that the reads are carried out one after the other
  }
  client.Send("");
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string reply = client.Receive();
    refused += reply.starts_with("-ERR the replies are larger than --max-replies") ? 1 : 0;
    CHECK((refused > 0 || reply.starts_with("[")));
    CHECK(client.Receive() == ":1");
  }
  CHECK(refused > 0);
  CHECK(client.Do({"GET", "none"}) == "(nil)");
}

TEST_CASE("many keys are read at members, within the room for replies", "[node][members][levels]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:", "--ranges", "4",
                                   "--max-value", "64KiB", "--max-replies", "10MiB"});
  test::RespClient client(node.port());
  std::vector<std::string> get = {"MGET"};
  std::vector<std::string> exist = {"EXISTS"};
  std::string values;
  for (int i = 0; i < 300; ++i) {  // several reads of the store
    const std::string key = std::to_string(i);
    client.Queue({"SET", key, key});
    client.Queue({"SET", "large" + key, std::string(60'000, 'x')});
    get.push_back(key);
    exist.push_back("large" + key);
    values += (i == 0 ? "$" : ", $") + key;
  }
  for (int i = 0; i < 600; ++i) REQUIRE(client.Receive() == "+OK");
  CHECK(client.Do({"READONLY"}) == "+OK");
  CHECK(client.Do(get) == "[" + values + "]");
  // The owner serves them, because the values exceed the room, and the reply has none of them.
  CHECK(client.Do(exist) == ":300");
  exist.front() = "MGET";
  CHECK(client.Do(exist).starts_with("-ERR the replies are larger than --max-replies"));
}

TEST_CASE("a large read of a batch fails no change of it", "[node]") {
  const test::NodeServer node("memory:", {"--max-value", "64", "--max-replies", "4096"});
  test::RespClient client(node.port());
  REQUIRE(client.Do({"SET", "k", "v"}) == "+OK");
  std::vector<std::string> get(100, "k");
  get.insert(get.begin(), "MGET");
  for (int i = 0; i < 10; ++i) {
    client.Queue(get);
    client.Queue({"SET", "n", std::to_string(i)});
  }
  client.Send("");
  for (int i = 0; i < 10; ++i) {
    const std::string reply = client.Receive();
    CHECK((reply.starts_with("[$v, ") || reply.starts_with("-ERR the replies are larger")));
    CHECK(client.Receive() == "+OK");
  }
  CHECK(client.Do({"GET", "n"}) == "$9");
}

TEST_CASE("the name of a datalet stands for one store", "[node][members]") {
  const test::NodeServer node(
      "", {"--join", "in-process:", "--datalet", "memory:", "--datalet-id", "own"});
  test::RespClient client(node.port());
  const auto datalet = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "STOUT.DATALET");
    return client.Do(words);
  };
  REQUIRE(test::Eventually([&] { return datalet({"LIST"}).find("own") != std::string::npos; }));
  CHECK_THAT(datalet({"ADD", "redis://127.0.0.1:1", "own"}), Contains("-ERR there is another"));
  CHECK_THAT(datalet({"REMOVE", "own"}), Contains("end the node"));
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
#ifdef STOUT_HAS_REDIS
  const test::RedisServer redis;
  const std::string one = redis.Url() + "/1";
  const std::string other = redis.Url() + "/2";
  CHECK(datalet({"ADD", one, "r", "CAPACITY", "0"}) == "+OK");
  CHECK(datalet({"ADD", one, "r", "CAPACITY", "1"}) == "+OK");
  CHECK_THAT(datalet({"ADD", other, "r"}), Contains("-ERR there is another"));
  CHECK_THAT(datalet({"ADD", one, "s"}), Contains("as datalet r"));
  CHECK(datalet({"REMOVE", "r"}) == "+OK");
#endif
}

#ifdef STOUT_HAS_REDIS
TEST_CASE("a store that a command adds must open, suit, and be empty", "[node][members]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:"});
  const test::RedisServer redis;
  const test::RedisServer forgetful({"--appendonly", "no"});
  test::RespClient client(node.port());
  const auto add = [&](const std::string& url) {
    return client.Do({"STOUT.DATALET", "ADD", url, "r"});
  };
  CHECK_THAT(add("redis://127.0.0.1:1"), Contains("-ERR the store cannot be a datalet"));
  CHECK_THAT(add(forgetful.Url()), Contains("detect_loss=true"));
  CHECK_THAT(add(redis.Url() + "?tombstone_ttl=1min"), Contains("a tombstone_ttl of at least 1h"));
  redis.Execute({"SET", "theirs", "v"});
  CHECK_THAT(add(redis.Url()), Contains("it has keys already, like 'theirs'"));
  CHECK_THAT(client.Do({"STOUT.DATALET", "LIST"}), !Contains("redis"));
  redis.Execute({"FLUSHALL"});
  CHECK(add(redis.Url()) == "+OK");
  REQUIRE(test::Eventually([&] { return redis.Execute({"DBSIZE"}) != "0"; }));  // it is filled
  CHECK(add(redis.Url()) == "+OK");                                             // known
}
#endif

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("a node refuses a directory that has the keys of a single node", "[node][members]") {
  const test::TempDirectory directory;
  const std::string url = "rocksdb:" + directory.path() + "/data";
  {
    const test::NodeServer alone(url);
    REQUIRE(test::RespClient(alone.port()).Do({"SET", "theirs", "v"}) == "+OK");
  }
  for (int attempt = 0; attempt < 2; ++attempt) {  // the first one leaves no identity
    CHECK_THROWS_WITH(test::RunToEnd({"timeout", "20", STOUT_NODE, "--join",
                                      "in-process:", "--listen", "127.0.0.1:0", "--datalet", url}),
                      Contains("cannot open datalet " + url) &&
                          Contains("it has keys already, like 'theirs'") &&
                          Contains("name an empty store"));
  }
  const test::NodeServer alone(url);
  CHECK(test::RespClient(alone.port()).Do({"GET", "theirs"}) == "$v");
}

TEST_CASE("a node takes a directory that was its datalet", "[node][members]") {
  const test::TempDirectory directory;
  test::NodeServer node(
      "", {"--join", "in-process:", "--datalet", "rocksdb:" + directory.path() + "/data"});
  const auto set = [&] { return test::RespClient(node.port()).Do({"SET", "k", "v"}) == "+OK"; };
  REQUIRE(test::Eventually(set));
  node.Kill();
  node.Start();
  CHECK(test::Eventually(set));
}
#endif

TEST_CASE("STOUT.WAIT refuses a range that does not exist", "[node][members]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:"});
  test::RespClient client(node.port());
  REQUIRE(client.Do({"SET", "k", "v"}) == "+OK");
  for (const char* const range : {"64", "4000000000", "4294967296", "18446744073709551615", "x"}) {
    CAPTURE(range);
    CHECK(client.Do({"STOUT.WAIT", "1", "1", range, "1"}).starts_with("-ERR syntax: WAIT"));
  }
  CHECK(client.Do({"STOUT.WAIT", "1", "1", "0", "99"}).starts_with("-UNKNOWN"));
  CHECK(client.Do({"GET", "k"}) == "$v");
}

TEST_CASE("the words of STOUT.MODE may be in capitals", "[node][members]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:"});
  test::RespClient client(node.port());
  CHECK(client.Do({"STOUT.MODE", "MS+EC"}) == "+OK");
  CHECK(client.Do({"STOUT.MODE"}) == "$ms+ec");
  for (const char* const mode : {"", "sc", "ms+scx"})
    CHECK_THAT(client.Do({"STOUT.MODE", mode}), Contains("is no mode: use ms+sc, ms+ec"));
  CHECK_THAT(client.Do({"STOUT.MODE", "ms+sc", "x"}), Contains("-ERR syntax: STOUT.MODE"));
  CHECK(client.Do({"STOUT.MODE"}) == "$ms+ec");
}

TEST_CASE("clients that have all connections do not keep other nodes out", "[node][members]") {
  const test::NodeServer node(
      "", {"--join", "in-process:", "--datalet", "memory:", "--max-clients", "1"});
  std::optional<test::RespClient> client;
  REQUIRE(test::Eventually([&] {  // the connection that waited for the node is gone
    client.emplace(node.port());
    return client->Do({"PING"}) == "+PONG";
  }));
  const auto refused = [&](const std::vector<std::string>& greeting) {
    test::RespClient other(node.port());
    if (!greeting.empty()) CHECK_THAT(other.Do(greeting), Contains("-ERR AUTH"));
    CHECK_THAT(other.Do({"PING"}), Contains("-ERR max number of clients reached"));
    CHECK_THROWS_AS(other.Do({"PING"}), std::runtime_error);
  };
  refused({});
  refused({"AUTH", "x"});
  test::RespClient peer(node.port());
  CHECK_THAT(peer.Do({"AUTH", "x"}), Contains("-ERR AUTH"));
  CHECK(peer.Do({"STOUT.PEER", "1"}) == "+OK");
  CHECK(peer.Do({"PING"}) == "+PONG");
  CHECK_THAT(test::RespClient(node.port()).Do({"STOUT.SHARDS"}), Contains("max-batch-items"));
  CHECK(client->Do({"PING"}) == "+PONG");
}

TEST_CASE("nodes do not count as clients, and only a node with the password is one",
          "[node][members]") {
  const test::TempDirectory directory;
  const std::string file = directory.path() + "/password";
  test::RunToEnd({"sh", "-c", "echo secret > " + file});
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:", "--max-clients",
                                   "1", "--password-file", file});
  std::vector<std::unique_ptr<test::RespClient>> nodes;
  for (int i = 0; i < 3; ++i) {
    nodes.push_back(std::make_unique<test::RespClient>(node.port()));
    CHECK(nodes.back()->Do({"AUTH", "secret"}) == "+OK");
    CHECK(nodes.back()->Do({"STOUT.PEER", "1"}) == "+OK");
  }
  std::optional<test::RespClient> client;
  REQUIRE(test::Eventually([&] {  // the connection that waited for the node is gone
    client.emplace(node.port());
    return client->Do({"AUTH", "secret"}) == "+OK" && client->Do({"PING"}) == "+PONG";
  }));
  CHECK_THAT(test::RespClient(node.port()).Do({"STOUT.PEER", "1"}), Contains("-ERR max number"));
}

// --- Keys ---------------------------------------------------------------------------------------

TEST_CASE("clients may not use the keys that members keep for themselves", "[node][members]") {
  const test::NodeServer node("", {"--join", "in-process:", "--datalet", "memory:"});
  test::RespClient client(node.port());
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"SET", "stout:k", "v"}, {"MSET", "k", "v", "stout:k", "v"}, {"MGET", "k", "stout:k"}}) {
    CHECK(client.Do(command) == "-ERR keys that begin with 'stout:' belong to the members");
  }
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"SET", "k", "v"}) == "+QUEUED");
  CHECK(client.Do({"SET", "stout:k", "v"}) == "+QUEUED");
  CHECK_THAT(client.Do({"EXEC"}), Contains("belong to the members"));
  CHECK(client.Do({"SET", "stout", "v"}) == "+OK");
  CHECK(client.Do({"STOUT.READ", "0", "stout:k"}).front() != '-');  // as other nodes do

  const test::NodeServer alone("memory:");
  CHECK(test::RespClient(alone.port()).Do({"SET", "stout:k", "v"}) == "+OK");
  CHECK(test::RespClient(alone.port()).Do({"STOUT.TABLE", "LIST"}) ==
        "-ERR this node has no tables: start it with --join and --datalet");
}

TEST_CASE("the metrics of a table's members have its name as a label", "[node][metrics]") {
  const NodeSnapshot node{.members = {{.table = "orders", .range = 3, .datalet = "d", .in = true},
                                      {.range = 3, .datalet = "d", .in = true}}};
  const std::string text = ToPrometheus(node, {});
  CHECK_THAT(text, Contains("stout_node_member_in{range=\"3\",member=\"d\",table=\"orders\"} 1"));
  CHECK_THAT(text, Contains("stout_node_member_in{range=\"3\",member=\"d\"} 1"));
}

// Three ranges: of this node, of another one, and free.
RangesSnapshot ThreeRanges() {
  LeaseTable leases;
  leases.ranges = {Lease{"a:1", 1, 7}, Lease{"b:1", 2, 3}, std::nullopt};
  RegistryTable records;
  records.sets[0].value.swept = 5;  // by the owner before this one
  records.sets[1].value.strong = false;
  records.sets[1].value.members = {RangeRecord::Member{.datalet = "d", .in = true},
                                   RangeRecord::Member{.datalet = "e"}};
  records.sets[2].value.shared = 4;
  records.datalets["z"].value.lazy = true;
  return {.self = "a:1",
          .leases = std::make_shared<const LeaseTable>(std::move(leases)),
          .records = std::make_shared<const RegistryTable>(std::move(records)),
          .taken = 2,
          .forwarded = 9};
}

TEST_CASE("the metrics of a node show the ranges that nobody owns", "[node][metrics]") {
  NodeSnapshot node{.ranges = {ThreeRanges(), ThreeRanges()}};
  node.ranges.back().table = "orders";
  const std::string text = ToPrometheus(node, {});
  for (const char* line :
       {R"(stout_node_ranges{owner="self"} 1)", R"(stout_node_ranges{owner="other"} 1)",
        R"(stout_node_ranges{owner="none"} 1)",
        R"(stout_node_ranges{owner="none",table="orders"} 1)",
        R"(stout_node_ranges_in_mode{mode="ms+sc"} 1)",
        R"(stout_node_ranges_in_mode{mode="ms+ec"} 1)",
        R"(stout_node_ranges_in_mode{mode="aa+ec",table="orders"} 1)",
        "\nstout_node_ranges_unswept 1\n", "\nstout_node_ranges_taken_total 2\n",
        "\nstout_node_forwarded_total 9\n"}) {
    CHECK_THAT(text, Contains(line));
  }
  const json::value orders = json::parse(ToJson(node, {})).at("ranges").at(1);
  CHECK(orders.at("table") == "orders");
  CHECK(orders.at("stout_node_ranges") == json::value{{"self", 1}, {"other", 1}, {"none", 1}});
  CHECK(orders.at("stout_node_forwarded_total") == 9);
  // Nodes that share one store.
  node.ranges = {ThreeRanges()};
  node.ranges.front().records = nullptr;
  const std::string without = ToPrometheus(node, {});
  CHECK_THAT(without, Contains(R"(stout_node_ranges{owner="none"} 1)") && !Contains("in_mode"));
}

TEST_CASE("the live page has a row for each range, with its owner", "[node][metrics]") {
  const NodeSnapshot node{
      .ranges = {ThreeRanges()},
      .members = {{.range = 0, .datalet = "d", .filling = true, .lag = 2500ms}}};
  const json::array rows = PageRows(node);
  const auto column = [&rows](const char* name) {
    json::array values;
    for (const json::value& row : rows) {
      const json::value* const value = row.as_object().if_contains(name);
      values.push_back(value != nullptr ? *value : json::value("absent"));
    }
    return values;
  };
  CHECK(column("range") == json::array{0, 1, 1, 1, 2});
  CHECK(column("owner") == json::array{"a:1", "b:1", "b:1", "b:1", nullptr});
  CHECK(column("member") == json::array{"d", "d", "e", "z", "z"});
  CHECK(column("stout_node_member_in") == json::array{0, 1, 0, 0, 0});
  CHECK(column("stout_node_member_filling") == json::array{1, 0, 0, 0, 0});
  CHECK(column("stout_node_member_lazy") == json::array{0, 0, 0, 1, 1});
  CHECK(column("stout_node_member_lag_keys") == json::array{0, nullptr, nullptr, nullptr, nullptr});
  CHECK(column("stout_node_member_lag_seconds") ==
        json::array{2.5, nullptr, nullptr, nullptr, nullptr});

  NodeSnapshot shares{.ranges = {ThreeRanges()}};
  shares.ranges.front().records = nullptr;
  CHECK(PageRows(shares).size() == 3);
  CHECK(PageRows(shares).front() == json::value{{"range", 0}, {"owner", "a:1"}});
}

}  // namespace
}  // namespace stout::node
