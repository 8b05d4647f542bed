// Goal: servers that share a store under leases, of documents and of RESP, stay linearizable, and
// lose no acknowledged write, under faults of themselves, of their stores and of the network
// between. Method: real processes. Clients write and read a few documents, each from any server or
// through the router, and record what they see. Meanwhile faults come from a seeded schedule and
// overlap. Then the faults end, every server must recover, and each document is read once more. A
// checker that knows nothing of servers judges the history.
//
// STOUT_CHAOS_SECONDS: duration of the faults (30 or less). STOUT_CHAOS_SEED: seed of the schedule
// and of the operations (1). The timing of processes nevertheless differs from run to run. A run
// that fails leaves the history, the faults and the logs in the working directory.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/fault_schedule.h"
#include "tests/integration/program.h"
#include "tests/load/load_threads.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/catch.h"
#include "tests/support/etcd_server.h"
#include "tests/support/eventually.h"
#include "tests/support/history_file.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_directory.h"

namespace stout::docstore {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::ChaosClient;
using test::ChaosProtocol;
using test::EtcdServer;
using test::Eventually;
using test::FaultSchedule;
using test::Judgement;
using test::kDocumentProtocol;
using test::kRespProtocol;
using test::LoadThreads;
using test::Operation;
using test::PostgresServer;
using test::PrivateServer;
using test::Program;
using test::RedisCluster;
using test::RedisServer;
using test::StandbyOf;
using test::TcpProxy;
using test::TempDirectory;

using Step = FaultSchedule::Step;

constexpr int kKeys = 24;
constexpr int kClients = 8;
constexpr int kServers = 3;

// A server, the ways to its store and to its leases, and the way of other nodes to it.
struct Member {
  std::unique_ptr<TcpProxy> to_store, to_leases, from_nodes;
  std::unique_ptr<Program> program;
};

enum class Setup { kPostgres, kRedis, kTwoOwners, kNodesPostgres, kNodesCluster, kNodesTwoOwners };

bool IsOfNodes(Setup setup) { return setup >= Setup::kNodesPostgres; }

// Its servers do not know of each other.
bool HasNoOwner(Setup setup) {
  return setup == Setup::kTwoOwners || setup == Setup::kNodesTwoOwners;
}

// All processes of one run.
class Fleet {
 public:
  explicit Fleet(Setup setup) {
    if (setup == Setup::kPostgres || setup == Setup::kNodesPostgres) {
      postgres_ = std::make_unique<PostgresServer>();
      standby_ = std::make_unique<PostgresServer>(StandbyOf{*postgres_});
      database_ = postgres_.get();
    } else if (setup == Setup::kNodesCluster) {
      cluster_ = std::make_unique<RedisCluster>();
      database_ = &cluster_->node(0);
    } else {
      redis_ = std::make_unique<RedisServer>();
      database_ = redis_.get();
    }
    if (setup == Setup::kRedis || setup == Setup::kNodesCluster) {
      etcd_ = std::make_unique<EtcdServer>();
    }
    for (int i = 0; i < kServers; ++i) {
      Member& member = members_.emplace_back();
      member.to_store = std::make_unique<TcpProxy>(database_->port());
      const int leases_port = etcd_ ? etcd_->port() : database_->port();
      member.to_leases = std::make_unique<TcpProxy>(leases_port);
      const int port = test::FreePort();
      std::vector<std::string> options = {"--threads", "1"};
      options.insert(options.end(), {"--store", StoreUrl(setup, member.to_store->port())});
      if (IsOfNodes(setup)) {
        member.from_nodes = std::make_unique<TcpProxy>(port);
        options.insert(options.end(), {"--reply-deadline", "2500ms", "--advertise",
                                       fmt::format("127.0.0.1:{}", member.from_nodes->port())});
      } else {
        options.insert(options.end(), {"--retry-cap", "500ms"});
      }
      if (!HasNoOwner(setup)) {
        options.insert(options.end(), {IsOfNodes(setup) ? "--join" : "--leases",
                                       LeasesUrl(member.to_leases->port()), "--lease-ttl", "2s",
                                       "--ranges", "8", "--handover-timeout", "2s"});
      } else if (IsOfNodes(setup)) {
        options.insert(options.end(), {"--scope", fmt::format("node{}", i)});
      }
      member.program = Run(fmt::format("server{}", i),
                           IsOfNodes(setup) ? STOUT_NODE : STOUT_DOCSTORE_SERVER, options, port);
    }
    if (IsOfNodes(setup) || HasNoOwner(setup)) return;
    router_ = Run("router", STOUT_DOCSTORE_ROUTER,
                  {"--leases", LeasesUrl(etcd_ ? etcd_->port() : database_->port()),
                   "--retry-timeout", "2500ms", "--answer-timeout", "2500ms"},
                  test::FreePort());
  }

  [[nodiscard]] std::vector<int> ports() const {
    std::vector<int> ports;
    for (const Member& member : members_) ports.push_back(member.program->port());
    if (router_) ports.push_back(router_->port());
    return ports;
  }
  void KeepUp() {
    for (Member& member : members_) member.program->KeepUp();
  }
  [[nodiscard]] std::vector<Member>& members() { return members_; }
  [[nodiscard]] PrivateServer& database() { return *database_; }
  [[nodiscard]] PostgresServer* standby() { return standby_.get(); }
  // Returns true if members find the store at other addresses than that of to_store.
  [[nodiscard]] bool has_other_ways() const { return cluster_ != nullptr; }
  [[nodiscard]] const fs::path& logs() const { return logs_path_; }

 private:
  [[nodiscard]] std::string StoreUrl(Setup setup, int port) const {
    const std::string timeouts = "timeout=1s&connect_timeout=1s";
    if (postgres_) return PostgresUrl(port) + "?" + timeouts;
    if (cluster_) return cluster_->Url("wait=1&" + timeouts);
    return fmt::format("redis://127.0.0.1:{}?{}{}", port, timeouts,
                       setup == Setup::kTwoOwners ? "&mode=plain" : "");
  }
  [[nodiscard]] std::string LeasesUrl(int port) const {
    if (etcd_) return fmt::format("etcd://127.0.0.1:{}/docs", port);
    return PostgresUrl(port) + "?poll=100ms&timeout=1s&connect_timeout=1s";
  }
  [[nodiscard]] std::string PostgresUrl(int port) const {
    return fmt::format("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", port,
                       standby_->port());
  }
  std::unique_ptr<Program> Run(const std::string& name, const std::string& binary,
                               std::vector<std::string> options, int port) {
    options.insert(options.begin(), binary);
    return std::make_unique<Program>(name, std::move(options), logs_path_ / (name + ".log"), port);
  }

  const TempDirectory logs_;
  const fs::path logs_path_ = logs_.path();
  std::unique_ptr<PostgresServer> postgres_, standby_;
  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<RedisCluster> cluster_;
  PrivateServer* database_ = nullptr;  // The one that the keys are in, or some of them.
  std::unique_ptr<EtcdServer> etcd_;
  std::vector<Member> members_;
  std::unique_ptr<Program> router_;
};

void StrikeDatabase(Fleet& fleet, FaultSchedule& schedule, const std::string& kind, Step done) {
  PrivateServer& database = fleet.database();
  const milliseconds lasts = schedule.Random(300ms, 4s);
  const auto restart = [&database, done] {
    database.Start();
    done();
  };
  if (kind == "stop database") {
    database.Signal(SIGSTOP);
    schedule.Later(lasts, [&database, done] {
      database.Signal(SIGCONT);
      done();
    });
  } else if (kind == "restart") {
    database.Kill();
    schedule.Later(lasts, restart);
  } else {
    // The standby has an older state when the primary goes away.
    PostgresServer& standby = *fleet.standby();
    standby.Execute("SELECT pg_wal_replay_pause()");
    const milliseconds behind = schedule.Random(300ms, 2s);
    schedule.Later(behind, [&database] { database.Kill(); });
    schedule.Later(behind + lasts, [&database, &standby, done] {
      database.Start();
      standby.Execute("SELECT pg_wal_replay_resume()");
      done();
    });
  }
}

void StrikeServer(Member& member, FaultSchedule& schedule, const std::string& kind, Step done) {
  Program& program = *member.program;
  const milliseconds lasts = schedule.Random(200ms, 6s);
  if (kind == "kill" || kind == "drain") {
    if (kind == "kill") program.Kill();
    if (kind == "drain") program.Signal(SIGTERM);
    schedule.Later(lasts, [&program, done] {
      program.Kill();
      program.Start();
      done();
    });
  } else if (kind == "stop") {
    program.Signal(SIGSTOP);
    schedule.Later(lasts, [&program, done] {
      program.Signal(SIGCONT);
      done();
    });
  } else {
    TcpProxy& proxy = kind == "cut leases"  ? *member.to_leases
                      : kind == "cut nodes" ? *member.from_nodes
                                            : *member.to_store;
    TcpProxy::Behaviour behaviour;
    if (kind.starts_with("cut")) behaviour.refuse = true;
    if (kind == "cut within a message") behaviour = {.cut_after = schedule.Below(20'000)};
    if (kind == "swallow") behaviour.swallow_answers = true;
    if (kind == "ghost") behaviour.hold_connected = true;
    proxy.Behave(behaviour);
    if (behaviour.refuse) proxy.Cut();
    schedule.Later(lasts, [&proxy, done] {
      proxy.Behave({});
      done();
    });
  }
}

// The faults of a fleet. Its database is the target behind all servers.
void AddFaults(Fleet& fleet, FaultSchedule& schedule) {
  const std::size_t servers = fleet.members().size();
  for (const char* const kind : {"restart", "stop database", "lagging standby"}) {
    if (kind == std::string("lagging standby") && fleet.standby() == nullptr) continue;
    schedule.Add(kind, {servers}, [&fleet, &schedule, kind = std::string(kind)](auto, Step done) {
      StrikeDatabase(fleet, schedule, kind, std::move(done));
    });
  }
  std::vector<std::string> kinds = {"kill", "stop", "drain", "cut leases"};
  if (!fleet.has_other_ways())
    kinds.insert(kinds.end(), {"cut", "swallow", "ghost", "cut within a message"});
  if (fleet.members().front().from_nodes) kinds.emplace_back("cut nodes");
  std::vector<std::size_t> all(servers);
  std::iota(all.begin(), all.end(), 0);
  for (const std::string& kind : kinds) {
    schedule.Add(kind, all, [&fleet, &schedule, kind](std::size_t server, Step done) {
      StrikeServer(fleet.members()[server], schedule, kind, std::move(done));
    });
  }
}

struct ChaosRun {
  std::vector<Operation> history;
  Judgement judgement;
  bool recovered = true;  // Each key could be read at the end.
  bool complete = true;   // Each kind of fault came.
};

ChaosRun Run(Setup setup, const std::string& name, milliseconds time) {
  const std::uint64_t seed = test::Rounds("STOUT_CHAOS_SEED", 1);
  fmt::print("chaos, {}: STOUT_CHAOS_SEED={}, {} s\n", name, seed, time.count() / 1000);
  std::fflush(stdout);
  Fleet fleet(setup);
  const ChaosProtocol& protocol = IsOfNodes(setup) ? kRespProtocol : kDocumentProtocol;
  std::ofstream fault_log(fleet.logs() / "faults.log");
  ChaosRun outcome;
  {
    ChaosClient reader(-1, seed, fleet.ports(), kKeys, protocol);
    const auto read_all = [&] {
      for (int key = 0; key < kKeys; ++key) {
        const auto read = [&] {
          fleet.KeepUp();
          return reader.Read(key);
        };
        if (!Eventually(read)) outcome.recovered = false;
      }
    };
    read_all();  // the fleet serves
    LoadThreads load({.clients = kClients,
                      .seed = seed,
                      .ports = fleet.ports(),
                      .keys = kKeys,
                      .protocol = &protocol});
    FaultSchedule schedule(seed, fault_log, [&fleet] { fleet.KeepUp(); });
    AddFaults(fleet, schedule);
    schedule.RunFor(time);
    outcome.complete = schedule.complete();
    load.Stop();
    read_all();
    outcome.history = load.History();
    outcome.history.insert(outcome.history.end(), reader.history().begin(), reader.history().end());
  }
  outcome.judgement = JudgeHistory(outcome.history);
  if (!HasNoOwner(setup) &&
      (!outcome.recovered || outcome.judgement.verdict != Judgement::Verdict::kLinearizable)) {
    const fs::path kept = fs::absolute(fmt::format("chaos-{}-{}", name, seed));
    fs::create_directories(kept);
    fs::copy(fleet.logs(), kept,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::ofstream lines(kept / "history.jsonl");
    WriteHistory(lines, outcome.history);
    fmt::print("chaos, {}: kept in {}\n", name, kept.string());
  }
  return outcome;
}

std::size_t Count(const std::vector<Operation>& history, Operation::Outcome outcome) {
  return static_cast<std::size_t>(
      std::count_if(history.begin(), history.end(),
                    [outcome](const Operation& op) { return op.outcome == outcome; }));
}

void Check(Setup setup, const std::string& name) {
  const std::uint64_t seconds = test::Rounds("STOUT_CHAOS_SECONDS", 15);
  const ChaosRun outcome = Run(setup, name, std::chrono::seconds(seconds));
  const std::size_t ok = Count(outcome.history, Operation::Outcome::kOk);
  const std::size_t unknown = Count(outcome.history, Operation::Outcome::kUnknown);
  fmt::print("chaos, {}: {} operations ok, {} failed, {} unknown\n", name, ok,
             Count(outcome.history, Operation::Outcome::kFail), unknown);
  CAPTURE(outcome.judgement.key, outcome.judgement.reason);
  CHECK(outcome.judgement.verdict == Judgement::Verdict::kLinearizable);
  CHECK(outcome.recovered);
  // A test that tested nothing must not pass: there is more than the reads at start and end.
  CHECK(ok > std::size_t{2} * kKeys);
  if (seconds < 60) return;
  CHECK(unknown > 0);
  CHECK(outcome.complete);
}

}  // namespace

TEST_CASE("a fleet on PostgreSQL stays linearizable under faults", "[chaos][long]") {
  Check(Setup::kPostgres, "postgres");
}

TEST_CASE("a fleet on Redis stays linearizable under faults", "[chaos][long]") {
  Check(Setup::kRedis, "redis");
}

TEST_CASE("nodes on PostgreSQL stay linearizable under faults", "[chaos][long]") {
  Check(Setup::kNodesPostgres, "nodes-postgres");
}

TEST_CASE("nodes on Redis Cluster stay linearizable under faults", "[chaos][long]") {
  Check(Setup::kNodesCluster, "nodes-cluster");
}

TEST_CASE("servers that all believe to own one plain store are found out", "[chaos]") {
  const Setup setup = GENERATE(Setup::kTwoOwners, Setup::kNodesTwoOwners);
  const ChaosRun outcome = Run(setup, "plain", 5s);
  CHECK(outcome.judgement.verdict == Judgement::Verdict::kViolated);
}

}  // namespace stout::docstore
