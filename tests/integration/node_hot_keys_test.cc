// Goal: INFO shows the keys that clients use most, with their shares.
// Method: streams of uses whose shares are known.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "node/hot_keys.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/node_server.h"
#include "tests/support/resp_client.h"

namespace stout::node {
namespace {

// Uses of one key, among uses of a hundred thousand others.
void UseHotKey(HotKeys& keys, const std::string& hot, double share, int uses) {
  SplitMix64 random(7);
  for (int i = 0; i < uses; ++i) {
    keys.Use(random.Unit() < share ? hot : fmt::format("cold{}", random.Below(100'000)));
  }
}

TEST_CASE("hot keys are found with their shares", "[node][hot_keys]") {
  HotKeys keys;
  CHECK(keys.Hottest(10).empty());
  SplitMix64 random(3);
  for (int i = 0; i < 400'000; ++i) {
    const std::uint64_t draw = random.Below(100);
    keys.Use(draw < 30   ? "first"
             : draw < 40 ? "second"
                         : fmt::format("cold{}", random.Below(100'000)));
  }
  const auto hottest = keys.Hottest(10);
  REQUIRE(hottest.size() == 2);
  CHECK(hottest[0].key == "first");
  CHECK(std::abs(hottest[0].share - .3) < .03);
  CHECK(hottest[1].key == "second");
  CHECK(std::abs(hottest[1].share - .1) < .02);
  CHECK(keys.Hottest(1).size() == 1);
}

TEST_CASE("no key is hot if all are used alike", "[node][hot_keys]") {
  HotKeys keys;
  UseHotKey(keys, "hot", 0, 400'000);
  CHECK(keys.Hottest(10).empty());
}

TEST_CASE("a key that is no longer used is soon not hot", "[node][hot_keys]") {
  HotKeys keys;
  UseHotKey(keys, "old", .5, 300'000);
  REQUIRE(keys.Hottest(10).size() == 1);
  UseHotKey(keys, "new", .2, 1'200'000);
  const auto hottest = keys.Hottest(10);
  REQUIRE_FALSE(hottest.empty());
  CHECK(hottest[0].key == "new");
  CHECK(std::abs(hottest[0].share - .2) < .03);
  for (const auto& key : hottest) {
    if (key.key == "old") CHECK(key.share < .05);
  }
}

TEST_CASE("hot keys are found although new keys replace the least used all the time",
          "[node][hot_keys]") {
  HotKeys keys;
  for (int i = 0; i < 1'000'000; ++i) {
    keys.Use(i % 4 == 0 ? fmt::format("hot{}", i / 4 % 5) : fmt::format("cold{}", i));
  }
  const auto hottest = keys.Hottest(10);
  REQUIRE(hottest.size() == 5);
  for (const auto& key : hottest) {
    CHECK(key.key.starts_with("hot"));
    CHECK(std::abs(key.share - .05) < .02);
  }
}

TEST_CASE("a key that is too long is not kept", "[node][hot_keys]") {
  HotKeys keys;
  for (int i = 0; i < 1000; ++i) {
    keys.Use(std::string(HotKeys::kLongestKey + 1, 'x'));
    keys.Use(std::string(HotKeys::kLongestKey, 'y'));
  }
  const auto hottest = keys.Hottest(10);
  REQUIRE(hottest.size() == 1);
  CHECK(hottest[0].key == std::string(HotKeys::kLongestKey, 'y'));
  CHECK(hottest[0].share == 1);
}

TEST_CASE("INFO shows hot keys by name, and escapes what is not text", "[node][hot_keys]") {
  const test::NodeServer node("memory:");
  test::RespClient client(node.port());
  CHECK(client.Do({"SET", "home", "1"}) == "+OK");
  CHECK(client.Do({"SET", "a,\r\n\x01", "1"}) == "+OK");
  for (int i = 0; i < 1000; ++i)
    client.Queue({i % 4 == 0 ? "STRLEN" : "GET", i % 4 == 0 ? "a,\r\n\x01" : "home"});
  for (int i = 0; i < 1000; ++i) (void)client.Receive();
  const std::string info = client.Do({"INFO", "hotkeys"});
  CAPTURE(info);
  CHECK(info.starts_with("$# Hotkeys\r\nhot_key0:key=\"home\",share=0."));
  CHECK(info.find("hot_key1:key=\"a,\\r\\n\\x01\",share=0.") != std::string::npos);
  CHECK(client.Do({"INFO"}).find("hot_key0") == std::string::npos);
}

TEST_CASE("the keys of a transaction count as used", "[node][hot_keys]") {
  const test::NodeServer node("memory:");
  test::RespClient client(node.port());
  constexpr int kTransactions = 1000;
  for (int i = 0; i < kTransactions; ++i) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"MULTI"}, {"INCR", "count"}, {"PING"}, {"EXEC"}})
      client.Queue(command);
  }
  for (int i = 0; i < 4 * kTransactions; ++i) (void)client.Receive();
  CHECK(client.Do({"INFO", "hotkeys"}).find("hot_key0:key=\"count\",share=") != std::string::npos);
}

}  // namespace
}  // namespace stout::node
