// Goal: in mode aa+ec every node takes writes of every key, also while the nodes are cut apart, and
// the members become equal. The way back to ms+sc loses nothing that was answered.
// Method: as in node_members_test.cc.

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

constexpr int kSharedKeys = 20;

std::string SharedKey(int i) { return fmt::format("key{}", i); }

// No node reaches another one's datalet.
void CutApart(MemberNodes& nodes, bool apart) {
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    nodes.way_to(node).Behave({.refuse = apart});
    if (apart) nodes.way_to(node).Cut();
  }
}

bool AllShow(MemberNodes& nodes, const std::string& key, const std::string& reply) {
  for (const int port : nodes.ports()) {
    if (MemberNodes::Ask(port, {"GET", key}) != reply) return false;
  }
  return true;
}

TEST_CASE("nodes that are cut apart write the same keys, and become equal",
          "[node][members][active][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "10s"});
  const auto ports = nodes.ports();
  REQUIRE(MemberNodes::Ask(ports[0], {"SET", SharedKey(0), "before"}) == "+OK");
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  const auto write = [&](std::size_t node, const std::string& key, const std::string& value) {
    CHECK(nodes.Await([&] {  // the node may not have opened the range yet
      return MemberNodes::Ask(ports[node], {"SET", key, value}) == "+OK";
    }));
  };
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    write(node, SharedKey(1), "warm");
    const std::string status = MemberNodes::Ask(ports[node], {"STOUT.STATUS"});
    CHECK_THAT(status, Catch::Contains(R"("mode":"aa+ec")"));
    CHECK_THAT(status, !Catch::Contains(R"("state":"out")"));
  }
  CutApart(nodes, true);
  for (int i = 0; i < kSharedKeys; ++i) {
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      write(node, SharedKey(i), fmt::format("{}-{}", node, i));
    }
  }
  write(0, "deleted", "soon");
  CHECK(MemberNodes::Ask(ports[0], {"DEL", "deleted"}) == ":1");
  write(1, "only", "here");
  CHECK(MemberNodes::Ask(ports[1], {"GET", SharedKey(3)}) == "$1-3");
  CutApart(nodes, false);
  CHECK(nodes.Await([&] {
    for (int i = 0; i < kSharedKeys; ++i) {
      if (!AllShow(nodes, SharedKey(i), fmt::format("$2-{}", i))) return false;
    }
    return AllShow(nodes, "only", "$here") && AllShow(nodes, "deleted", "(nil)");
  }));
  CHECK(nodes.Fault().empty());
}

TEST_CASE("no write is refused while the mode becomes aa+ec", "[node][members][active]") {
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "20s", .reply_deadline = "8s"});
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> done = 0;
  std::mutex mutex;
  std::set<std::string> refusals;
  std::vector<std::jthread> threads;
  const std::shared_ptr<void> stops(nullptr,
                                    [&](void*) { stop = true; });  // before they are joined
  for (const int port : nodes.ports()) {
    threads.emplace_back([&, port] {
      RespClient client(port);
      for (std::size_t i = 0; !stop; ++i, ++done) {
        const std::string reply = client.Do({"SET", KeyOf(i % MemberNodes::kRanges), "1"});
        if (reply == "+OK") continue;
        const std::lock_guard lock(mutex);
        refusals.insert(reply);
      }
    });
  }
  CHECK(nodes.Await([&] { return done > 200; }));
  CHECK(nodes.ChangeMode(ReplicationMode::kAaEc));
  const std::size_t changed = done;
  CHECK(nodes.Await([&] { return done > changed + 200; }));
  stop = true;
  threads.clear();
  CHECK(refusals == std::set<std::string>());
  CHECK(nodes.Fault().empty());
}

TEST_CASE("STOUT.RANGE is refused in aa+ec on connections with strong reads",
          "[node][members][active]") {
  MemberNodes nodes;
  RespClient client(nodes.ports()[0]);
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK(client.Do({"STOUT.LEVEL", "READ", "strong"}) == "+OK");
  CHECK(client.Do({"STOUT.RANGE", "", ""}) == "[$, [$k]]");
  std::deque<RespClient> writers;
  for (const int port : nodes.ports()) {
    CHECK(writers.emplace_back(port).Do({"STOUT.LEVEL", "READ", "strong"}) == "+OK");
  }
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  std::string answer;
  const auto passes = [&] { return !answer.starts_with("-TRYAGAIN"); };
  CHECK(nodes.Await([&] { return answer = client.Do({"STOUT.RANGE", "", ""}), passes(); }));
  CHECK_THAT(answer, Catch::StartsWith("-ERR in mode aa+ec"));
  RespClient other(nodes.ports()[0]);
  CHECK(nodes.Await([&] { return answer = other.Do({"STOUT.RANGE", "", ""}), passes(); }));
  CHECK(answer == "[$, [$k]]");
  for (std::size_t i = 0; i < writers.size(); ++i) {  // whichever node has the key
    CHECK(nodes.Await([&] { return answer = writers[i].Do({"INCR", "n"}), passes(); }));
    CHECK(answer == fmt::format(":{}", i + 1));
  }
  CHECK(nodes.Fault().empty());
}

TEST_CASE("what a node had not sent when it was killed is not lost with its datalet back",
          "[node][members][active][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "3s"});
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  const int port = nodes.ports()[0];
  CHECK(nodes.Await([&] { return MemberNodes::Ask(port, {"SET", "k", "1"}) == "+OK"; }));
  CHECK(nodes.Await([&] { return AllShow(nodes, "k", "$1"); }));
  CutApart(nodes, true);
  CHECK(nodes.Await([&] { return MemberNodes::Ask(port, {"SET", "k", "2"}) == "+OK"; }));
  nodes.program(0).Signal(SIGKILL);
  CutApart(nodes, false);
  CHECK(nodes.Await([&] { return AllShow(nodes, "k", "$2"); }));
  CHECK(nodes.Fault().empty());
}

TEST_CASE("a write that only a member which is away has outlives the mode",
          "[node][members][active][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "3s"});
  const auto ports = nodes.ports();
  const auto awaits = [&] {
    return MemberNodes::Ask(ports[0], {"STOUT.STATUS"}).find(R"("awaits")") != std::string::npos;
  };
  const auto own = [](std::size_t node) { return fmt::format("own{}", node); };
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  CutApart(nodes, true);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    CHECK(nodes.Await([&] {  // the node may not have opened the range yet
      return MemberNodes::Ask(ports[node], {"SET", own(node), "kept"}) == "+OK";
    }));
  }
  CHECK(nodes.ChangeMode(ReplicationMode::kMsEc));
  CHECK(nodes.Await(awaits));
  CutApart(nodes, false);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    CHECK(nodes.Await([&] { return AllShow(nodes, own(node), "$kept"); }));
  }
  CHECK(nodes.Await([&] { return !awaits(); }));
  CHECK(nodes.Fault().empty());
}

// Otherwise maps of other nodes would write to the former members, and a client's answer could be
// for a write that no member in sync has.
TEST_CASE("STOUT.FORCE is refused while all nodes write the range",
          "[node][members][active][not_tsan]") {
  MemberNodes nodes;
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  std::string answer;
  CHECK(nodes.Await([&] {
    for (const int port : nodes.ports()) {
      answer = MemberNodes::Ask(port, {"STOUT.FORCE", "0", nodes.address(1)});
      const bool is_owner = answer.find("ask node") == std::string::npos;
      if (is_owner && !answer.starts_with("-TRYAGAIN")) return true;
    }
    return false;
  }));
  CHECK_THAT(answer, Catch::StartsWith("-ERR all nodes write this range"));
  CHECK(nodes.AwaitMembers(3));
}

TEST_CASE("commands that depend on what they read are atomic among themselves",
          "[node][members][active]") {
  MemberNodes nodes;
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  const auto ports = nodes.ports();
  CHECK(nodes.Await([&] { return AllShow(nodes, "n", "(nil)"); }));
  std::vector<std::jthread> threads;
  std::mutex mutex;
  int done = 0;
  int unknown = 0;
  std::set<std::string> refusals;
  for (const int port : ports) {
    threads.emplace_back([&, port] {
      RespClient client(port);
      for (int i = 0; i < 50; ++i) {
        const std::string reply = client.Do({"INCR", "n"});
        const std::lock_guard lock(mutex);
        if (reply.starts_with(":")) {
          ++done;
        } else if (reply.starts_with("-UNKNOWN")) {
          ++unknown;
        } else {
          refusals.insert(reply);
        }
      }
    });
  }
  threads.clear();
  CHECK(done > 100);  // of 150
  std::set<std::string> shown;
  const bool equal = nodes.Await([&] {
    shown.clear();
    for (const int port : ports) shown.insert(MemberNodes::Ask(port, {"GET", "n"}));
    if (shown.size() != 1 || !shown.begin()->starts_with("$")) return false;
    const int sum = std::stoi(shown.begin()->substr(1));
    return sum >= done && sum <= done + unknown;
  });
  CAPTURE(done, unknown, refusals, shown);
  CHECK(equal);

  RespClient client(ports[0]);
  CHECK(client.Do({"STOUT.LEVEL"}) == "$READ mode WRITE mode");
  CHECK(client.Do({"STOUT.LEVEL", "READ", "strong"}).starts_with("-ERR in mode aa+ec"));
  CHECK(client.Do({"STOUT.LEVEL", "READ", "relaxed", "STALENESS", "9"})
            .starts_with("-ERR in mode aa+ec"));
  CHECK(client.Do({"STOUT.LEVEL", "WRITE", "all"}) == "+OK");
  CHECK(client.Do({"SET", "n", "5"}) == "+OK");
  CHECK(AllShow(nodes, "n", "$5"));
  CHECK(client.Do({"WAIT", "1", "0"}).starts_with("-ERR WAIT does not work in mode aa+ec"));
  CHECK(client.Do({"STOUT.DATALET", "ADD", "postgres://nowhere/db", "x", "LAZY"})
            .starts_with("-ERR in mode aa+ec"));
  CHECK(nodes.Fault().empty());
}

TEST_CASE("commands that are sent together see what other nodes have written",
          "[node][members][active]") {
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "20s"});
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  std::vector<std::unique_ptr<RespClient>> clients;
  for (const int port : nodes.ports()) {
    RespClient& client = *clients.emplace_back(std::make_unique<RespClient>(port));
    CHECK(client.Do({"STOUT.LEVEL", "WRITE", "all"}) == "+OK");
    CHECK(nodes.Await([&] {  // the node may not have opened the range yet, or not all its members
      return client.Do({"SET", "n", "1"}) == "+OK";
    }));
  }
  RespClient& client = *clients[0];
  for (std::size_t node = 0; node < nodes.size(); ++node) {  // one of them owns the range
    CAPTURE(node);
    const std::size_t value = 100 * (node + 1);
    CHECK(clients[node]->Do({"SET", "n", std::to_string(value)}) == "+OK");
    for (int i = 0; i < 2; ++i) client.Queue({"INCR", "n"});
    CHECK(client.Receive() == fmt::format(":{}", value + 1));
    CHECK(client.Receive() == fmt::format(":{}", value + 2));
  }

  // A node remembers as well that a key does not exist.
  const std::vector<std::string> set = {"MSET", "{n}a", "1", "{n}b", "1"};
  CHECK(client.Do({"DEL", "{n}a", "{n}b"}) == ":0");
  CHECK(clients[1]->Do(set) == "+OK");
  CHECK(client.Do({"DEL", "{n}a", "{n}b"}) == ":2");
  CHECK(clients[1]->Do(set) == "+OK");
  CHECK(client.Do({"FLUSHALL"}) == "+OK");
  CHECK(nodes.Await([&] { return AllShow(nodes, "{n}a", "(nil)"); }));
  CHECK(nodes.Fault().empty());
}

TEST_CASE("after the way back to ms+sc, strong reads show what was answered",
          "[node][members][active]") {
  MemberNodes nodes({.lease_ttl = "10s", .member_timeout = "10s", .reply_deadline = "8s"});
  REQUIRE(nodes.ChangeMode(ReplicationMode::kAaEc));
  const auto ports = nodes.ports();
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  std::vector<int> answered(ports.size(), 0);
  std::atomic<int> answers = 0;
  std::mutex mutex;
  std::map<std::string, int> others;  // other answers
  for (std::size_t node = 0; node < ports.size(); ++node) {
    threads.emplace_back([&, node] {
      RespClient client(ports[node]);
      for (int i = 1; !stop; ++i) {
        const std::string key = fmt::format("node{}", node);
        const std::string reply = client.Do({"SET", key, std::to_string(i)});
        if (reply != "+OK") {
          const std::lock_guard lock(mutex);
          ++others[reply];
          continue;
        }
        answered[node] = i;
        ++answers;
      }
    });
  }
  CHECK(Eventually([&] { return answers > 100; }));
  CHECK(nodes.ChangeMode(ReplicationMode::kMsSc));
  stop = true;
  threads.clear();
  for (const auto& [reply, count] : others) {  // of writes that were under way
    CAPTURE(reply, count);
    CHECK_THAT(reply, Catch::StartsWith("-UNKNOWN"));
    CHECK(count <= 3);  // one client is at each node
  }
  for (std::size_t node = 0; node < ports.size(); ++node) {
    CHECK(answered[node] > 0);
    const std::string key = fmt::format("node{}", node);
    const std::string shown = MemberNodes::Ask(ports[(node + 1) % ports.size()], {"GET", key});
    CHECK(std::stoi(shown.substr(1)) >= answered[node]);
  }
  CHECK(MemberNodes::Ask(ports[0], {"STOUT.LEVEL", "READ", "strong"}) == "+OK");
  CHECK(nodes.Fault().empty());
}

}  // namespace
}  // namespace stout::test
