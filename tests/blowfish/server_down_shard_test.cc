// A server of which one shard is damaged or missing: what it refuses, and what it serves.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "blowfish/index/shard_of.h"
#include "blowfish/server/open_shards.h"
#include "stout/core/random.h"
#include "tests/blowfish/files_below.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using Catch::StartsWith;
using test::BlowfishServer;
using test::Eventually;
using test::HttpClient;
using test::RespClient;
using test::TempDirectory;
using TypedCommand = std::vector<std::string>;

constexpr std::size_t kServerShards = 3;
constexpr std::size_t kDown = 1;
const std::string kRefusal = "-SHARDDOWN shard 1: ";

std::vector<std::string> KeysOf(std::size_t shard, std::size_t number) {
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < number; ++i) {
    const std::string key = "key" + std::to_string(i);
    if (ShardOf(key, kServerShards) == shard) keys.push_back(key);
  }
  return keys;
}

std::string ValueOf(const std::string& key) { return key + "|rome" + std::string(200, '.'); }

// A server whose shards each have a compressed file and a log.
class LoadedServer {
 public:
  static constexpr std::size_t kKeys = 400;  // of each shard

  LoadedServer() {
    for (std::size_t shard = 0; shard < kServerShards; ++shard) {
      for (const std::string& key : KeysOf(shard, kKeys)) {
        client_->Queue({"SET", key, ValueOf(key)});
        keys_[key] = shard;
      }
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) REQUIRE(client_->Receive() == "+OK");
    REQUIRE(Eventually([&] {
      const std::string info = client_->Do({"INFO", "shards"});
      return info.find("compressed_records=0,") == std::string::npos;
    }));
    server_.Kill();
  }

  // Before the start.
  [[nodiscard]] fs::path damaged() const { return ShardPath(server_.DataDirectory(), kDown); }
  void Start() {
    server_.Start();
    client_.emplace(server_.port());
  }
  void Kill() { server_.Kill(); }
  std::string Do(const TypedCommand& command) { return client_->Do(command); }
  [[nodiscard]] std::string Log() const { return server_.Log(); }

  // Checks the values of all keys of the shards that serve, or of all.
  void CheckKeys(bool all) {
    for (const auto& [key, shard] : keys_) {
      if (all || shard != kDown) REQUIRE(Do({"GET", key}) == "$" + ValueOf(key));
    }
  }

 private:
  BlowfishServer server_{kServerShards,
                         {"--attributes", "name,city", "--freeze-bytes", "16KB", "--merge-bytes",
                          "64KB", "--metrics", "127.0.0.1:0"}};
  std::optional<RespClient> client_{server_.port()};
  std::map<std::string, std::size_t> keys_;
};

// Flips a bit in all files with this end of their name.
void Damage(const fs::path& directory, const std::string& end) {
  for (auto& [path, bytes] : FilesBelow(directory)) {
    if (!path.ends_with(end)) continue;
    REQUIRE(bytes.size() > 40);
    std::string damaged = bytes;
    damaged[20] ^= 1;
    std::ofstream(path, std::ios::binary) << damaged;
  }
}

TEST_CASE("a damaged shard is down, the others serve, and once it is restored it serves again",
          "[not_tsan]") {
  LoadedServer server;
  const fs::path path = server.damaged();
  const TempDirectory away;
  const std::string copy = away.path() + "/copy";
  fs::copy(path, copy, fs::copy_options::recursive);
  SECTION("its compressed file") { Damage(path, ".records"); }
  SECTION("its log") { Damage(path, ".log"); }
  SECTION("its manifest") { Damage(path, "manifest"); }
  SECTION("no log") { fs::remove_all(path / "log"); }
  SECTION("no directory") { fs::remove_all(path); }
  const auto before = FilesBelow(path);
  server.Start();
  CHECK_THAT(server.Log(), Contains("shard 1 is down, and the others serve: " + path.string()) &&
                               Contains("restore") && Contains("start again"));
  server.CheckKeys(false);

  const std::string lost = KeysOf(kDown, 1).front();
  const std::string there = KeysOf(0, 1).front();
  const std::string backup = away.path() + "/backup";
  const std::vector<TypedCommand> refused = {{"GET", lost},
                                             {"SET", lost, "v"},
                                             {"SETNX", lost, "v"},
                                             {"GETSET", lost, "v"},
                                             {"STRLEN", lost},
                                             {"TYPE", lost},
                                             {"GETATTR", lost, "city"},
                                             {"EXISTS", there, lost},
                                             {"MGET", there, lost},
                                             {"DEL", there, lost},
                                             {"MSET", there, "v", lost, "v"},
                                             {"DBSIZE"},
                                             {"SCAN", "0"},
                                             {"SEARCH", "city", "rome"},
                                             {"GREP", "rome", "COUNT"},
                                             {"FLUSHALL"},
                                             {"FLUSHDB"},
                                             {"LAYERS", "1"},
                                             {"LAYERS", "1", "SET", "2"},
                                             {"STOUT.EPOCH"},
                                             {"STOUT.FENCE", "scope", "1000"},
                                             {"STOUT.BACKUP", backup},
                                             {"STOUT.COPY"},
                                             {"STOUT.SCAN", "0", "10", "STAMPS"},
                                             {"STOUT.READ", "1", lost},
                                             {"STOUT.STAMPS", "1", lost},
                                             {"STOUT.WRITE", "1", "", "1", "PUT", lost, "99", "v"}};
  for (const TypedCommand& command : refused) {
    CAPTURE(command);
    CHECK_THAT(server.Do(command), StartsWith(kRefusal + path.string()) && Contains("restore"));
  }
  const fs::directory_iterator made(away.path());
  CHECK(std::distance(begin(made), end(made)) == 1);  // the copy

  CHECK(server.Do({"PING"}) == "+PONG");
  CHECK_THAT(server.Do({"STOUT.SHARDS"}), Contains("$shards, :3"));
  CHECK_THAT(server.Do({"SCHEMA"}), Contains("$city"));
  CHECK_THAT(server.Do({"LAYERS"}), Contains(", " + kRefusal + path.string()));
  CHECK_THAT(server.Do({"LAYERS", "0", "SET", "1"}), StartsWith("[$layers, :1"));
  CHECK_THAT(server.Do({"STOUT.READ", "0", there}), Contains(ValueOf(there)));
  CHECK_THAT(server.Do({"INFO", "shards"}), Contains("shard1:down=" + path.string()) &&
                                                Contains("shard0:keys=400,") &&
                                                Contains("shard2:keys=400,"));
  const std::string log = server.Log();
  const std::string port_is = "metrics at port ";  // the last start's
  const int port = std::stoi(log.substr(log.rfind(port_is) + port_is.size()));
  const std::string metrics =
      HttpClient(static_cast<std::uint16_t>(port)).Do("GET", "/metrics").body;
  CHECK_THAT(metrics, Contains("\nblowfish_shard_up{shard=\"0\"} 1\n") &&
                          Contains("\nblowfish_shard_up{shard=\"1\"} 0\n") &&
                          Contains("\nblowfish_shard_keys{shard=\"0\"} 400\n") &&
                          !Contains("blowfish_shard_keys{shard=\"1\"}"));
  CHECK(server.Do({"SET", there, "other"}) == "+OK");
  CHECK(server.Do({"DEL", there}) == ":1");
  CHECK(server.Do({"SET", there, ValueOf(there)}) == "+OK");

  server.Kill();
  CHECK(FilesBelow(path) == before);
  fs::remove_all(path);
  fs::copy(copy, path, fs::copy_options::recursive);
  server.Start();
  server.CheckKeys(true);
  CHECK(server.Do({"DBSIZE"}) == ":1200");
  CHECK_THAT(server.Do({"STOUT.FENCE", "scope", "1000"}), Contains("+OK"));
}

// Goal: of the commands of a pipeline those are refused that need the shard, as a whole, and the
// others see nothing of them. Method: random pipelines on the server and on a map.
TEST_CASE("commands in pipelines are refused as a whole or done if a shard is down") {
  BlowfishServer server(kServerShards);
  server.Kill();
  fs::remove_all(ShardPath(server.DataDirectory(), kDown));
  server.Start();
  RespClient client(server.port());
  std::vector<std::string> keys;
  for (const std::size_t shard : {0, 0, 0, 1, 2, 2, 2})
    keys.push_back(KeysOf(shard, keys.size() + 1).back());
  const std::uint64_t seed = 7;
  SplitMix64 random(seed);
  std::map<std::string, std::string> model;
  const auto shown = [&](const std::string& key) {
    return model.contains(key) ? "$" + model[key] : std::string("(nil)");
  };
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(seed, round);
    std::vector<std::string> expected;
    for (std::uint64_t left = 1 + random.Below(30); left > 0; --left) {
      TypedCommand command = {random.Below(3) == 0   ? "MGET"
                              : random.Below(2) == 0 ? "MSET"
                                                     : "DEL"};
      const bool set = command[0] == "MSET";
      std::vector<std::string> some;
      for (std::uint64_t more = 1 + random.Below(4); more > 0; --more) {
        some.push_back(keys[random.Below(keys.size())]);
        command.push_back(some.back());
        if (set) command.push_back(std::to_string(random.Below(1000)));
      }
      client.Queue(command);
      if (std::ranges::any_of(
              some, [](const std::string& key) { return ShardOf(key, kServerShards) == kDown; })) {
        expected.push_back(kRefusal);
        ++refused;
      } else if (set) {
        for (std::size_t i = 1; i < command.size(); i += 2) model[command[i]] = command[i + 1];
        expected.emplace_back("+OK");
      } else if (command[0] == "DEL") {
        std::size_t deleted = 0;
        for (const std::string& key : some) deleted += model.erase(key);
        expected.push_back(":" + std::to_string(deleted));
      } else {
        std::string reply = "[";
        for (const std::string& key : some) reply += (reply == "[" ? "" : ", ") + shown(key);
        expected.push_back(reply + "]");
      }
    }
    for (const std::string& reply : expected) {
      const std::string received = client.Receive();
      REQUIRE((reply == kRefusal ? received.starts_with(reply) : received == reply));
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("a server with a shard down refuses transactions as any other does") {
  BlowfishServer server(kServerShards);
  server.Kill();
  fs::remove_all(ShardPath(server.DataDirectory(), kDown));
  server.Start();
  RespClient client(server.port());
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK_THAT(client.Do({"DBSIZE"}), StartsWith("-ERR not done"));
  CHECK_THAT(client.Do({"EXEC"}), StartsWith("-EXECABORT"));
}

}  // namespace
}  // namespace stout::blowfish
