// Goal and method as in node_members_test.cc, with datalets of several kinds, and with faults of a
// seeded schedule that overlap.
//
// STOUT_CHAOS_SECONDS: duration of the faults (10). STOUT_CHAOS_SEED: seed of the schedule and of
// the operations (1). A run that fails leaves its history and logs in the working directory.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <thread>
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

// Lets a link be as bad as this kind of fault says.
void Spoil(TcpProxy& way, const std::string& kind, FaultSchedule& schedule) {
  TcpProxy::Behaviour behaviour;
  if (kind.starts_with("cut")) behaviour.refuse = true;
  if (kind.starts_with("cut within a message")) behaviour = {.cut_after = schedule.Below(20'000)};
  if (kind.starts_with("swallow")) behaviour.swallow_answers = true;
  if (kind.starts_with("ghost")) behaviour.hold_connected = true;
  way.Behave(behaviour);
  if (behaviour.refuse) way.Cut();
}

// A node at which a fault strikes.
struct Target {
  MemberNodes& nodes;
  std::size_t node;

  void Begin(const std::string& kind, FaultSchedule& schedule) const {
    Program& program = nodes.program(node);
    if (kind == "kill" || kind == "restart empty") return program.Kill();
    if (kind == "stop") return program.Signal(SIGSTOP);
    if (kind == "drain") return program.Signal(SIGTERM);
    if (kind == "full disk") return program.FillDisk(true);
    Spoil(Way(kind), kind, schedule);
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
              FaultSchedule& schedule, milliseconds longest = 4s) {
  schedule.Add("stop " + name, {target}, [&server, &schedule, longest](std::size_t, Step done) {
    server.Signal(SIGSTOP);
    schedule.Later(schedule.Random(300ms, longest), [&server, done = std::move(done)] {
      server.Signal(SIGCONT);
      done();
    });
  });
}

void AddRestarts(PrivateServer& server, const std::string& name, std::size_t target,
                 FaultSchedule& schedule, milliseconds longest = 4s) {
  schedule.Add("restart " + name, {target}, [&server, &schedule, longest](std::size_t, Step done) {
    server.Kill();
    schedule.Later(schedule.Random(300ms, longest), [&server, done = std::move(done)] {
      server.Start();
      done();
    });
  });
}

// A server that cannot write may end. Then it starts again.
void AddFullDisks(PrivateServer& server, const std::string& name, std::size_t target,
                  FaultSchedule& schedule) {
  schedule.Add("full disk " + name, {target}, [&server, &schedule](std::size_t, Step done) {
    server.FillDisk(true);
    schedule.Later(schedule.Random(300ms, 4s), [&server, done = std::move(done)] {
      server.FillDisk(false);
      if (!server.Up()) {
        server.Kill();
        server.Start();
      }
      done();
    });
  });
}

// The way of all nodes to a database.
void AddBadLinks(TcpProxy& way, const std::string& name, std::size_t target,
                 FaultSchedule& schedule) {
  for (const char* const fault : {"cut", "cut within a message", "swallow", "ghost"}) {
    const std::string kind = fmt::format("{} {}", fault, name);
    schedule.Add(kind, {target}, [&way, &schedule, kind](std::size_t, Step done) {
      Spoil(way, kind, schedule);
      schedule.Later(schedule.Random(200ms, 5s), [&way, done = std::move(done)] {
        way.Behave({});
        done();
      });
    });
  }
}

// Changes of the mode, as one kind of fault.
//
// Clients write at level `all`, so in ms+ec, too, no acknowledged write may be lost. A read may see
// a write there that is lost with its owner. Therefore reads count only while ms+sc is in force.
//
// Threads: the changes have one of their own, because the nodes that are asked may stand still.
class ModeChanges {
 public:
  explicit ModeChanges(MemberNodes& nodes) : nodes_(nodes) {}
  ModeChanges(const ModeChanges&) = delete;
  ModeChanges& operator=(const ModeChanges&) = delete;

  void AddTo(FaultSchedule& schedule, std::size_t target) {
    schedule.Add("mode", {target}, [this, &schedule](std::size_t, Step done) {
      weak_.emplace_back(ChaosNow(), std::numeric_limits<std::int64_t>::max());
      thread_ = std::jthread([this, lasts = schedule.Random(200ms, 5s)] {
        const bool weak = Change(ReplicationMode::kMsEc);
        std::this_thread::sleep_for(lasts);  // of the mode, which is a fault like others
        progress_ = Change(ReplicationMode::kMsSc) && weak ? Progress::kDone : Progress::kFailed;
      });
      Await(schedule, std::move(done));
    });
  }

  // Some change did not come into force.
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool Counts(const Operation& op) const {
    return op.op != Operation::Kind::kGet ||
           std::none_of(weak_.begin(), weak_.end(), [&op](const auto& time) {
             return op.call_ns <= time.second && op.return_ns >= time.first;
           });
  }

 private:
  enum class Progress { kRuns, kDone, kFailed };

  void Await(FaultSchedule& schedule, Step done) {
    schedule.Later(100ms, [this, &schedule, done = std::move(done)] {
      const Progress progress = progress_;
      if (progress == Progress::kRuns) return Await(schedule, done);
      thread_.join();
      progress_ = Progress::kRuns;
      if (progress == Progress::kDone) weak_.back().second = ChaosNow();
      failed_ |= progress == Progress::kFailed;
      done();
    });
  }
  // Waits until the mode is in force for each range. Otherwise an owner that learns of it late
  // could put it into force after the next change.
  [[nodiscard]] bool Change(ReplicationMode mode) const {
    const std::vector<int> ports = nodes_.ports();
    std::size_t next = 0;
    return Eventually([&] {
             return MemberNodes::Ask(ports[next++ % ports.size()],
                                     {"STOUT.MODE", std::string(NameOf(mode))}) == "+OK";
           }) &&
           Eventually([&] { return nodes_.view().AllIn(mode); });
  }

  MemberNodes& nodes_;
  std::vector<std::pair<std::int64_t, std::int64_t>> weak_;  // when ms+ec may have been in force
  bool failed_ = false;
  std::atomic<Progress> progress_ = Progress::kRuns;
  std::jthread thread_;
};

// Targets of faults: see AddFaults. `changes_mode`: the mode is one more.
void CheckChaos(const std::string& name, MemberNodes& nodes, bool changes_mode,
                const std::function<void(FaultSchedule&)>& add_faults) {
  const std::uint64_t seconds = Rounds("STOUT_CHAOS_SECONDS", 10);
  const std::uint64_t seed = Rounds("STOUT_CHAOS_SEED", 1);
  fmt::print("chaos, {}: STOUT_CHAOS_SEED={}, {} s\n", name, seed, seconds);
  std::fflush(stdout);
  std::ofstream log(nodes.logs() + "/faults.log");
  FaultSchedule schedule(seed, log, [&nodes] { nodes.KeepUp(); });
  add_faults(schedule);
  const bool is_long = seconds >= 60;
  const milliseconds longest = is_long ? 9s : 4s;  // beyond twice the ttl
  AddStops(nodes.etcd(), "etcd", nodes.size(), schedule, longest);
  AddRestarts(nodes.etcd(), "etcd", nodes.size(), schedule, longest);
  ModeChanges modes(nodes);
  const ChaosProtocol protocol = changes_mode ? WritingAtAll() : kRespProtocol;
  if (changes_mode) modes.AddTo(schedule, 2 * nodes.size() + 1);
  const auto events = [&](const LoadThreads& load) {
    schedule.RunFor(std::chrono::seconds(seconds));
    CHECK_FALSE(modes.failed());
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 200));
  };
  const MemberRun run = RunUnderLoad(nodes, name, events, {}, protocol,
                                     [&](const Operation& op) { return modes.Counts(op); });
  CheckRun(run);
  fmt::print("chaos, {}: {} operations, {} attempts failed\n", name, run.history.size(),
             run.failed);
  // A test that tested nothing must not pass.
  CHECK(run.history.size() > 20 * seconds);
  if (is_long) CHECK(schedule.complete());
}

TEST_CASE("nodes with datalets of their own stay linearizable under faults that overlap",
          "[node][members][not_tsan][long]") {
  MemberNodes nodes;
  CheckChaos("own", nodes, false, [&](FaultSchedule& schedule) {
    AddFaults(nodes, {"full disk", "restart empty"}, LosingFaults(), schedule);
  });
}

TEST_CASE("nodes with databases as members stay linearizable under faults that overlap",
          "[node][members][not_tsan][long]") {
  RedisServer redis;
  PostgresServer postgres;
  BlowfishServer blowfish(2);
  TcpProxy to_redis(redis.port());
  TcpProxy to_postgres(postgres.port());
  TcpProxy to_blowfish(blowfish.port());
  MemberNodes nodes({.datalets = {redis.Url(kTimeouts, to_redis.port()),
                                  postgres.Url(kTimeouts, to_postgres.port()),
                                  blowfish.Url(kTimeouts, to_blowfish.port())}});
  struct Database {
    PrivateServer& server;
    TcpProxy& way;
    std::string name;
  };
  CheckChaos("databases", nodes, true, [&](FaultSchedule& schedule) {
    AddFaults(nodes, {}, {}, schedule);
    std::size_t target = nodes.size();
    for (const Database& database :
         {Database{redis, to_redis, "Redis"}, Database{postgres, to_postgres, "PostgreSQL"},
          Database{blowfish, to_blowfish, "blowfish"}}) {
      ++target;
      AddStops(database.server, database.name, target, schedule);
      AddRestarts(database.server, database.name, target, schedule);
      AddBadLinks(database.way, database.name, target, schedule);
      // A full disk of PostgreSQL would have to be that of all its processes.
      if (&database.server != &postgres) {
        AddFullDisks(database.server, database.name, target, schedule);
      }
    }
  });
}

}  // namespace
}  // namespace stout::test
