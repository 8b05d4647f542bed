// Several stout-nodes on one store, as clients of Redis and of Redis Cluster see them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stout/adapters/hash_slot.h"
#include "stout/core/lease_table.h"
#include "tests/support/catch.h"
#include "tests/support/etcd_server.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/node_server.h"
#include "tests/support/private_server.h"
#include "tests/support/process.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

// So many that each of a few nodes has some.
constexpr int kRanges = 32;

// Nodes on one Redis, with leases in etcd.
struct Nodes {
  explicit Nodes(std::size_t count = 3, std::vector<std::string> settings = {}) {
    while (nodes.size() < count) Add(settings);
    CHECK(Eventually([&] { return Owners().size() == count; }));
  }

  NodeServer& Add(const std::vector<std::string>& settings = {}) {
    std::vector<std::string> all = {
        "--join",      fmt::format("etcd://127.0.0.1:{}/kv", etcd.port()),
        "--lease-ttl", "2s",
        "--ranges",    std::to_string(kRanges)};
    all.insert(all.end(), settings.begin(), settings.end());
    nodes.push_back(std::make_unique<NodeServer>(fmt::format("redis://127.0.0.1:{}", redis.port()),
                                                 std::move(all)));
    return *nodes.back();
  }

  // The owners of the first slots of the ranges, by port, if all have owners.
  [[nodiscard]] std::map<std::string, std::string> Owners() const {
    std::map<std::string, std::string> keys;  // by owner: a key of its
    RespClient client(nodes.front()->port());
    (void)client.Do({"CLUSTER", "SLOTS"});
    for (int range = 0; range < kRanges; ++range) {
      const std::string key = KeyOf(range);
      const std::string reply = client.Do({"GET", key});
      if (reply.starts_with("-TRYAGAIN")) return {};
      const bool moved = reply.starts_with("-MOVED");
      keys[moved ? reply.substr(reply.rfind(':') + 1) : std::to_string(nodes.front()->port())] =
          key;
    }
    return keys;
  }

  // A key of a range.
  [[nodiscard]] static std::string KeyOf(int range, const std::string& name = "key") {
    return fmt::format("{{{}}}{}",
                       redis::SlotTags()[static_cast<std::size_t>(range) * redis::kSlots / kRanges],
                       name);
  }

  RedisServer redis;
  EtcdServer etcd;
  std::vector<std::unique_ptr<NodeServer>> nodes;
};

TEST_CASE("every key is right through every node", "[node][cluster]") {
  const Nodes fleet;
  std::vector<std::unique_ptr<RespClient>> clients;
  for (const auto& node : fleet.nodes)
    clients.push_back(std::make_unique<RespClient>(node->port()));
  for (int range = 0; range < kRanges; ++range) {
    const std::string key = Nodes::KeyOf(range);
    CAPTURE(key);
    CHECK(clients[0]->Do({"SET", key, "5"}) == "+OK");
    CHECK(clients[1]->Do({"INCR", key}) == ":6");
    CHECK(clients[2]->Do({"GET", key}) == "$6");
    CHECK(clients[2]->Do({"APPEND", key, "x"}) == ":2");
    CHECK(clients[1]->Do({"INCR", key}) == "-ERR value is not an integer or out of range");
    CHECK(clients[0]->Do({"GETDEL", key}) == "$6x");
    CHECK(clients[1]->Do({"GET", key}) == "(nil)");
  }
}

TEST_CASE("a relaxed read reads the store that the nodes share", "[node][cluster][levels]") {
  const Nodes fleet(2);
  const std::string foreign = fleet.Owners().at(std::to_string(fleet.nodes[1]->port()));
  RespClient client(fleet.nodes[0]->port());
  CHECK(client.Do({"SET", foreign, "5"}) == "+OK");
  CHECK(client.Do({"WAIT", "1", "0"}) == ":1");
  CHECK(client.Do({"STOUT.LEVEL", "WRITE", "2"}).starts_with("-ERR there is one store"));
  CHECK(client.Do({"STOUT.LEVEL", "READ", "relaxed", "STALENESS", "1"}) == "+OK");
  fleet.nodes[1]->Signal(SIGSTOP);  // the owner
  CHECK(client.Do({"MGET", foreign, "none"}) == "[$5, (nil)]");
  fleet.nodes[1]->Signal(SIGCONT);
  CHECK(client.Do({"INCR", foreign}) == ":6");
  CHECK(client.Do({"GET", foreign}) == "$6");
}

TEST_CASE("commands of several keys are split by range, or refused", "[node][cluster]") {
  const Nodes fleet;
  RespClient client(fleet.nodes[0]->port());
  std::vector<std::string> mget = {"MGET"}, del = {"DEL"}, exists = {"EXISTS"};
  std::string values = "[";
  for (int range = 0; range < kRanges; ++range) {
    const std::string key = Nodes::KeyOf(range);
    CHECK(client.Do({"SET", key, std::to_string(range)}) == "+OK");
    for (auto* command : {&mget, &del, &exists}) command->push_back(key);
    values += fmt::format("${}, ", range);
  }
  // More keys of the same ranges: also empty, absent, and repeated.
  CHECK(client.Do({"SET", Nodes::KeyOf(1, "empty"), ""}) == "+OK");
  for (const std::string& key : {Nodes::KeyOf(2, "none"), Nodes::KeyOf(1, "empty"), Nodes::KeyOf(2),
                                 Nodes::KeyOf(1), Nodes::KeyOf(2, "none")})
    mget.push_back(key);
  CHECK(client.Do(mget) == values + "(nil), $, $2, $1, (nil)]");
  CHECK(client.Do({"HELLO", "3"}).starts_with("{"));
  CHECK(client.Do(mget) == values + "(nil), $, $2, $1, (nil)]");
  CHECK(client.Do({"HELLO", "2"}).starts_with("["));
  CHECK(client.Do({"DEL", Nodes::KeyOf(1, "empty"), Nodes::KeyOf(2, "none")}) == ":1");
  CHECK(client.Do(exists) == fmt::format(":{}", kRanges));
  CHECK(client.Do({"MSET", Nodes::KeyOf(0), "a", Nodes::KeyOf(5), "b"}).starts_with("-CROSSSLOT"));
  CHECK(client.Do({"GET", Nodes::KeyOf(0)}) == "$0");
  CHECK(client.Do({"MSET", Nodes::KeyOf(5, "a"), "a", Nodes::KeyOf(5, "b"), "b"}) == "+OK");
  CHECK(client.Do(del) == fmt::format(":{}", kRanges));
  CHECK(client.Do(exists) == ":0");
  // The replies of a pipeline keep its order.
  for (int i = 0; i < 400; ++i) {
    client.Queue({"INCR", Nodes::KeyOf(i % kRanges)});
    client.Queue({"ECHO", std::to_string(i)});
  }
  for (int i = 0; i < 400; ++i) {
    REQUIRE(client.Receive() == fmt::format(":{}", i / kRanges + 1));
    REQUIRE(client.Receive() == fmt::format("${}", i));
  }
}

TEST_CASE("a transaction runs at the owner of its range", "[node][cluster]") {
  const Nodes fleet;
  for (int range = 0; range < kRanges; ++range) {
    const std::string a = Nodes::KeyOf(range, "a");
    const std::string b = Nodes::KeyOf(range, "b");
    RespClient client(fleet.nodes[0]->port());
    RespClient other(fleet.nodes[1]->port());
    const auto run = [&](const std::string& second) {
      CHECK(client.Do({"MULTI"}) == "+OK");
      CHECK(client.Do({"INCR", a}) == "+QUEUED");
      CHECK(client.Do({"PING"}) == "+QUEUED");
      CHECK(client.Do({"SET", second, "text"}) == "+QUEUED");
      CHECK(client.Do({"MGET", a, second}) == "+QUEUED");
      return client.Do({"EXEC"});
    };
    CHECK(run(b) == "[:1, +PONG, +OK, [$1, $text]]");
    CHECK(run(Nodes::KeyOf((range + 1) % kRanges)).starts_with("-CROSSSLOT"));
    CHECK(client.Do({"WATCH", b}) == "+OK");
    CHECK(run(b) == "[:2, +PONG, +OK, [$2, $text]]");
    CHECK(client.Do({"WATCH", a, b}) == "+OK");
    CHECK(other.Do({"SET", b, "text"}) == "+OK");
    CHECK(run(b) == "(nil)");
    CHECK(other.Do({"GET", a}) == "$2");
    CHECK(client.Do({"HELLO", "3"}).find("$mode, $cluster") != std::string::npos);
    CHECK(client.Do({"WATCH", a}) == "+OK");
    CHECK(other.Do({"DEL", a}) == ":1");
    CHECK(run(b) == "(nil)");
  }
}

TEST_CASE("a client of Redis Cluster is told the owners", "[node][cluster]") {
  const Nodes fleet;
  const auto owners = fleet.Owners();
  REQUIRE(owners.size() == 3);
  RespClient client(fleet.nodes[0]->port());
  const std::string own = owners.at(std::to_string(fleet.nodes[0]->port()));
  const std::string foreign = owners.at(std::to_string(fleet.nodes[1]->port()));
  CHECK(client.Do({"SET", foreign, "1"}) == "+OK");  // it has not asked yet
  CHECK(client.Do({"SET", own, "1"}) == "+OK");
  CHECK(client.Do({"CLUSTER", "KEYSLOT", "key"}) == ":12539");
  CHECK(client.Do({"CLUSTER", "INFO"}).find("cluster_slots_assigned:16384") != std::string::npos);
  CHECK(client.Do({"CLUSTER", "SHARDS"}).find(std::to_string(fleet.nodes[2]->port())) !=
        std::string::npos);
  CHECK(client.Do({"SET", foreign, "2"}) ==
        fmt::format("-MOVED {} 127.0.0.1:{}", redis::SlotOf(foreign), fleet.nodes[1]->port()));
  CHECK(client.Do({"SET", own, "2"}) == "+OK");
  // It asks all nodes for their keys.
  int sum = 0;
  for (const auto& node : fleet.nodes) {
    RespClient each(node->port());
    CHECK(each.Do({"DBSIZE"}) == ":2");
    CHECK(each.Do({"CLUSTER", "SLOTS"}).starts_with("["));
    sum += std::stoi(each.Do({"DBSIZE"}).substr(1));
  }
  CHECK(sum == 2);
  CHECK(RespClient(fleet.nodes[2]->port()).Do({"FLUSHALL"}) == "+OK");
  CHECK(RespClient(fleet.nodes[0]->port()).Do({"MGET", own, foreign}) == "[(nil), (nil)]");

  const NodeServer alone("memory:");
  CHECK(RespClient(alone.port())
            .Do({"CLUSTER", "SLOTS"})
            .starts_with("-ERR This instance has cluster support disabled"));
}

TEST_CASE("a forwarded command is never forwarded again", "[node][cluster]") {
  const Nodes fleet(2);
  const auto owners = fleet.Owners();
  const std::string foreign = owners.at(std::to_string(fleet.nodes[1]->port()));
  RespClient peer(fleet.nodes[0]->port());
  CHECK(peer.Do({"STOUT.PEER", "x"}).starts_with("-ERR"));
  CHECK(peer.Do({"STOUT.EXEC", "0", "1", "PING"}).starts_with("-ERR malformed"));
  CHECK(peer.Do({"STOUT.PEER", "1"}) == "+OK");
  CHECK(peer.Do({"SET", foreign, "1"}).starts_with("-MOVED"));
  // It does not wait until the node serves its own range under that epoch.
  const std::string port = std::to_string(fleet.nodes[0]->port());
  CHECK(peer.Do({"STOUT.PEER", "4611686018427387904"}) == "+OK");
  CHECK_THAT(peer.Do({"SET", owners.at(port), "1"}),
             Catch::StartsWith("-MOVED") && Catch::EndsWith(":" + port));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"x"},
                                             {"1"},
                                             {"1", "k"},
                                             {"1", "k", "1"},
                                             {"0", "0"},
                                             {"0", "9", "GET", "k"},
                                             {"0", "1", "PING"},
                                             {"0", "1", "DBSIZE"},
                                             {"18446744073709551615", "a", "b", "c"}}) {
    std::vector<std::string> command = {"STOUT.EXEC"};
    command.insert(command.end(), words.begin(), words.end());
    CHECK(peer.Do(command).starts_with("-ERR malformed"));
  }
}

TEST_CASE("a forwarded change is answered although there is no room for its reply",
          "[node][cluster]") {
  const Nodes fleet(2, {"--max-value", "4096", "--max-replies", "4096"});
  const std::string foreign = fleet.Owners().at(std::to_string(fleet.nodes[1]->port()));
  const std::string large(4000, 'x');
  const std::string small(30, 'y');
  RespClient client(fleet.nodes[0]->port());
  REQUIRE(client.Do({"SET", foreign, large}) == "+OK");
  REQUIRE(client.Do({"SET", foreign + "d", small}) == "+OK");
  client.Queue({"GET", foreign});
  client.Queue({"GETDEL", foreign + "d"});  // the owner has room for its value
  for (int i = 0; i < 3; ++i) client.Queue({"INCR", foreign + "n"});
  client.Queue({"MULTI"});
  client.Queue({"INCR", foreign + "n"});
  client.Queue({"GET", foreign + "n"});
  client.Queue({"EXEC"});
  client.Send("");
  CHECK(client.Receive() == "$" + large);
  CHECK(client.Receive() == "$" + small);
  for (int i = 1; i <= 3; ++i) CHECK(client.Receive() == fmt::format(":{}", i));
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "+QUEUED");
  CHECK(client.Receive() == "+QUEUED");
  CHECK(client.Receive().starts_with("[:4, "));  // the GET has no room, if all came at once
}

TEST_CASE("a forwarded command counts for its client's tenant", "[node][cluster][tenants]") {
  Nodes fleet(1);
  const int metrics = FreePort();
  const NodeServer& other = fleet.Add({"--metrics", fmt::format("127.0.0.1:{}", metrics)});
  CHECK(Eventually([&] { return fleet.Owners().size() == 2; }));
  const std::string foreign = fleet.Owners().at(std::to_string(other.port()));
  RespClient client(fleet.nodes[0]->port());
  client.Queue({"STOUT.TAG", "shop"});
  client.Queue({"GET", foreign});
  client.Queue({"STOUT.TAG", "reports"});
  client.Queue({"GET", foreign});
  client.Queue({"STOUT.TAG", "default"});
  client.Queue({"GET", foreign});
  client.Send("");
  const auto counted = [&](const std::string& tenant) {
    const std::string page =
        HttpClient(static_cast<std::uint16_t>(metrics)).Do("GET", "/metrics").body;
    return page.find(fmt::format("stout_node_tenant_hits_total{{tenant=\"{}\"", tenant)) !=
           std::string::npos;
  };
  CHECK(Eventually([&] { return counted("shop") && counted("reports") && counted("default"); }));
}

TEST_CASE("redis-py works, also as a client of Redis Cluster", "[node][cluster][not_tsan]") {
  const Nodes fleet;
  std::vector<std::string> command = {"/usr/bin/python3", STOUT_INTEGRATION "/redis_py.py", "{}"};
  for (const auto& node : fleet.nodes) command.push_back(std::to_string(node->port()));
  CHECK(RunToEnd(command).find("passed") != std::string::npos);
}

// Goal: clients of the other nodes notice nothing of a planned end.
TEST_CASE("a node that ends hands its ranges over", "[node][cluster]") {
  Nodes fleet(2);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::array<std::atomic<int>, 3> counts{};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    threads.emplace_back([&, i] {
      RespClient client(fleet.nodes[0]->port());
      while (!stop) {
        const int range = counts[i] % kRanges;
        const int times = counts[i]++ / kRanges + 1;
        const std::string reply = client.Do({"INCR", Nodes::KeyOf(range, std::to_string(i))});
        wrong += reply != fmt::format(":{}", times);
      }
    });
  }
  CHECK(Eventually([&] { return counts[0] > 100; }));
  // ThreadSanitizer holds signals from outside back.
  RespClient(fleet.nodes[1]->port()).Send("SHUTDOWN\r\n");
  CHECK(Eventually([&] { return !fleet.nodes[1]->Up(); }));
  CHECK(fleet.nodes[1]->Log().find("ended with exit code 0") != std::string::npos);
  fleet.nodes[1]->Start();
  CHECK(Eventually([&] { return fleet.Owners().size() == 2; }));
  stop = true;
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("a range of a shared store is moved to a node and stays there", "[node][cluster]") {
  Nodes fleet(2);
  const std::string first = fmt::format("127.0.0.1:{}", fleet.nodes[0]->port());
  const std::string second = fmt::format("127.0.0.1:{}", fleet.nodes[1]->port());
  const std::vector<std::size_t> owners = RightfulOwners({first, second}, kRanges);
  const int range = static_cast<int>(std::find(owners.begin(), owners.end(), 0U) - owners.begin());
  const std::string key = Nodes::KeyOf(range);
  RespClient client(fleet.nodes[0]->port());
  REQUIRE(client.Do({"SET", key, "1"}) == "+OK");
  (void)client.Do({"CLUSTER", "SLOTS"});
  const auto comes = [&] { return Eventually([&] { return client.Do({"GET", key}) == "$1"; }); };
  const auto goes = [&] {
    const std::string moved = fmt::format("-MOVED {} {}", redis::SlotOf(key), second);
    return Eventually([&] { return client.Do({"GET", key}) == moved; });
  };
  const auto move = [&](const std::string& owner) {
    return client.Do({"STOUT.MOVE", std::to_string(range), owner});
  };
  CHECK(comes());
  CHECK(move(second) == "+OK");
  CHECK(goes());
  RespClient(fleet.nodes[1]->port()).Send("SHUTDOWN\r\n");
  CHECK(Eventually([&] { return !fleet.nodes[1]->Up(); }));
  CHECK(comes());
  CHECK(move(second) ==
        fmt::format("-ERR no node has the address '{}' now: see CLUSTER NODES", second));
  fleet.nodes[1]->Start();
  CHECK(goes());
  CHECK(move("auto") == "+OK");
  CHECK(comes());
  const NodeServer alone("memory:");
  CHECK(RespClient(alone.port()).Do({"STOUT.MOVE", "0", first}) ==
        "-ERR this node is alone: start it and others with --join");
}

TEST_CASE("a node that is killed or stopped is replaced when its lease ends", "[node][cluster]") {
  Nodes fleet(2);
  RespClient client(fleet.nodes[0]->port());
  const std::string foreign = fleet.Owners().at(std::to_string(fleet.nodes[1]->port()));
  REQUIRE(client.Do({"SET", foreign, "before"}) == "+OK");
  const bool stop = GENERATE(false, true);
  stop ? fleet.nodes[1]->Signal(SIGSTOP) : fleet.nodes[1]->Kill();
  // While the node has the lease, and does not answer, no other does.
  const auto becomes = [](const NodeServer& node, const std::vector<std::string>& command,
                          const std::string& reply) {
    return Eventually([&] {
      try {
        return RespClient(node.port()).Do(command) == reply;
      } catch (const std::runtime_error&) {
        return false;
      }
    });
  };
  CHECK(becomes(*fleet.nodes[0], {"GET", foreign}, "$before"));
  CHECK(becomes(*fleet.nodes[0], {"SET", foreign, "after"}, "+OK"));
  if (stop) {
    fleet.nodes[1]->Signal(SIGCONT);
  } else {
    fleet.nodes[1]->Start();
  }
  CHECK(becomes(*fleet.nodes[1], {"GET", foreign}, "$after"));
}

TEST_CASE("a node that cannot join says why and ends", "[node][cluster]") {
  const EtcdServer etcd;
  const RedisServer redis;
  const TempDirectory directory;
  const auto run = [&](const std::string& store, const std::string& ranges) {
    return RunToEnd({"sh", "-c",
                     fmt::format("timeout 20 {} --listen 127.0.0.1:0 --store '{}' --join "
                                 "etcd://127.0.0.1:{}/kv --ranges {} 2>&1 || true",
                                 STOUT_NODE, store, etcd.port(), ranges)});
  };
  const std::string url = fmt::format("redis://127.0.0.1:{}", redis.port());
  CHECK(run("memory:", "8").find("--join needs a --store that all nodes can reach") !=
        std::string::npos);
  CHECK(run(url + "?mode=plain", "8").find("--join needs a store with fences") !=
        std::string::npos);
  const NodeServer node(
      url, {"--join", fmt::format("etcd://127.0.0.1:{}/kv", etcd.port()), "--ranges", "8"});
  CHECK(run(url, "16").find("the lease service refuses this node") != std::string::npos);
}

}  // namespace
}  // namespace stout::test
