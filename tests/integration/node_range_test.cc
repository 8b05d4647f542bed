// Goal: STOUT.RANGE equals a sorted map, over several stores, through several nodes, and while
// ranges move. Method: random histories, each of which a seed gives again, and a checker that has
// negative controls.

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/integration/range_checker.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/etcd_server.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/rounds.h"

namespace stout::test {
namespace {

using Ports = std::vector<int>;
using Words = std::vector<std::string>;

// Random changes and ranges. Writes of one connection may be under way while another one reads.
class Histories {
 public:
  // `moves`: called before each history.
  Histories(const Ports& ports, std::function<void(std::uint64_t)> moves = {})
      : moves_(std::move(moves)) {
    for (const int port : ports) {
      writers_.push_back(std::make_unique<RespClient>(port));
      readers_.push_back(std::make_unique<RespClient>(port));
    }
  }

  // Returns what was wrong with the first wrong answer; "" if all were right.
  std::string Run(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      SplitMix64 random(seed);
      random_ = &random;
      if (moves_) moves_(seed);
      std::string wrong = RunOne();
      if (!wrong.empty()) return fmt::format("seed {}: {}", seed, wrong);
    }
    return {};
  }
  std::uint64_t caught = 0;    // wrong answers that the checker found
  std::uint64_t controls = 0;  // wrong answers that it was given
  std::uint64_t pages = 0;

 private:
  std::uint64_t Below(std::uint64_t n) { return random_->Next() % n; }

  std::string Key() {
    std::string key;
    for (std::uint64_t left = Below(4); left > 0; --left) key += "abc\0\xff"[Below(5)];
    return key;
  }

  // Returns the command, and notes the states that the key may have.
  Words Write(std::map<std::string, std::optional<std::string>>& changed) {
    const std::string key = Key();
    std::optional<std::string> value;
    Words words = {"DEL", key};
    const std::uint64_t kind = Below(8);
    if (kind < 6) {
      value = std::to_string(random_->Next());
      words = {"SET", key, *value};
      if (kind == 0) words.insert(words.end(), {"PX", "100000000"});
    } else if (kind == 6) {
      words = {"SET", key, "past", "PXAT", "1"};
    }
    const auto [known, is_new] = model_.try_emplace(key);
    if (is_new) known->second.insert(std::nullopt);
    known->second.insert(value);
    changed[key] = value;
    return words;
  }

  std::string RunOne() {
    std::map<std::string, std::optional<std::string>> changed;
    RespClient& writer = *writers_[Below(writers_.size())];
    std::vector<Words> commands;
    for (std::uint64_t left = Below(30); left > 0; --left) commands.push_back(Write(changed));
    const bool pending = Below(2) == 0;
    for (const Words& command : commands) writer.Queue(command);
    writer.Send("");
    const auto settle = [&]() -> std::string {
      bool again = false;
      for (std::size_t i = 0; i < commands.size(); ++i) {
        const std::string reply = writer.Receive();
        if (reply.starts_with("-TRYAGAIN")) {
          again = true;
        } else if (reply.starts_with('-')) {
          return reply;
        }
      }
      for (const auto& each : changed) {
        const auto& [key, value] = each;
        const Words last = value ? Words{"SET", key, *value} : Words{"DEL", key};
        if (again && !Eventually([&] { return !writer.Do(last).starts_with('-'); })) return "lost";
        value ? void(model_[key] = {value}) : void(model_.erase(key));
      }
      return {};
    };
    if (!pending) {
      if (std::string wrong = settle(); !wrong.empty()) return wrong;
    }
    for (int i = 0; i < 2; ++i) {
      if (std::string wrong = Read(); !wrong.empty()) return wrong;
    }
    return pending ? settle() : "";
  }

  // Reads an interval page by page, each by any node.
  std::string Read() {
    RangeQuery query{.start = Below(4) == 0 ? "" : Key(), .end = Below(4) == 0 ? "" : Key()};
    constexpr std::size_t kLimits[] = {1, 5, 60, 1000};
    query.limit = kLimits[Below(4)];
    query.values = Below(3) != 0;
    do {
      RespClient& reader = *readers_[Below(readers_.size())];
      std::string reply;
      const bool answered = Eventually([&] {
        reader.Queue(query.Words());
        reader.Send("");
        reply = reader.ReceiveBytes();
        return !reply.starts_with("-TRYAGAIN");
      });
      if (!answered || reply.starts_with('-')) return reply;
      const RangeAnswer answer = ReadAnswer(reply, query.values);
      if (auto why = WhyWrong(model_, query, answer); !why.empty())
        return fmt::format("{} of {}: {}", query.limit, answer.keys.size(), why);
      Control(query, answer);
      ++pages;
      query.start = answer.next;
    } while (!query.start.empty() && Below(20) != 0);
    return {};
  }

  // An answer that is a little wrong.
  void Control(const RangeQuery& query, RangeAnswer answer) {
    if (answer.keys.empty()) return;
    auto& victim = answer.keys[Below(answer.keys.size())];
    const bool certain = !model_[victim.first].contains(std::nullopt);
    switch (Below(4)) {
      case 0:
        if (!certain && answer.next.empty()) return;  // it need not be there
        answer.keys.erase(answer.keys.begin() + (&victim - answer.keys.data()));
        break;
      case 1:
        if (!query.values) return;
        victim.second += "x";
        break;
      case 2:
        if (answer.keys.size() == 1) return;
        std::swap(answer.keys.front(), answer.keys.back());
        break;
      default:
        victim.first += "stranger";
    }
    ++controls;
    if (!WhyWrong(model_, query, answer).empty()) ++caught;
  }

  const std::function<void(std::uint64_t)> moves_;
  std::vector<std::unique_ptr<RespClient>> writers_, readers_;
  SplitMix64* random_ = nullptr;
  RangeModel model_;
};

void Check(Histories& histories, std::uint64_t first, std::uint64_t count) {
  CHECK(histories.Run(first, count) == "");
  CHECK(histories.pages >= count);
  CHECK(histories.controls >= count / 2);
  CHECK(histories.caught == histories.controls);
}

// Histories of each store.
std::uint64_t Count() { return Rounds("STOUT_RANGE_HISTORIES", 100); }

TEST_CASE("STOUT.RANGE equals a sorted map, over memory", "[node][range][long][not_tsan]") {
  const NodeServer node("memory:", {"--policy", "tick:2ms"});
  Histories histories({node.port()});
  Check(histories, 1, Count());
}

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("STOUT.RANGE equals a sorted map, over RocksDB", "[node][range][long]") {
  const NodeServer node("rocksdb:{}/data", {"--cache-bytes", "1MiB"});
  Histories histories({node.port()});
  Check(histories, 2000, Count());
}
#endif

TEST_CASE("STOUT.RANGE equals a sorted map, over blowfish", "[node][range][long][not_tsan]") {
  const BlowfishServer shard(1);
  const NodeServer node(shard.Url(), {"--cache-bytes", "1MiB"});
  Histories histories({node.port()});
  Check(histories, 3000, Count());
}

// Nodes that keep each range on all of their stores.
struct Fleet {
  explicit Fleet(Words partition) {
    for (int i = 0; i < 2; ++i) {
      Words words = {"--join",        fmt::format("etcd://127.0.0.1:{}/kv", etcd.port()),
                     "--datalet",     "memory:",
                     "--lease-ttl",   "2s",
                     "--replicas",    "2",
                     "--cache-bytes", "4MiB"};
      // The second node takes what the deployment has.
      if (i == 0) words.insert(words.end(), partition.begin(), partition.end());
      nodes.push_back(std::make_unique<NodeServer>("", std::move(words)));
    }
  }
  [[nodiscard]] Ports ports() const { return {nodes[0]->port(), nodes[1]->port()}; }

  EtcdServer etcd;
  std::vector<std::unique_ptr<NodeServer>> nodes;
};

TEST_CASE("STOUT.RANGE equals a sorted map through two nodes, while ranges move",
          "[node][range][members][long]") {
  const bool intervals = GENERATE(true, false);
  CAPTURE(intervals);
  const Fleet fleet(intervals ? Words{"--partition", "range:a%00,b,ca"} : Words{"--ranges", "4"});
  RespClient client(fleet.ports()[0]);
  std::uint64_t moves = 0;
  Histories histories(fleet.ports(), [&](std::uint64_t seed) {
    if (seed % 8 != 0) return;
    const int port = fleet.ports()[++moves % 2];
    const std::string range = std::to_string(moves / 2 % 4);
    CHECK(client.Do({"STOUT.MOVE", range, fmt::format("127.0.0.1:{}", port)}) == "+OK");
  });
  CHECK(Eventually([&] { return client.Do({"GET", "x"}) == "(nil)"; }));
  Check(histories, intervals ? 4000 : 5000, Count() / 2);
  CHECK(moves >= Count() / 16);
}

TEST_CASE("ranges that are intervals of keys have no slots", "[node][range][members][not_tsan]") {
  const Fleet fleet({"--partition", "range:b"});
  RespClient client(fleet.ports()[1]);
  CHECK(Eventually([&] { return client.Do({"MGET", "a", "b"}) == "[(nil), (nil)]"; }));
  for (const char* const command : {"SLOTS", "SHARDS"}) {
    CHECK(client.Do({"CLUSTER", command}).starts_with("-ERR the ranges of this deployment"));
  }
  const std::string nodes = client.Do({"CLUSTER", "NODES"});
  CHECK(nodes.find(fmt::format("127.0.0.1:{}", fleet.ports()[0])) != std::string::npos);
  CHECK(nodes.find("0-") == std::string::npos);
  // Nobody is sent to another node.
  for (const char* const key : {"a", "b"}) {
    CHECK(client.Do({"SET", key, key}) == "+OK");
  }
  CHECK(client.Do({"STOUT.RANGE", "", "", "VALUES"}) == "[$, [$a, $a, $b, $b]]");
  CHECK(client.Do({"STOUT.RANGE", "", "", "LIMIT", "1"}) == std::string("[$a\0, [$a]]", 11));
  CHECK(client.Do({"MSET", "{t}a", "1", "a{t}", "1"})
            .starts_with("-CROSSSLOT the keys are in several ranges, which are intervals"));
  CHECK(client.Do({"STOUT.PAGE", "0", "", "", "10", "0"}) ==
        "-ERR STOUT.PAGE is for nodes of a deployment");
}

TEST_CASE("STOUT.RANGE goes on behind a key of --max-value", "[node][range][members][not_tsan]") {
  const NodeServer alone("memory:", {"--max-value", "64"});
  const Fleet fleet({"--ranges", "4", "--max-value", "64"});  // of the first node
  const std::string key(64, 'k');
  for (const int port : {alone.port(), fleet.ports()[0], fleet.ports()[1]}) {
    RespClient client(port);
    for (const std::string& each : {key, std::string("z")})
      CHECK(Eventually([&] { return client.Do({"SET", each, "v"}) == "+OK"; }));
    CHECK(client.Do({"STOUT.RANGE", "", "", "LIMIT", "1"}).starts_with("[$" + key + '\0'));
    CHECK(client.Do({"STOUT.RANGE", key + '\0', ""}) == "[$, [$z]]");
  }
  CHECK(RespClient(alone.port()).Do({"STOUT.RANGE", key + 'x', ""}) ==
        "-ERR an argument has 65 bytes: at most 64, raise --max-value");
}

TEST_CASE("a store that does not scan in byte order is named", "[node][range][not_tsan]") {
  const RedisServer redis;
  const NodeServer node(fmt::format("redis://127.0.0.1:{}", redis.port()));
  CHECK(RespClient(node.port())
            .Do({"STOUT.RANGE", "", ""})
            .starts_with("-ERR no store of a range that is in scans in byte order: use rocksdb:"));
}

}  // namespace
}  // namespace stout::test
