// Layers of a server that runs: they come, go and survive, while its answers stay right.

#include <cstddef>
#include <string>
#include <vector>

#include "server_settings.h"
#include "stout/core/random.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/resp_client.h"

namespace stout::blowfish {
namespace {

using Catch::StartsWith;
using test::BlowfishServer;
using test::Eventually;
using test::kRestless;
using test::RespClient;
using test::With;

TEST_CASE("layers come and go while clients read") {
  const BlowfishServer server(1, With(kRestless, {"--attributes", "a,b,c,d,e,f,g,h,i,j"}));
  RespClient client(server.port());
  for (int i = 0; i < 3000; ++i) {
    client.Queue({"SET", std::to_string(i), "1|2|3|" + std::to_string(i % 7) + "|5|6|7|8|9|0"});
  }
  for (int i = 0; i < 3000; ++i) REQUIRE(client.Receive() == "+OK");
  REQUIRE(Eventually([&] {
    return client.Do({"INFO", "persistence"}).find("merges:0") == std::string::npos;
  }));
  CHECK_THAT(client.Do({"LAYERS", "0", "SET", "3"}), StartsWith("[$layers, :3"));
  for (int layers = 0; layers < 4; ++layers) {
    client.Queue({"LAYERS", "0", "SET", std::to_string(layers)});
    client.Queue({"SEARCH", "d", "3", "COUNT"});
    client.Queue({"GET", "77"});
    CHECK_THAT(client.Receive(), StartsWith("[$layers, :" + std::to_string(layers)));
    CHECK(client.Receive() == ":429");
    CHECK(client.Receive() == "$1|2|3|0|5|6|7|8|9|0");
  }
  // They are filled when there is no other work.
  CHECK(Eventually([&] {
    return client.Do({"INFO", "shards"}).find("filling=0") != std::string::npos;
  }));
  CHECK(client.Do({"LAYERS", "1"}) == "-ERR no such shard; they are numbered from 0 to 0");
}

TEST_CASE("a shard that is busy with texts in blocks gets layers, and answers right",
          "[not_tsan]") {
  const BlowfishServer server(1, kRestless);
  RespClient client(server.port());
  constexpr std::size_t kTexts = 24;
  constexpr std::size_t kBytes = 250'000;
  std::vector<std::string> texts;
  SplitMix64 random(1);
  for (std::size_t i = 0; i < kTexts; ++i) {
    // zstd halves it, and an index does not. A longer block gets no layer.
    texts.emplace_back();
    while (texts.back().size() < kBytes + i) texts.back() += "0123456789abcdef"[random.Below(16)];
    CHECK(client.Do({"SET", "text" + std::to_string(i), texts.back()}) == "+OK");
  }
  REQUIRE(Eventually([&] {
    return client.Do({"LAYERS", "0", "SET", "1"}).find("$bytes, :0") == std::string::npos;
  }));
  CHECK_THAT(client.Do({"LAYERS", "0", "SET", "0"}), StartsWith("[$layers, :0, $bytes, :0"));
  // Each text is unpacked for its length, which is a short reply, so that the shard has most of the
  // work. Eventually() pauses between its looks, so each look takes much longer than a pause.
  CHECK(Eventually([&] {
    for (int round = 0; round < 50; ++round) {
      for (std::size_t i = 0; i < kTexts; ++i) client.Queue({"STRLEN", "text" + std::to_string(i)});
      for (std::size_t i = 0; i < kTexts; ++i)
        REQUIRE(client.Receive() == ":" + std::to_string(kBytes + i));
    }
    return client.Do({"INFO", "navigation"}).find("layers_added:0") == std::string::npos;
  }));
  for (int layers = 3; layers >= 0; --layers) {
    client.Queue({"LAYERS", "0", "SET", std::to_string(layers)});
    for (std::size_t i = 0; i < kTexts; ++i) client.Queue({"GET", "text" + std::to_string(i)});
    client.Queue({"GREP", texts[7].substr(50'000, 20)});
    CHECK_THAT(client.Receive(), StartsWith("[$layers, :"));
    for (const std::string& text : texts) CHECK(client.Receive() == "$" + text);
    CHECK(client.Receive() == "[$text7]");
  }
}

TEST_CASE("layers survive the death of the server") {
  BlowfishServer server(2, With(kRestless, {"--attributes", "a,b,c,d"}));
  {
    RespClient client(server.port());
    for (int i = 0; i < 6000; ++i)
      client.Queue({"SET", std::to_string(i), "1|2|" + std::to_string(i % 7) + "|4"});
    for (int i = 0; i < 6000; ++i) REQUIRE(client.Receive() == "+OK");
    for (const std::string shard : {"0", "1"}) {
      const std::string layers = shard == "0" ? "3" : "1";
      const std::string set = "[$layers, :" + layers;
      REQUIRE(Eventually([&] {
        const std::string reply = client.Do({"LAYERS", shard, "SET", layers});
        return reply.starts_with(set) && reply.find("$bytes, :0") == std::string::npos;
      }));
    }
    // It is written down behind the reply, and before the next one.
    CHECK_THAT(client.Do({"SEARCH", "c", "3", "COUNT"}), StartsWith(":"));
  }
  server.Kill();
  server.Start();
  RespClient client(server.port());
  CHECK_THAT(client.Do({"LAYERS", "0"}), StartsWith("[$layers, :3"));
  CHECK_THAT(client.Do({"LAYERS", "1"}), StartsWith("[$layers, :1"));
  CHECK(client.Do({"SEARCH", "c", "3", "COUNT"}) == ":857");
  CHECK(Eventually([&] {
    return client.Do({"INFO", "shards"}).find("filling=1") == std::string::npos;
  }));
}

}  // namespace
}  // namespace stout::blowfish
