// Goal and method as in node_members_test.cc, with datalets of several kinds, and with faults of a
// seeded schedule that overlap.
//
// STOUT_CHAOS_SECONDS: duration of the faults (10). STOUT_CHAOS_SEED: seed of the schedule and of
// the operations (1). A run that fails leaves its history and logs in the working directory.

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/integration/fault_schedule.h"
#include "tests/integration/member_nodes.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/rounds.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Step = FaultSchedule::Step;

constexpr char kTimeouts[] = "timeout=1s&connect_timeout=1s";

TEST_CASE("a range has datalets of four kinds, and outlives two of them",
          "[node][members][not_tsan]") {
  RedisServer redis({"--appendonly", "no"});
  PostgresServer postgres;
  BlowfishServer blowfish(2);
  const std::string watched = std::string(kTimeouts) + "&detect_loss=true";
  MemberNodes nodes({.datalets = {"memory:", redis.Url(watched), postgres.Url(kTimeouts),
                                  blowfish.Url(kTimeouts)}});
  CheckRun(RunUnderLoad(nodes, "kinds", [&](const LoadThreads& load) {
    nodes.program(0).Kill();  // both lose all that they had
    redis.Kill();
    CHECK(nodes.Await([&] { return nodes.view().SomeLack(3); }));
    CHECK(Progress(nodes, load, 200));
    redis.Start();
    nodes.program(0).Start();
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  }));
  CHECK(std::stoi(redis.Execute({"DBSIZE"})) > 0);
}

// A node at which a fault strikes.
struct Target {
  MemberNodes& nodes;
  std::size_t node;

  void Begin(const std::string& kind, FaultSchedule& schedule) const {
    Program& program = nodes.program(node);
    TcpProxy::Behaviour behaviour;
    if (kind == "kill" || kind == "restart empty") return program.Kill();
    if (kind == "stop") return program.Signal(SIGSTOP);
    if (kind == "drain") return program.Signal(SIGTERM);
    if (kind == "full disk") return program.FillDisk(true);
    if (kind.starts_with("cut")) behaviour.refuse = true;
    if (kind == "cut within a message") behaviour = {.cut_after = schedule.Below(20'000)};
    if (kind == "swallow") behaviour.swallow_answers = true;
    if (kind == "ghost") behaviour.hold_connected = true;
    Way(kind).Behave(behaviour);
    if (behaviour.refuse) Way(kind).Cut();
  }
  void End(const std::string& kind) const {
    Program& program = nodes.program(node);
    if (kind == "stop") return program.Signal(SIGCONT);
    if (kind == "full disk") return program.FillDisk(false);
    if (kind != "kill" && kind != "drain" && kind != "restart empty") return Way(kind).Behave({});
    program.Kill();
    if (kind == "restart empty") nodes.Wipe(node);
    program.Start();
  }

 private:
  [[nodiscard]] TcpProxy& Way(const std::string& kind) const {
    return kind == "cut etcd" ? nodes.way_to_etcd(node) : nodes.way_to(node);
  }
};

// Faults in which a node with a datalet of its own loses its data. ThreadSanitizer knows no
// RocksDB.
const std::set<std::string>& LosingFaults() {
  static const std::set<std::string> kAlways = {"restart empty"};
  static const std::set<std::string> kInMemory = {"restart empty", "kill", "drain"};
  return std::string_view(kOwnDatalet) == "memory:" ? kInMemory : kAlways;
}

// Targets are the nodes, then etcd, then the databases. `losing`: kinds in which a node loses data.
void AddFaults(MemberNodes& nodes, std::vector<std::string> kinds,
               const std::set<std::string>& losing, FaultSchedule& schedule) {
  std::vector<std::size_t> all(nodes.size());
  std::iota(all.begin(), all.end(), 0);
  kinds.insert(kinds.end(), {"kill", "stop", "drain", "cut nodes", "cut etcd",
                             "cut within a message", "swallow", "ghost"});
  for (const std::string& kind : kinds) {
    const bool loses = losing.contains(kind);
    schedule.Add(
        kind, all,
        [&nodes, &schedule, kind](std::size_t node, Step done) {
          const Target target{nodes, node};
          target.Begin(kind, schedule);
          schedule.Later(schedule.Random(200ms, 5s), [target, kind, done = std::move(done)] {
            target.End(kind);
            done();
          });
        },
        // A member may lose its data if the others have them.
        [&nodes, &schedule, loses] {
          return !loses || (schedule.quiet() && nodes.view().AllHave(nodes.size()));
        });
  }
}

void AddStops(PrivateServer& server, const std::string& name, std::size_t target,
              FaultSchedule& schedule) {
  schedule.Add("stop " + name, {target}, [&server, &schedule](std::size_t, Step done) {
    server.Signal(SIGSTOP);
    schedule.Later(schedule.Random(300ms, 4s), [&server, done = std::move(done)] {
      server.Signal(SIGCONT);
      done();
    });
  });
}

void AddRestarts(PrivateServer& server, const std::string& name, std::size_t target,
                 FaultSchedule& schedule) {
  schedule.Add("restart " + name, {target}, [&server, &schedule](std::size_t, Step done) {
    server.Kill();
    schedule.Later(schedule.Random(300ms, 4s), [&server, done = std::move(done)] {
      server.Start();
      done();
    });
  });
}

void CheckChaos(const std::string& name, MemberNodes& nodes,
                const std::function<void(FaultSchedule&)>& add_faults) {
  const std::uint64_t seconds = Rounds("STOUT_CHAOS_SECONDS", 10);
  const std::uint64_t seed = Rounds("STOUT_CHAOS_SEED", 1);
  fmt::print("chaos, {}: STOUT_CHAOS_SEED={}, {} s\n", name, seed, seconds);
  std::fflush(stdout);
  std::ofstream log(nodes.logs() + "/faults.log");
  FaultSchedule schedule(seed, log, [&nodes] { nodes.KeepUp(); });
  add_faults(schedule);
  AddStops(nodes.etcd(), "etcd", nodes.size(), schedule);
  const MemberRun run = RunUnderLoad(nodes, name, [&](const LoadThreads& load) {
    schedule.RunFor(std::chrono::seconds(seconds));
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 200));
  });
  CheckRun(run);
  fmt::print("chaos, {}: {} operations, {} attempts failed\n", name, run.history.size(),
             run.failed);
  // A test that tested nothing must not pass.
  CHECK(run.history.size() > 20 * seconds);
  if (seconds >= 60) CHECK(schedule.complete());
}

TEST_CASE("nodes with datalets of their own stay linearizable under faults that overlap",
          "[node][members][not_tsan][long]") {
  MemberNodes nodes;
  CheckChaos("own", nodes, [&](FaultSchedule& schedule) {
    AddFaults(nodes, {"full disk", "restart empty"}, LosingFaults(), schedule);
  });
}

TEST_CASE("nodes with databases as members stay linearizable under faults that overlap",
          "[node][members][not_tsan][long]") {
  RedisServer redis;
  PostgresServer postgres;
  BlowfishServer blowfish(2);
  MemberNodes nodes(
      {.datalets = {redis.Url(kTimeouts), postgres.Url(kTimeouts), blowfish.Url(kTimeouts)}});
  CheckChaos("databases", nodes, [&](FaultSchedule& schedule) {
    AddFaults(nodes, {}, {}, schedule);
    std::size_t target = nodes.size();
    for (auto& [server, name] : std::vector<std::pair<PrivateServer*, std::string>>{
             {&redis, "Redis"}, {&postgres, "PostgreSQL"}, {&blowfish, "blowfish"}}) {
      ++target;
      AddStops(*server, name, target, schedule);
      AddRestarts(*server, name, target, schedule);
    }
  });
}

}  // namespace
}  // namespace stout::test
