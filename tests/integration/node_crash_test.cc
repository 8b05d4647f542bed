// Goal: no write that stout-node has acknowledged is lost, and no read shows what a crash can undo,
// if the node, its store, or both are killed with -9 under load.
// Method: rounds on one store. In each, writers and a reader keep a ledger. After a random number
// of writes the servers are killed, and a new node, which has nothing in memory, is asked for all
// keys.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/integration/node_ledger.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_cluster.h"
#include "tests/support/redis_server.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_directory.h"

namespace stout::test {
namespace {

enum class Strike : std::uint8_t { kNode, kDatabase, kBoth };

struct Database {
  std::string url;
  // Empty if the store is embedded.
  std::function<void()> kill;
  std::function<void()> restart;
};

Database Of(PrivateServer& server, std::string url) {
  return {std::move(url), [&server] { server.Kill(); }, [&server] { server.Start(); }};
}

class Crashes {
 public:
  explicit Crashes(Database database) : database_(std::move(database)), node_(database_.url) {}

  // A round for each strike.
  void Run(const std::vector<Strike>& strikes) {
    for (std::size_t round = 0; round < strikes.size(); ++round) {
      CAPTURE(round, strikes[round]);
      {
        std::atomic<bool> stop = false;
        std::vector<std::jthread> clients;
        for (std::size_t i = 0; i < NodeLedger::kWriters; ++i)
          clients.emplace_back([&, i] { ledger_.Write(i, node_.port(), stop); });
        clients.emplace_back(
            [&, seed = random_.Next()] { ledger_.Read(seed, node_.port(), stop); });
        const bool served = Progress(200 + random_.Below(1000)) && Kill(strikes[round]);
        stop = true;
        clients.clear();
        REQUIRE(served);
      }
      if (strikes[round] == Strike::kBoth) database_.restart();
      node_.Start();
      ledger_.ReadAll(node_.port());
    }
  }

  [[nodiscard]] std::vector<std::string> violations() const { return ledger_.violations(); }

 private:
  // Waits until this many further writes are acknowledged.
  bool Progress(std::uint64_t writes) {
    const std::uint64_t goal = ledger_.acknowledged() + writes;
    return Eventually([&] { return ledger_.acknowledged() >= goal; });
  }

  // In each case the node ends. Returns false if it does not serve after the restart of its store.
  bool Kill(Strike strike) {
    bool served = true;
    if (strike != Strike::kNode) database_.kill();
    if (strike == Strike::kDatabase) {
      database_.restart();
      served = Progress(200 + random_.Below(1000));
    }
    node_.Kill();
    return served;
  }

  const Database database_;
  NodeServer node_;
  NodeLedger ledger_;
  SplitMix64 random_{1};
};

// `kinds` in turn.
std::vector<Strike> Strikes(const std::vector<Strike>& kinds) {
  std::vector<Strike> strikes(Rounds("STOUT_CRASH_ROUNDS", 3));
  for (std::size_t i = 0; i < strikes.size(); ++i) strikes[i] = kinds[i % kinds.size()];
  return strikes;
}

const std::vector<Strike> kEach = {Strike::kDatabase, Strike::kBoth, Strike::kNode};

void LosesNothing(Database database, const std::vector<Strike>& kinds) {
  Crashes crashes(std::move(database));
  crashes.Run(Strikes(kinds));
  CHECK(crashes.violations() == std::vector<std::string>());
}

TEST_CASE("kill -9 under load loses no acknowledged write: RocksDB", "[node][crash][long]") {
  const TempDirectory directory;
  LosesNothing({"rocksdb:" + directory.path() + "/data", {}, {}}, {Strike::kNode});
}

TEST_CASE("kill -9 under load loses no acknowledged write: PostgreSQL", "[node][crash][long]") {
  PostgresServer server;
  LosesNothing(Of(server, server.Url("timeout=1s&connect_timeout=1s")), kEach);
}

TEST_CASE("kill -9 under load loses no acknowledged write: Redis", "[node][crash][long]") {
  RedisServer server;  // appendfsync always
  LosesNothing(Of(server, server.Url("timeout=1s&connect_timeout=1s")), kEach);
}

TEST_CASE("kill -9 under load loses no acknowledged write: Redis Cluster", "[node][crash][long]") {
  RedisCluster cluster;
  RedisServer* master = nullptr;
  const std::string key = "0-0";  // of the ledger
  const auto kill = [&] {
    master = &cluster.MasterOf(key);
    master->Kill();
  };
  const auto fail_over = [&] {
    cluster.AwaitFailoverOf(*master, key);
    cluster.Heal();
  };
  LosesNothing({cluster.Url("wait=1&timeout=2s&connect_timeout=1s"), kill, fail_over}, kEach);
}

TEST_CASE("kill -9 under load loses no acknowledged write: blowfish", "[node][crash][long]") {
  BlowfishServer server(2);
  LosesNothing(Of(server, server.Url("timeout=1s&connect_timeout=1s")), kEach);
}

// A key that was written is not there.
bool LostAKey(const Crashes& crashes) {
  const auto violations = crashes.violations();
  return std::ranges::any_of(violations, [](const std::string& violation) {
    return violation.find(" is 0, not in ") != violation.npos;
  });
}

TEST_CASE("lost writes are found out: Redis that keeps nothing on its disk", "[node][crash]") {
  RedisServer server({"--appendonly", "no"});
  Crashes crashes(Of(server, server.Url("timeout=1s&connect_timeout=1s")));
  crashes.Run({Strike::kBoth});
  CHECK(LostAKey(crashes));
}

TEST_CASE("lost writes are found out: memory", "[node][crash]") {
  Crashes crashes({"memory:", {}, {}});
  crashes.Run({Strike::kNode});
  CHECK(LostAKey(crashes));
}

}  // namespace
}  // namespace stout::test
