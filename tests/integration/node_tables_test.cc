// Goal: the tables of a deployment have keys, a mode and owners of their own, through any node, and
// through the loss of nodes.
// Method: real processes, as in node_members_test.cc.

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stout/adapters/open_lease_service.h"
#include "stout/core/registry_table.h"
#include "stout/registry.h"
#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

using Catch::Contains;
using Client = std::unique_ptr<RespClient>;

// A connection that uses a table.
Client Using(int port, const std::string& table) {
  auto client = std::make_unique<RespClient>(port);
  REQUIRE(Eventually([&] { return client->Do({"STOUT.TABLE", "USE", table}) == "+OK"; }));
  return client;
}

std::vector<Client> UsingAll(const MemberNodes& nodes, const std::string& table) {
  std::vector<Client> clients;
  for (const int port : nodes.ports()) clients.push_back(Using(port, table));
  return clients;
}

bool Lists(int port, const std::string& text) {
  return MemberNodes::Ask(port, {"STOUT.TABLE", "LIST"}).find(text) != std::string::npos;
}

constexpr std::size_t kTableRanges = 4;

// Waits until each range of the table has all members, by the report of a node.
bool AwaitTable(MemberNodes& nodes, std::size_t node, const std::string& table) {
  const auto members_in = [&]() -> std::size_t {
    RespClient client(nodes.ports()[node]);
    if (client.Do({"STOUT.TABLE", "USE", table}) != "+OK") return 0;
    const std::string status = client.Do({"STOUT.STATUS"});
    const std::string in = "\"state\":\"in\"";
    std::size_t count = 0;
    for (auto at = status.find(in); at != std::string::npos; at = status.find(in, at + 1)) ++count;
    return count;
  };
  return nodes.Await([&] {
    try {
      return members_in() == kTableRanges * nodes.size();
    } catch (const std::exception&) {  // it does not serve yet
      return false;
    }
  });
}

// Returns the reply of a node that was asked to create a table.
std::string Create(MemberNodes& nodes, const std::string& table,
                   const std::string& mode = "ms+sc") {
  const std::string reply = MemberNodes::Ask(
      nodes.ports()[0],
      {"STOUT.TABLE", "CREATE", table, "MODE", mode, "RANGES", std::to_string(kTableRanges)});
  if (reply == "+OK") CHECK(AwaitTable(nodes, 0, table));
  return reply;
}

TEST_CASE("tables have keys of their own, through every node", "[node][members][tables]") {
  MemberNodes nodes;
  RespClient first(nodes.ports()[0]);
  CHECK(Create(nodes, "orders") == "+OK");
  CHECK(Create(nodes, "carts", "ms+ec") == "+OK");
  const auto orders = UsingAll(nodes, "orders");
  const auto carts = UsingAll(nodes, "carts");
  for (int i = 0; i < 20; ++i) {  // in several ranges
    const std::string key = fmt::format("key{}", i);
    CAPTURE(key);
    CHECK(orders[0]->Do({"SET", key, "of orders"}) == "+OK");
    CHECK(carts[1]->Do({"GET", key}) == "(nil)");
    CHECK(first.Do({"GET", key}) == "(nil)");
    CHECK(carts[2]->Do({"SET", key, "of carts"}) == "+OK");
    CHECK(first.Do({"SET", key, "of none"}) == "+OK");
    CHECK(orders[1]->Do({"GET", key}) == "$of orders");
    CHECK(carts[0]->Do({"GET", key}) == "$of carts");
  }
  CHECK(orders[1]->Do({"DEL", "key0", "key1"}) == ":2");
  CHECK(orders[2]->Do({"DBSIZE"}) == ":18");
  // In ms+ec a member may lack the newest changes for a moment.
  CHECK(nodes.Await([&] { return carts[2]->Do({"DBSIZE"}) == ":20"; }));
  CHECK(first.Do({"DBSIZE"}) == ":20");
  CHECK(orders[0]->Do({"SCAN", "0", "MATCH", "key7", "COUNT", "100"}) == "[$0, [$key7]]");

  // The datalets have all of it, so that the tables could mix.
  const std::string raw = first.Do({"STOUT.SCAN", "0", "1000", "VALUES"});
  CHECK_THAT(raw, Contains("of orders") && Contains("of carts") && Contains("of none"));

  // Each has a mode of its own.
  CHECK(orders[1]->Do({"STOUT.MODE"}) == "$ms+sc");
  CHECK(carts[1]->Do({"STOUT.MODE"}) == "$ms+ec");
  CHECK_THAT(carts[0]->Do({"STOUT.STATUS"}), Contains("\"table\":\"carts\"") &&
                                                 Contains("\"mode\":\"ms+ec\"") &&
                                                 !Contains("\"mode\":\"ms+sc\""));
  CHECK(orders[2]->Do({"STOUT.MODE", "ms+ec"}) == "+OK");
  CHECK(nodes.Await([&] { return orders[0]->Do({"STOUT.MODE"}) == "$ms+ec"; }));
  CHECK(first.Do({"STOUT.MODE"}) == "$ms+sc");

  CHECK(carts[1]->Do({"FLUSHALL"}) == "+OK");
  CHECK(nodes.Await([&] { return carts[0]->Do({"DBSIZE"}) == ":0"; }));
  CHECK(orders[0]->Do({"DBSIZE"}) == ":18");
  CHECK(first.Do({"DBSIZE"}) == ":20");
  CHECK(nodes.Fault().empty());
}

TEST_CASE("a connection uses one table at a time", "[node][members][tables][not_tsan]") {
  MemberNodes nodes;
  RespClient client(nodes.ports()[0]);
  REQUIRE(Create(nodes, "orders") == "+OK");
  client.Queue({"SET", "k", "default"});
  client.Queue({"STOUT.TABLE", "USE", "orders"});
  client.Queue({"SET", "k", "orders"});
  client.Queue({"STOUT.TABLE", "USE", "default"});
  client.Queue({"GET", "k"});
  for (int i = 0; i < 4; ++i) CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "$default");

  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"STOUT.TABLE", "USE", "orders"}) ==
        "-ERR Command not allowed inside a transaction");
  CHECK(client.Do({"DISCARD"}) == "+OK");
  CHECK(client.Do({"WATCH", "k"}) == "+OK");
  CHECK_THAT(client.Do({"STOUT.TABLE", "USE", "orders"}), Contains("UNWATCH first"));
  CHECK(client.Do({"UNWATCH"}) == "+OK");
  CHECK(client.Do({"STOUT.TABLE", "USE", "orders"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "+QUEUED");
  CHECK(client.Do({"INCR", "{k}n"}) == "+QUEUED");
  CHECK(client.Do({"EXEC"}) == "[$orders, :1]");
  client.Queue({"SET", "k", "reset"});
  client.Queue({"RESET"});
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "+RESET");
  CHECK(client.Do({"WAIT", "1", "0"}) == ":3");  // the write was to ranges of the table
  CHECK(client.Do({"GET", "k"}) == "$default");

  // A client that knows the owners is not sent to one, whose connection would use no table.
  RespClient informed(nodes.ports()[1]);
  REQUIRE(informed.Do({"CLUSTER", "SLOTS"}).starts_with("["));
  CHECK(informed.Do({"STOUT.TABLE", "USE", "orders"}) == "+OK");
  for (int i = 0; i < 20; ++i) CHECK(informed.Do({"SET", fmt::format("k{}", i), "1"}) == "+OK");

  const auto table = [&](std::vector<std::string> rest) {
    rest.insert(rest.begin(), "STOUT.TABLE");
    return client.Do(rest);
  };
  CHECK(table({"USE", "none"}) ==
        "-ERR there is no table 'none': see STOUT.TABLE LIST, or CREATE it");
  CHECK(table({"DROP", "none"}) == "-ERR there is no table 'none': see STOUT.TABLE LIST");
  CHECK(table({"DROP", "default"}) ==
        "-ERR the default table cannot be dropped: FLUSHALL deletes its keys");
  CHECK(table({"CREATE", "a", "REPLICAS", "65"}) == "-ERR REPLICAS takes a number, at most 64");
  CHECK(table({"CREATE", "orders"}) == "-ERR there is a table orders already: USE it, or DROP it");
  CHECK_THAT(table({"CREATE", "Orders"}), Contains("use 1 to 32 letters a to z"));
  CHECK_THAT(table({"CREATE", "t17"}), Contains("use another"));
  CHECK(table({"CREATE", "a", "MODE", "MS+X"}) ==
        "-ERR 'ms+x' is no mode: use ms+sc, ms+ec, aa+sc or aa+ec");
  CHECK_THAT(table({"CREATE", "a", "MODE", "MS+EC", "ACK", "9"}), Contains("ack is 9"));
  CHECK_THAT(table({"CREATE", "a", "ACK", "9"}), Contains("ack is 9: use 1 to replicas (3)"));
  CHECK_THAT(table({"CREATE", "a", "RANGES", "0"}), Contains("ranges is 0"));
  CHECK_THAT(table({"CREATE", "a", "SIZE", "1"}), Contains("ERR syntax"));
  CHECK_THAT(table({"NAMES"}), Contains("ERR syntax"));
  CHECK_THAT(table({"LIST"}), Contains("\"name\":\"default\"") && Contains("\"name\":\"orders\"") &&
                                  !Contains("\"name\":\"a\""));
}

TEST_CASE("a table that is dropped and created again has no old keys",
          "[node][members][tables][not_tsan]") {
  MemberNodes nodes;
  RespClient client(nodes.ports()[0]);
  REQUIRE(Create(nodes, "orders") == "+OK");
  const auto former = UsingAll(nodes, "orders");
  for (int i = 0; i < 20; ++i) CHECK(former[0]->Do({"SET", fmt::format("k{}", i), "old"}) == "+OK");
  CHECK(client.Do({"SET", "k0", "default"}) == "+OK");
  CHECK(client.Do({"STOUT.TABLE", "DROP", "orders"}) == "+OK");
  CHECK(nodes.Logged({"stay in the stores"}).empty());  // other nodes own some of them
  CHECK_FALSE(Lists(nodes.ports()[0], "orders"));
  CHECK_THAT(former[0]->Do({"GET", "k0"}), Contains("orders was dropped: STOUT.TABLE USE another"));
  // It begins no transaction, in which USE would be refused.
  CHECK_THAT(former[0]->Do({"MULTI"}), Contains("orders was dropped"));
  CHECK(former[0]->Do({"STOUT.TABLE", "USE", "default"}) == "+OK");
  REQUIRE(Create(nodes, "orders") == "+OK");  // at once
  const auto current = UsingAll(nodes, "orders");
  CHECK(nodes.Await([&] {
    return former[1]->Do({"GET", "k0"}).find("dropped") != std::string::npos;
  }));
  for (int i = 0; i < 20; ++i) {
    const std::string key = fmt::format("k{}", i);
    CHECK(current[1]->Do({"GET", key}) == "(nil)");
    CHECK(current[2]->Do({"SET", key, "new"}) == "+OK");
  }
  CHECK(current[0]->Do({"DBSIZE"}) == ":20");
  CHECK(client.Do({"GET", "k0"}) == "$default");

  // A node that was away meanwhile learns of both. It also ends what was half done.
  nodes.program(2).Kill();
  CHECK(client.Do({"STOUT.TABLE", "DROP", "orders"}) == "+OK");
  CHECK(MemberNodes::Ask(nodes.ports()[0], {"STOUT.TABLE", "CREATE", "orders", "RANGES", "4"}) ==
        "+OK");
  nodes.program(2).Start();
  CHECK(nodes.AwaitMembers());
  CHECK(AwaitTable(nodes, 2, "orders"));
  CHECK(Using(nodes.ports()[2], "orders")->Do({"GET", "k0"}) == "(nil)");
  CHECK(client.Do({"STOUT.TABLE", "DROP", "orders"}) == "+OK");
  // The records of the former tables go, too, once no node is a member of them.
  CHECK(nodes.Await([&] { return nodes.view().records().tables.empty(); }));
  CHECK(client.Do({"GET", "k0"}) == "$default");
  CHECK(nodes.Fault().empty());
}

TEST_CASE("a table whose DROP was begun stays until it is dropped",
          "[node][members][tables][not_tsan]") {
  MemberNodes nodes;
  REQUIRE(Create(nodes, "orders") == "+OK");
  const auto clients = UsingAll(nodes, "orders");
  CHECK(clients[0]->Do({"SET", "k", "1"}) == "+OK");
  // A node that was killed during the DROP has listed the id.
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  std::jthread thread([&] { context.run(); });
  {
    auto leases = OpenLeaseService(fmt::format("etcd://127.0.0.1:{}/kv", nodes.etcd().port()),
                                   context.get_executor());
    REQUIRE(leases);
    const std::string id = fmt::format("t{}", nodes.view().records().tables.at("orders").revision);
    const auto answer =
        (*leases)->registry()->AsyncChange(CreateTable(id, {}), boost::asio::use_future).get();
    REQUIRE(answer.outcome == ChangeOutcome::kDone);
    // Nodes remove what is to be removed.
    REQUIRE(Create(nodes, "other") == "+OK");
    CHECK(MemberNodes::Ask(nodes.ports()[0], {"STOUT.TABLE", "DROP", "other"}) == "+OK");
    CHECK(nodes.Await([&] { return nodes.view().records().tables.size() == 2; }));
    CHECK(nodes.view().records().tables.contains(id));
  }
  context.stop();
  CHECK(clients[1]->Do({"INCR", "k"}) == ":2");
  CHECK(MemberNodes::Ask(nodes.ports()[1], {"STOUT.TABLE", "DROP", "orders"}) == "+OK");
  CHECK(nodes.Await([&] { return nodes.view().records().tables.empty(); }));
}

TEST_CASE("a table has members of different kinds", "[node][members][tables][not_tsan]") {
  RedisServer redis;
  PostgresServer postgres;
  MemberNodes nodes({.datalets = {"memory:", redis.Url(), postgres.Url()}});
  REQUIRE(Create(nodes, "orders") == "+OK");
  const auto clients = UsingAll(nodes, "orders");
  for (int i = 0; i < 20; ++i)
    CHECK(clients[i % 3]->Do({"SET", fmt::format("k{}", i), "v"}) == "+OK");
  // Each node lists the keys of its own datalet.
  for (const Client& client : clients) CHECK(client->Do({"DBSIZE"}) == ":20");
  CHECK(MemberNodes::Ask(nodes.ports()[0], {"DBSIZE"}) == ":0");
  nodes.program(0).Kill();  // the other members serve
  CHECK(nodes.Await([&] { return clients[1]->Do({"GET", "k7"}) == "$v"; }));
  nodes.program(0).Start();
  // It is filled from the part of another store. Until owners notice that it is empty, a scan
  // fails.
  CHECK(nodes.Await([&] {
    return AwaitTable(nodes, 0, "orders") &&
           Using(nodes.ports()[0], "orders")->Do({"DBSIZE"}) == ":20";
  }));
  CHECK(nodes.Fault().empty());
}

// Not under ThreadSanitizer, which keeps back a signal that meets a thread which waits for a
// future.
TEST_CASE("tables survive a killed owner, each linearizable", "[node][members][tables][not_tsan]") {
  MemberNodes nodes;
  REQUIRE(Create(nodes, "orders") == "+OK");
  ChaosProtocol protocol = kRespProtocol;
  protocol.greeting = "*3\r\n$11\r\nSTOUT.TABLE\r\n$3\r\nUSE\r\n$6\r\norders\r\n";
  MemberRun inner;
  const MemberRun outer = RunUnderLoad(nodes, "tables-default", [&](const LoadThreads& load) {
    const auto events = [&](const LoadThreads& table_load) {
      nodes.program(0).Kill();
      CHECK(nodes.Await([&] { return nodes.view().SomeLack(3); }));
      CHECK(Progress(nodes, load, 100));
      CHECK(Progress(nodes, table_load, 100));
      nodes.program(0).Start();
      CHECK(nodes.AwaitMembers());
      CHECK(AwaitTable(nodes, 0, "orders"));  // a node that starts serves all tables
      CHECK(Progress(nodes, table_load, 100));
      nodes.program(1).Signal(SIGTERM);  // it hands all tables over
      CHECK(Eventually([&] { return !nodes.program(1).Running(); }));
      nodes.program(1).Start();
      CHECK(nodes.AwaitMembers());
      CHECK(AwaitTable(nodes, 1, "orders"));
    };
    inner = RunUnderLoad(nodes, "tables-orders", events, {}, protocol);
  });
  CheckRun(outer);
  CheckRun(inner);
  CHECK(inner.history.size() > 200);
  CHECK(nodes.Fault().empty());
}

}  // namespace
}  // namespace stout::test
