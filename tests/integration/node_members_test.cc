// Goal: nodes whose ranges are kept on several datalets lose no acknowledged write and stay
// linearizable in ms+sc, whatever happens to nodes, datalets, links and the coordinator.
// Method: real processes. Clients write and read a few keys by any node, and record what they see.
// Meanwhile events come in a fixed order. A checker that knows nothing of nodes judges the history.

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stout/adapters/hash_slot.h"
#include "stout/clock.h"
#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("every key is right through every node, whichever node owns it", "[node][members]") {
  MemberNodes nodes;
  std::vector<std::unique_ptr<RespClient>> clients;
  for (const int port : nodes.ports()) clients.push_back(std::make_unique<RespClient>(port));
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) {
    const std::string key = KeyOf(range);
    CAPTURE(key);
    CHECK(clients[0]->Do({"SET", key, "5"}) == "+OK");
    CHECK(clients[1]->Do({"INCR", key}) == ":6");
    CHECK(clients[2]->Do({"GET", key}) == "$6");
    CHECK(clients[2]->Do({"APPEND", key, "x"}) == ":2");
    CHECK(clients[0]->Do({"GETDEL", key}) == "$6x");
    CHECK(clients[1]->Do({"GET", key}) == "(nil)");
  }
  CHECK(clients[0]->Do({"GET", "stout:x"}) ==
        "-ERR keys that begin with 'stout:' belong to the members");
  CHECK(clients[0]->Do({"MSET", "{stout:x}", "1"}) == "+OK");
  CHECK(nodes.Fault().empty());
  std::ofstream(nodes.logs() + "/bad.log") << "==1==ERROR: AddressSanitizer: heap-use-after-free";
  CHECK_FALSE(nodes.Fault().empty());  // or the checks of other tests see nothing
}

TEST_CASE("a client of Redis Cluster is told the owners of ranges with members",
          "[node][members][not_tsan]") {
  MemberNodes nodes;
  RespClient client(nodes.ports()[0]);
  REQUIRE(client.Do({"CLUSTER", "SLOTS"}).starts_with("["));
  const LeaseTable leases = nodes.view().leases();
  std::set<std::string> owners;
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) {
    const std::string key = KeyOf(range);
    CAPTURE(key);
    const std::string owner = leases.ranges[range]->address;
    owners.insert(owner);
    CHECK(client.Do({"SET", key, "1"}) ==
          (owner == nodes.address(0) ? "+OK"
                                     : fmt::format("-MOVED {} {}", redis::SlotOf(key), owner)));
  }
  CHECK(owners.size() > 1);
}

TEST_CASE("an owner that is killed loses no write", "[node][members][not_tsan]") {
  MemberNodes nodes;
  CheckRun(RunUnderLoad(nodes, "owner-killed", [&](const LoadThreads& load) {
    REQUIRE_FALSE(nodes.view().RangesOf(nodes.address(0)).empty());
    nodes.program(0).Kill();
    CHECK(nodes.Await([&] {
      return nodes.view().RangesOf(nodes.address(0)).empty() && nodes.view().SomeLack(3);
    }));
    CHECK(Progress(nodes, load, 300));
    nodes.program(0).Start();
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  }));
}

TEST_CASE("a member that stands still leaves, and is filled when it goes on",
          "[node][members][not_tsan]") {
  MemberNodes nodes;
  CheckRun(RunUnderLoad(nodes, "member-stopped", [&](const LoadThreads& load) {
    nodes.program(1).Signal(SIGSTOP);
    CHECK(nodes.Await([&] { return nodes.view().SomeLack(3); }));
    CHECK(Progress(nodes, load, 20));  // clients wait long for the node that stands still
    nodes.program(1).Signal(SIGCONT);
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  }));
}

TEST_CASE("an owner that stands still for less than its lease drops no member",
          "[node][members][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "4s"});
  CheckRun(RunUnderLoad(nodes, "owner-stopped", [&](const LoadThreads& load) {
    const std::vector<RangeId> own = nodes.view().RangesOf(nodes.address(0));
    REQUIRE_FALSE(own.empty());
    const TimePoint before = UnixTime();
    nodes.program(0).Signal(SIGSTOP);
    std::this_thread::sleep_for(6s);  // the fault is a time
    nodes.program(0).Signal(SIGCONT);
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
    const RegistryTable records = nodes.view().records();
    for (const RangeId range : own) {
      for (const RangeRecord::Member& member : records.sets.at(range).value.members) {
        CAPTURE(range, member.datalet);
        CHECK(member.in);
        CHECK(member.since < before);
      }
    }
  }));
}

// A command that reaches the owner while it stands still must not be answered from its memory.
TEST_CASE("an owner that stands still for twice its lease has another one when it goes on",
          "[node][members][not_tsan]") {
  MemberNodes nodes;
  CheckRun(RunUnderLoad(nodes, "owner-outlived", [&](const LoadThreads& load) {
    const std::vector<RangeId> own = nodes.view().RangesOf(nodes.address(0));
    REQUIRE_FALSE(own.empty());
    const std::string key = KeyOf(own.front());
    const auto set = [&](std::size_t node, const std::string& value) {
      return MemberNodes::Ask(nodes.ports()[node], {"SET", key, value}) == "+OK";
    };
    REQUIRE(set(0, "former"));
    RespClient waiting(nodes.ports()[0]);
    REQUIRE(waiting.Do({"GET", key}) == "$former");
    const auto begin = std::chrono::steady_clock::now();
    nodes.program(0).Signal(SIGSTOP);
    CHECK(nodes.Await([&] { return set(1, "latter"); }));
    waiting.Queue({"GET", key});
    waiting.Send("");
    std::this_thread::sleep_until(begin + 4s);  // the fault is a time: twice the ttl
    nodes.program(0).Signal(SIGCONT);
    const std::string reply = waiting.Receive();
    CAPTURE(reply);
    CHECK((reply == "$latter" || reply.starts_with("-TRYAGAIN")));
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  }));
}

TEST_CASE("a node that comes back is filled, and then has all by itself",
          "[node][members][not_tsan]") {
#ifdef STOUT_HAS_ROCKSDB
  const bool wiped = GENERATE(false, true);
#else
  const bool wiped = true;
#endif
  CAPTURE(wiped);
  MemberNodes nodes;
  const auto events = [&](const LoadThreads& load) {
    nodes.program(1).Kill();
    if (wiped) {
      nodes.Wipe(1);
    } else {
      CHECK(nodes.Await([&] { return nodes.view().SomeLack(3); }));
      CHECK(Progress(nodes, load, 100));
    }
    const TimePoint start = UnixTime();
    nodes.program(1).Start();
    CHECK(nodes.Await([&] {
      return nodes.view().AllHave(3) &&
             (!wiped || nodes.view().RangesWith(nodes.address(1), start) == MemberNodes::kRanges);
    }));
    CHECK(Progress(nodes, load, 100));
    nodes.program(0).Kill();
    nodes.program(2).Kill();
  };
  CheckRun(RunUnderLoad(nodes, "returned", events, {nodes.program(1).port()}));
}

TEST_CASE("clients do not notice that etcd pauses for less than the ttl",
          "[node][members][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "6s", .member_timeout = "5s"});
  const MemberRun run = RunUnderLoad(nodes, "etcd-paused", [&](const LoadThreads& load) {
    nodes.etcd().Signal(SIGSTOP);
    CHECK(Progress(nodes, load, 200));
    std::this_thread::sleep_for(1s);  // the fault is a time
    nodes.etcd().Signal(SIGCONT);
    CHECK(Progress(nodes, load, 200));
  });
  CheckRun(run);
  CHECK(run.failed == 0);
}

TEST_CASE("writes do not wait for a node that has ended as it should",
          "[node][members][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "3s", .member_timeout = "20s"});
  nodes.program(2).Signal(SIGTERM);
  REQUIRE(Eventually([&] { return !nodes.program(2).Running(); }));
  // Far sooner than after the timeout: at the deadline of the replies.
  for (RangeId range = 0; range < MemberNodes::kRanges; ++range) {
    CHECK(MemberNodes::Ask(nodes.program(0).port(), {"SET", KeyOf(range), "1"}) == "+OK");
  }
}

TEST_CASE("a node that others cannot reach leaves, and is filled later",
          "[node][members][not_tsan]") {
  MemberNodes nodes;
  CheckRun(RunUnderLoad(nodes, "cut", [&](const LoadThreads& load) {
    nodes.way_to(2).Behave({.refuse = true});
    nodes.way_to(2).Cut();
    CHECK(nodes.Await([&] { return nodes.view().SomeLack(3); }));
    CHECK(Progress(nodes, load, 100));
    nodes.way_to(2).Behave({});
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  }));
}

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("a member whose disk is full leaves, and is filled when there is room again",
          "[node][members][not_tsan]") {
  MemberNodes nodes;
  CheckRun(RunUnderLoad(nodes, "full", [&](const LoadThreads& load) {
    nodes.program(0).FillDisk(true);
    CHECK(nodes.Await([&] { return nodes.view().SomeLack(3); }));
    CHECK(Progress(nodes, load, 100));
    nodes.program(0).FillDisk(false);
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  }));
}
#endif

TEST_CASE("the mode changes under load, and no request is refused", "[node][members]") {
  // Nothing but the mode is to change, also on a busy machine.
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "20s"});
  const MemberRun run = RunUnderLoad(nodes, "mode", [&](const LoadThreads& load) {
    for (int i = 0; i < 2; ++i) {
      CHECK(nodes.ChangeMode(ReplicationMode::kMsEc));
      CHECK(Progress(nodes, load, 200));
      CHECK(nodes.ChangeMode(ReplicationMode::kMsSc));
      CHECK(Progress(nodes, load, 200));
    }
    CHECK(MemberNodes::Ask(nodes.ports()[1], {"STOUT.MODE", "none"}).starts_with("-ERR"));
  });
  // No owner changed, so even ms+ec is linearizable.
  CheckRun(run);
  CHECK(run.failed == 0);
}

TEST_CASE("only writes are refused while fewer members are in than --min-in",
          "[node][members][not_tsan]") {
  MemberNodes nodes({.min_in = 2});
  const int port = nodes.program(0).port();
  const std::vector<RangeId> own = nodes.view().RangesOf(nodes.address(0));
  REQUIRE_FALSE(own.empty());
  const std::string key = KeyOf(own.front());
  const std::string other_key = key + "2";
  REQUIRE(MemberNodes::Ask(port, {"SET", key, "before"}) == "+OK");
  REQUIRE(MemberNodes::Ask(port, {"SET", other_key, "kept"}) == "+OK");
  for (const std::size_t other : {1, 2}) nodes.program(other).Kill();
  std::string reply;
  CHECK(Eventually([&] {
    reply = MemberNodes::Ask(port, {"SET", key, "after"});
    return reply.starts_with("-NOREPLICAS not done");
  }));
  CAPTURE(reply);
  CHECK(MemberNodes::Ask(port, {"GET", other_key}) == "$kept");
  CHECK(MemberNodes::Ask(port, {"GET", key}).starts_with('$'));      // a write was under way
  CHECK(MemberNodes::Ask(port, {"SETNX", other_key, "x"}) == ":0");  // it changes nothing
  nodes.program(1).Start();
  CHECK(nodes.Await([&] { return MemberNodes::Ask(port, {"SET", key, "after"}) == "+OK"; }));
}

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("STOUT.FORCE goes on with what a member has, and only where it is asked to",
          "[node][members][not_tsan]") {
  const bool wiped = GENERATE(false, true);
  CAPTURE(wiped);
  MemberNodes nodes;
  const auto ask = [&](const std::vector<std::string>& command) {
    return MemberNodes::Ask(nodes.program(2).port(), command);
  };
  for (const RangeId range : {0, 1}) REQUIRE(ask({"SET", KeyOf(range), "old"}) == "+OK");
  nodes.program(2).Kill();
  REQUIRE(nodes.AwaitMembers(2));
  REQUIRE(MemberNodes::Ask(nodes.program(0).port(), {"SET", KeyOf(0), "new"}) == "+OK");
  for (const std::size_t lost : {0, 1}) nodes.program(lost).Kill();
  if (wiped) nodes.Wipe(2);
  nodes.program(2).Start();
  const auto force = [&](const std::string& id, const std::string& answer) {
    return Eventually([&] { return ask({"STOUT.FORCE", "0", id}).starts_with(answer); });
  };
  CHECK(force("none", "-ERR the range has no such member"));
  CHECK(ask({"GET", KeyOf(0)}).starts_with("-"));
  if (wiped) {
    CHECK(force(nodes.address(2), "-ERR that member came back empty"));
    return;
  }
  CHECK(force(nodes.address(2), "+OK"));
  CHECK(Eventually([&] { return ask({"GET", KeyOf(0)}) == "$old"; }));
  CHECK(ask({"SET", KeyOf(0), "newer"}) == "+OK");
  CHECK(ask({"GET", KeyOf(1)}).starts_with("-"));
}
#endif

TEST_CASE("a datalet that is removed while others lack its data still serves nodes that restart",
          "[node][members][not_tsan]") {
  RedisServer redis;
  MemberNodes nodes({.datalets = {"memory:", "memory:", redis.Url("timeout=1s")}});
  std::string id;
  for (const auto& [each, datalet] : nodes.view().records().datalets) {
    if (datalet.value.node.empty()) id = each;
  }
  const auto ask = [&](const std::vector<std::string>& command) {
    return MemberNodes::Ask(nodes.program(0).port(), command);
  };
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) {
    REQUIRE(ask({"SET", KeyOf(range), fmt::format("v{}", range)}) == "+OK");
  }
  nodes.program(1).Kill();
  REQUIRE(nodes.Await([&] { return nodes.view().AllHave(2); }));
  CHECK(ask({"STOUT.DATALET", "REMOVE", id}) == "+OK");
  // It alone survives. The third node brings it again, and does not undo the removal.
  for (const std::size_t node : {0, 2}) nodes.program(node).Kill();
  for (const std::size_t node : {0, 1, 2}) nodes.program(node).Start();
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) {
    CAPTURE(range);
    const std::string value = fmt::format("$v{}", range);
    CHECK(nodes.Await([&] { return ask({"GET", KeyOf(range)}) == value; }));
  }
  CHECK(nodes.Await([&] { return !nodes.view().records().datalets.contains(id); }));
  CHECK(nodes.AwaitMembers(2));
  redis.Kill();
  CHECK(ask({"GET", KeyOf(7)}) == "$v7");
  CHECK(nodes.view().records().datalets.size() == 2);
  CHECK(nodes.Fault().empty());
}

// One client of one node, which records what it sees.
class Recorder {
 public:
  explicit Recorder(std::string key) : key_(std::move(key)) {}

  // The outcome is kUnknown unless the reply says success.
  bool Set(int port, const std::string& value) {
    Operation op{.op = Operation::Kind::kSet, .key = key_, .value = value};
    return Do(port, {"SET", key_, value}, std::move(op)) == "+OK";
  }
  bool Get(int port) {
    Operation op{.op = Operation::Kind::kGet, .key = key_};
    const std::string reply = Do(port, {"GET", key_}, std::move(op));
    return reply == "(nil)" || reply.starts_with('$');
  }
  [[nodiscard]] const std::vector<Operation>& history() const { return history_; }

 private:
  std::string Do(int port, const std::vector<std::string>& command, Operation op) {
    op.call_ns = ChaosNow();
    std::string reply = MemberNodes::Ask(port, command);
    op.return_ns = ChaosNow();
    const bool ok = reply == "+OK" || reply == "(nil)" || reply.starts_with('$');
    op.outcome = ok ? Operation::Outcome::kOk : Operation::Outcome::kUnknown;
    if (ok && op.op == Operation::Kind::kGet && reply != "(nil)") op.value = reply.substr(1);
    history_.push_back(std::move(op));
    return reply;
  }

  const std::string key_;
  std::vector<Operation> history_;
};

// Goal: the checks above would see a lost write. Method: an owner dies with a write that it could
// not send to the other members. ms+ec has answered it, ms+sc has not.
TEST_CASE("a write that only the dead owner had is lost in ms+ec, which is found out",
          "[node][members][not_tsan]") {
  const bool weak = GENERATE(true, false);
  CAPTURE(weak);
  MemberNodes nodes({.member_timeout = "6s"});
  if (weak) REQUIRE(nodes.ChangeMode(ReplicationMode::kMsEc));
  const std::vector<RangeId> ranges = nodes.view().RangesOf(nodes.address(0));
  REQUIRE_FALSE(ranges.empty());
  Recorder client(KeyOf(ranges.front()));
  REQUIRE(client.Set(nodes.program(0).port(), "first"));
  REQUIRE(client.Get(nodes.program(1).port()));
  for (const std::size_t other : {1, 2}) {
    nodes.way_to(other).Behave({.refuse = true});
    nodes.way_to(other).Cut();
  }
  CHECK(client.Set(nodes.program(0).port(), "second") == weak);
  nodes.program(0).Kill();
  for (const std::size_t other : {1, 2}) nodes.way_to(other).Behave({});
  CHECK(Eventually([&] { return client.Get(nodes.program(1).port()); }));
  const Judgement judgement = JudgeHistory(client.history());
  CAPTURE(judgement.reason);
  CHECK(judgement.verdict ==
        (weak ? Judgement::Verdict::kViolated : Judgement::Verdict::kLinearizable));
}

}  // namespace
}  // namespace stout::test
