// Tenants of a stout-node: STOUT.TAG, STOUT.ADMIT, and what the pages of --metrics show of them.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/http_client.h"
#include "tests/support/node_server.h"
#include "tests/support/private_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::node {
namespace {

// A node whose metrics can be read.
struct Node {
  explicit Node(std::string store = "memory:", std::vector<std::string> settings = {})
      : server(std::move(store), All(std::move(settings))) {}

  std::vector<std::string> All(std::vector<std::string> settings) const {
    settings.insert(settings.end(), {"--metrics", fmt::format("127.0.0.1:{}", metrics)});
    return settings;
  }
  [[nodiscard]] std::string Page(const std::string& path) const {
    return test::HttpClient(static_cast<std::uint16_t>(metrics)).Do("GET", path).body;
  }
  // Returns true if /metrics has this line.
  [[nodiscard]] bool Shows(const std::string& line) const {
    return ("\n" + Page("/metrics")).find("\n" + line + "\n") != std::string::npos;
  }

  const int metrics = test::FreePort();
  test::NodeServer server;
};

TEST_CASE("a connection has the tenant that it names", "[node][tenants]") {
  const Node node;
  test::RespClient client(node.server.port());
  CHECK(client.Do({"STOUT.TAG"}) == "$default");
  CHECK(client.Do({"STOUT.TAG", "shop"}) == "+OK");
  CHECK(client.Do({"STOUT.TAG"}) == "$shop");
  CHECK(test::RespClient(node.server.port()).Do({"STOUT.TAG"}) == "$default");
  CHECK(client.Do({"STOUT.TAG", ""}).starts_with("-ERR a tenant's name has 1 to 64"));
  CHECK(client.Do({"STOUT.TAG", "a b"}).starts_with("-ERR a tenant's name has"));
  CHECK(client.Do({"STOUT.TAG", std::string(65, 'x')}).starts_with("-ERR a tenant's name has"));
  CHECK(client.Do({"STOUT.TAG", "a", "b"}).starts_with("-ERR syntax"));
  CHECK(client.Do({"STOUT.TAG"}) == "$shop");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"STOUT.TAG", "reports"}).starts_with("-ERR Command not allowed inside"));
  CHECK(client.Do({"DISCARD"}) == "+OK");
  CHECK(client.Do({"RESET"}) == "+RESET");
  CHECK(client.Do({"STOUT.TAG"}) == "$default");
}

TEST_CASE("look-ups count for the tenant that has asked", "[node][tenants]") {
  const Node node;
  test::RespClient client(node.server.port());
  // In one batch: each command has the tenant that was named before it.
  for (const auto& words : std::vector<std::vector<std::string>>{{"SET", "k", "v"},
                                                                 {"GET", "k"},
                                                                 {"STOUT.TAG", "shop"},
                                                                 {"GET", "k"},
                                                                 {"MGET", "k", "absent"},
                                                                 {"STOUT.TAG", "reports"},
                                                                 {"GET", "absent"}})
    client.Queue(words);
  client.Send("");
  CHECK(client.Do({"PING"}) != "");  // the first reply
  const auto look_ups = [](const std::string& tenant, const std::string& kind, int count) {
    return fmt::format("stout_node_tenant_{}_total{{tenant=\"{}\",cache=\"records\"}} {}", kind,
                       tenant, count);
  };
  CHECK(test::Eventually([&] { return node.Shows(look_ups("reports", "hits", 1)); }));
  CHECK(node.Shows(look_ups("shop", "hits", 2)));
  CHECK(node.Shows(look_ups("shop", "misses", 1)));
  CHECK(node.Shows(look_ups("reports", "misses", 0)));
  CHECK(node.Shows("stout_node_tenant_admitted_ratio{tenant=\"shop\",cache=\"records\"} 1"));
  CHECK(node.Page("/stats").find(R"("tenant":"shop","cache":"records")") != std::string::npos);
}

TEST_CASE("tenants beyond the limit are one", "[node][tenants]") {
  const Node node("memory:", {"--max-tenants", "1"});
  test::RespClient client(node.server.port());
  CHECK(client.Do({"STOUT.TAG", "shop"}) == "+OK");
  CHECK(client.Do({"STOUT.TAG", "reports"}) == "+OK");
  CHECK(client.Do({"STOUT.TAG"}) == "$other");
}

TEST_CASE("an operator fixes what a tenant may displace", "[node][tenants]") {
  const Node node("memory:", {"--cache-bytes", "1MiB"});
  test::RespClient client(node.server.port());
  for (const char* const share : {"-0.1", "1.1", "nan", "x", ""}) {
    CHECK(client.Do({"STOUT.ADMIT", "shop", share}).starts_with("-ERR a share is a number"));
  }
  CHECK(client.Do({"STOUT.ADMIT", "shop", "0.35"}) == "+OK");
  CHECK(client.Do({"STOUT.TAG", "shop"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  const std::string line = "stout_node_tenant_admitted_ratio{tenant=\"shop\",cache=\"records\"} ";
  CHECK(test::Eventually([&] { return node.Shows(line + "0.35"); }));
  CHECK(node.Shows(
      "stout_node_tenant_admission{tenant=\"shop\",cache=\"records\",reason=\"by hand\"} 1"));
  CHECK(client.Do({"STOUT.ADMIT", "shop", "AUTO"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK(test::Eventually([&] { return node.Shows(line + "1"); }));
}

TEST_CASE("an operator gives a tenant a weight", "[node][tenants]") {
  const Node node("memory:", {"--tenant", "reports,share=0.25,weight=2"});
  test::RespClient client(node.server.port());
  CHECK(client.Do({"STOUT.TAG", "reports"}) == "+OK");
  CHECK(client.Do({"GET", "k"}) == "(nil)");
  CHECK(test::Eventually([&] {
    return node.Shows(
        "stout_node_tenant_admitted_ratio{tenant=\"reports\",cache=\"records\"} 0.25");
  }));
  CHECK(client.Do({"STOUT.ADMIT", "shop", "auto", "weight", "4"}) == "+OK");
  CHECK(client.Do({"STOUT.ADMIT", "shop", "auto", "weight", "0"}).starts_with("-ERR a weight"));
  CHECK(client.Do({"STOUT.ADMIT", "shop", "x", "weight", "4"}).starts_with("-ERR a share"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"STOUT.ADMIT", "shop", "auto", "weight"},
        std::vector<std::string>{"STOUT.ADMIT", "shop", "auto", "height", "4"}})
    CHECK(client.Do(words).starts_with("-ERR syntax: STOUT.ADMIT"));
}

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("a node shows what tenants do in the cache of its store", "[node][tenants]") {
  const Node node("rocksdb:{}/db");
  test::RespClient client(node.server.port());
  CHECK(client.Do({"STOUT.TAG", "shop"}) == "+OK");
  CHECK(client.Do({"GET", "absent"}) == "(nil)");
  CHECK(test::Eventually([&] {
    return node.Shows("stout_node_tenant_hits_total{tenant=\"shop\",cache=\"store\"} 1");
  }));
}
#endif

}  // namespace
}  // namespace stout::node
