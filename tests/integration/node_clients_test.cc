// The clients of a stout-node, as CLIENT LIST and INFO show them.

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

TEST_CASE("CLIENT LIST shows the clients that are asked for", "[node]") {
  const NodeServer node("memory:");
  RespClient first(node.port());
  RespClient second(node.port());
  const std::string id = first.Do({"CLIENT", "ID"}).substr(1);
  const std::string other = second.Do({"CLIENT", "ID"}).substr(1);
  const auto lists = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"CLIENT", "LIST"});
    const std::string reply = first.Do(options);
    if (reply.starts_with('-')) return reply;
    std::string found;
    for (const std::string& each : {id, other}) {
      if (reply.find("id=" + each + " ") != std::string::npos) found += each + " ";
    }
    return found;
  };
  CHECK(lists({}) == id + " " + other + " ");
  CHECK(lists({"ID", other}) == other + " ");
  CHECK(lists({"id", "999", id}) == id + " ");
  CHECK(lists({"ID", "x"}) == "-ERR Invalid client ID");
  CHECK(lists({"TYPE", "normal"}) == id + " " + other + " ");
  CHECK(lists({"TYPE", "pubsub"}).empty());
  CHECK(lists({"TYPE", "x"}) == "-ERR Unknown client type 'x'");
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"x"}, {"ID"}, {"TYPE"}, {"TYPE", "normal", "x"}})
    CHECK(lists(options) == "-ERR syntax error");
  // A node is no client.
  CHECK(second.Do({"QUIT"}) == "+OK");
  RespClient peer(node.port());
  REQUIRE(peer.Do({"STOUT.PEER", "1"}) == "+OK");
  CHECK(Eventually([&] {
    return first.Do({"INFO", "clients"}).find("connected_clients:1\r") != std::string::npos;
  }));
}

}  // namespace
}  // namespace stout::test
