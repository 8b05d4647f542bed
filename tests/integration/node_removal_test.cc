// Stores that commands add to a running node, and remove from it; and what it reports of them.

#ifdef STOUT_HAS_REDIS

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/kind.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"

namespace stout::node {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using Catch::Contains;
using test::Eventually;
using test::RedisServer;

// A node with one range.
struct RemovalTest {
  std::string Datalet(std::vector<std::string> words) {
    words.insert(words.begin(), "STOUT.DATALET");
    return client.Do(words);
  }
  bool Lists(const std::string& id) {
    return Datalet({"LIST"}).find(fmt::format("\"id\":\"{}\"", id)) != std::string::npos;
  }
  // Waits until this number of members are in.
  bool AwaitIn(std::size_t count) {
    return Eventually([&] {
      const std::string status = client.Do({"STOUT.STATUS"});
      const std::string in = "\"state\":\"in\"";
      std::size_t found = 0;
      for (auto at = status.find(in); at != std::string::npos; at = status.find(in, at + 1))
        ++found;
      return found == count;
    });
  }

  RedisServer first, second, third;
  test::NodeServer node{"",
                        {"--join", "in-process:", "--datalet", first.Url(), "--datalet-id", "a",
                         "--ranges", "1", "--member-timeout", "1s"}};
  test::RespClient client{node.port()};
};

TEST_CASE_METHOD(RemovalTest, "a datalet that is removed stays known until others have its ranges",
                 "[node][members]") {
  REQUIRE(AwaitIn(1));
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
  CHECK_THAT(Datalet({"REMOVE", "a"}), Contains("the only one that is in"));
  REQUIRE(Datalet({"ADD", second.Url(), "b"}) == "+OK");
  REQUIRE(Datalet({"ADD", third.Url(), "c"}) == "+OK");
  REQUIRE(AwaitIn(3));
  CHECK_THAT(Datalet({"LIST"}), Contains("\"leaving\":false") && !Contains("\"leaving\":true"));
  third.Kill();
  REQUIRE(AwaitIn(2));
  // The range lacks a member, so b stays in.
  CHECK(Datalet({"REMOVE", "b"}) == "+OK");
  std::this_thread::sleep_for(1500ms);  // nothing is to happen: a record goes after 1 s
  CHECK(Lists("b"));
  CHECK_THAT(Datalet({"LIST"}), Contains("\"leaving\":true"));
  CHECK(Datalet({"REMOVE", "b"}) == "+OK");
  CHECK_THAT(Datalet({"REMOVE", "a"}), Contains("the only one that is in and stays for range 0"));
  CHECK(Datalet({"ADD", second.Url(), "b"}) == "+OK");  // takes it back
  CHECK_THAT(Datalet({"LIST"}), !Contains("\"leaving\":true"));
  CHECK(Datalet({"REMOVE", "a"}) == "+OK");
  CHECK(Lists("a"));
  CHECK(Datalet({"REMOVE", "c"}) == "+OK");  // in for no range
  CHECK(Eventually([&] { return !Lists("c"); }));
  // Now b has all that is to have the range.
  CHECK(Eventually([&] { return !Lists("a"); }));
  CHECK(AwaitIn(1));
  CHECK(Lists("b"));
  first.Kill();
  CHECK(client.Do({"GET", "k"}) == "$v");
}

TEST_CASE_METHOD(RemovalTest, "a datalet whose removal is taken back keeps its capacity",
                 "[node][members]") {
  const auto capacity = [](const char* each) {
    return Contains(fmt::format("\"capacity\":{}", each));
  };
  REQUIRE(AwaitIn(1));
  REQUIRE(Datalet({"ADD", second.Url(), "b", "CAPACITY", "7"}) == "+OK");
  REQUIRE(AwaitIn(2));
  CHECK_THAT(Datalet({"LIST"}), capacity("7"));
  CHECK(Datalet({"REMOVE", "b"}) == "+OK");
  CHECK(Datalet({"ADD", second.Url(), "b"}) == "+OK");
  CHECK_THAT(Datalet({"LIST"}), capacity("7") && !Contains("\"leaving\":true"));
  CHECK(Datalet({"ADD", second.Url(), "b", "CAPACITY", "3"}) == "+OK");
  CHECK_THAT(Datalet({"LIST"}), capacity("3") && !capacity("7"));
}

TEST_CASE_METHOD(RemovalTest, "a datalet that is dead when it is removed leaves by its silence",
                 "[node][members]") {
  REQUIRE(AwaitIn(1));
  REQUIRE(Datalet({"ADD", second.Url(), "b"}) == "+OK");
  REQUIRE(AwaitIn(2));
  second.Kill();
  CHECK(Datalet({"REMOVE", "b"}) == "+OK");
  CHECK(Eventually([&] { return !Lists("b"); }));
  CHECK(client.Do({"SET", "k", "v"}) == "+OK");
}

TEST_CASE_METHOD(RemovalTest, "a server that is a datalet already is refused under another URL",
                 "[node][members]") {
  // A table has it first, under the same URL.
  REQUIRE(client.Do({"STOUT.TABLE", "CREATE", "orders", "RANGES", "1"}) == "+OK");
  test::RespClient orders(node.port());
  REQUIRE(Eventually([&] { return orders.Do({"STOUT.TABLE", "USE", "orders"}) == "+OK"; }));
  const std::string url = second.Url();
  const std::string other = second.Url("timeout=9s");
  const auto add = [](test::RespClient& by, const std::string& each, const char* id) {
    return by.Do({"STOUT.DATALET", "ADD", each, id});
  };
  REQUIRE(add(orders, url, "b") == "+OK");
  REQUIRE(Eventually([&] { return !second.Execute({"KEYS", "*!stout:datalet:*"}).empty(); }));
  CHECK_THAT(add(orders, other, "other"), Contains("it is a datalet of a deployment already"));
  CHECK(add(client, url, "b") == "+OK");
  REQUIRE(AwaitIn(2));
  CHECK_THAT(
      add(client, other, "other"),
      Contains("it is a datalet of a deployment already, or was one: it has the key 'stout:"));
}

// --- STOUT.STATUS -------------------------------------------------------------------------------

using Kinds = std::map<std::string, json::kind>;

// Returns the members of an object with the kinds of their values.
Kinds KindsOf(const json::value& value) {
  Kinds kinds;
  for (const auto& member : value.as_object()) kinds[member.key()] = member.value().kind();
  return kinds;
}

TEST_CASE_METHOD(RemovalTest, "STOUT.STATUS is JSON with each range, its owner and its members",
                 "[node][members]") {
  const auto status = [this] { return json::parse(client.Do({"STOUT.STATUS"}).substr(1)); };
  const auto range = [&status] { return status().at("ranges").at(0); };
  REQUIRE(AwaitIn(1));
  REQUIRE(client.Do({"SET", "k", "v"}) == "+OK");
  REQUIRE(Datalet({"ADD", second.Url(), "b"}) == "+OK");
  REQUIRE(AwaitIn(2));
  using enum json::kind;
  const json::value shown = status();
  CHECK(KindsOf(shown) == Kinds{{"node", string}, {"mode", string}, {"ranges", array}});
  CHECK(shown.at("mode") == "ms+sc");
  REQUIRE(shown.at("ranges").as_array().size() == 1);
  const json::value& only = shown.at("ranges").at(0);
  CHECK(KindsOf(only) == Kinds{{"range", int64},
                               {"epoch", int64},
                               {"owner", string},
                               {"mode", string},
                               {"members", array}});
  CHECK(only.at("range") == 0);
  CHECK(only.at("owner") == shown.at("node"));
  const json::array& members = only.at("members").as_array();
  REQUIRE(members.size() == 2);
  for (const json::value& member : members) {
    CHECK(KindsOf(member) == Kinds{{"id", string},
                                   {"url", string},
                                   {"state", string},
                                   {"lag_keys", int64},
                                   {"filled", int64}});
    CHECK(member.at("state") == "in");
    CHECK(member.at("lag_keys") == 0);
  }
  CHECK(members[0].at("id") == "a");
  CHECK(members[0].at("filled") == 0);
  CHECK(members[1].at("id") == "b");
  CHECK(members[1].at("url").as_string() == second.Url());
  CHECK(members[1].at("filled").as_int64() >= 1);  // k

  // A member that is slow may lack writes that are answered.
  REQUIRE(client.Do({"STOUT.MODE", "ms+ec"}) == "+OK");
  REQUIRE(Eventually([&] { return range().at("mode") == "ms+ec"; }));
  second.Kill();
  REQUIRE(client.Do({"SET", "k", "w"}) == "+OK");
  CHECK(Eventually([&] { return range().at("members").at(1).at("lag_keys") == 1; }));
}

}  // namespace
}  // namespace stout::node

#endif
