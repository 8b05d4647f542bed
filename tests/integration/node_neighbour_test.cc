// A node that shares two ranges with a scripted node: what it forwards, what it does for the
// other, and keys that no node owns.

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/cluster.h"
#include "node/ranges.h"
#include "stout/adapters/partition.h"
#include "stout/adapters/range_server.h"
#include "stout/in_process_leases.h"
#include "tests/adapters/scripted_resp_server.h"
#include "tests/support/catch.h"
#include "timed_node.h"

namespace stout::node {
namespace {

using namespace std::chrono_literals;
using Catch::StartsWith;
using test::ScriptedRespServer;

constexpr char kSelf[] = "self:1";
constexpr char kTooLarge[] =
    "-ERR the replies are larger than --max-replies: request less at a time";
constexpr char kNoRoom[] = "-TRYAGAIN not done: the replies to others take the room";

// Two ranges, whose owners the test sets.
class TwoRanges final : public Ranges {
 public:
  [[nodiscard]] const Partition& partition() const override { return partition_; }
  void Run(RangeId range, bool, RangeServer::Operation operation) override {
    if (!owners[range] || *owners[range] != kSelf) return operation(nullptr);
    const auto served =
        std::make_shared<ServedRange>(ServedRange{.range = range,
                                                  .epoch = 1,
                                                  .map = {std::shared_ptr<void>(), map},
                                                  .owns = [] { return true; },
                                                  .state = nullptr});
    asio::dispatch(map->get_executor(),
                   [served, operation = std::move(operation)]() mutable { operation(served); });
  }
  [[nodiscard]] std::optional<Lease> LeaseOf(RangeId range) const override {
    if (!owners[range]) return std::nullopt;
    return Lease{.address = *owners[range], .session = 1, .epoch = 1};
  }
  [[nodiscard]] std::vector<RangeServer::Served> Served() const override { return {}; }
  void OnFenced(const ServedRange&) override {}

  std::vector<std::optional<std::string>> owners = {kSelf, kSelf};
  KeyMap* map = nullptr;

 private:
  const Partition partition_ = SlotPartition(2);
};

RangeServerOptions OptionsOfTwo() {
  RangeServerOptions options;
  options.partition = SlotPartition(2);
  return options;
}

struct NeighbourTest {
  NeighbourTest() { ranges.map = &node.map; }

  // Returns a key of a range.
  [[nodiscard]] std::string KeyIn(RangeId range) const {
    for (int i = 0;; ++i) {
      std::string key = "{" + std::to_string(i) + "}";
      if (ranges.RangeOf(key) == range) return key;
    }
  }
  // Lets a client of Redis Cluster look at the owners. The second range is the neighbour's then.
  void ShareWithNeighbour() {
    ranges.owners[1] = "127.0.0.1:" + std::to_string(neighbour.port());
    REQUIRE(client.Do({"CLUSTER", "SLOTS"}) == "[]");
  }
  // The replies to commands of another node, by a new connection.
  std::vector<std::string> AsPeer(std::vector<Words> commands) {
    commands.insert(commands.begin(), {"STOUT.PEER", "1"});
    std::vector<std::string> replies = Connection(node).Pipeline(commands);
    replies.erase(replies.begin());
    return replies;
  }
  // Returns the number of these commands that the neighbour has received.
  [[nodiscard]] std::size_t Received(const std::string& name) const {
    const auto commands = neighbour.commands();
    return static_cast<std::size_t>(std::ranges::count_if(
        commands, [&name](const Words& command) { return command.front() == name; }));
  }

  ScriptedRespServer neighbour{
      [](const ScriptedRespServer::Command&) { return ScriptedRespServer::Answer{"+OK\r\n"}; }};
  asio::io_context context;
  std::int64_t now = kStart;
  ProbedStore store{context.get_executor()};
  SharedStore source{context.get_executor(), store, "ranges", {}};
  InProcessLeases leases{context.get_executor()};
  RangeServer server{context.get_executor(), source, leases, OptionsOfTwo()};
  Cluster cluster{server, kSelf, Peers(context.get_executor(), "", 1min, 2)};
  TwoRanges ranges;
  TimedNode node{context, store, now, 1, Plain(), &ranges, &cluster};
  Connection client{node};
  const std::string own = KeyIn(0);
  const std::string foreign = KeyIn(1);
};

TEST_CASE_METHOD(NeighbourTest, "a command that is split by range is forwarded, not redirected",
                 "[node][cluster]") {
  neighbour.Follow([](const ScriptedRespServer::Command& command) -> ScriptedRespServer::Answer {
    if (command.front() == "mget") return {"*1\r\n" + test::Bulk("there")};
    if (command.front() == "del") return {":1\r\n"};
    return {"+OK\r\n"};
  });
  CHECK(client.Do({"SET", own, "here"}) == "+OK");
  ShareWithNeighbour();
  CHECK_THAT(client.Do({"GET", foreign}), StartsWith("-MOVED"));
  CHECK_THAT(client.Do({"MGET", foreign, foreign}), StartsWith("-MOVED"));
  CHECK(client.Do({"MGET", own, foreign}) == "[$here, $there]");
  CHECK(client.Do({"DEL", own, foreign}) == ":2");
  CHECK(client.Do({"GET", own}) == "(nil)");
}

TEST_CASE_METHOD(NeighbourTest, "a read for which its owner has no room is sent again",
                 "[node][cluster]") {
  int reads = 0;
  neighbour.Follow([&](const ScriptedRespServer::Command& command) -> ScriptedRespServer::Answer {
    if (command.front() != "GET") return {"+OK\r\n"};
    if (++reads == 1) return {std::string(kNoRoom) + "\r\n"};
    return {test::Bulk("there")};
  });
  ranges.owners[1] = "127.0.0.1:" + std::to_string(neighbour.port());
  CHECK(client.Do({"GET", foreign}) == "$there");
  CHECK(reads == 2);
  CHECK(cluster.forwarded == 2);  // for the metrics
  CHECK(client.Do({"SET", own, "here"}) == "+OK");
  CHECK(cluster.forwarded == 2);
}

TEST_CASE_METHOD(NeighbourTest, "a write is not sent again if its owner may have carried it out",
                 "[node][cluster]") {
  // Carries out each command. The first of its kind gets no answer.
  neighbour.Follow([increments = 0, reads = 0](const ScriptedRespServer::Command& command) mutable
                   -> ScriptedRespServer::Answer {
    if (command.front() == "INCR") {
      if (++increments == 1) return {.close = true};
      return {":" + std::to_string(increments) + "\r\n"};
    }
    if (command.front() == "GET") {
      if (++reads == 1) return {.close = true};
      return {test::Bulk("there")};
    }
    return {"+OK\r\n"};
  });
  ranges.owners[1] = "127.0.0.1:" + std::to_string(neighbour.port());
  CHECK_THAT(client.Do({"INCR", foreign}), StartsWith("-UNKNOWN whether it is done: node "));
  CHECK(Received("INCR") == 1);
  // A read changes nothing.
  CHECK(client.Do({"GET", foreign}) == "$there");
  CHECK(Received("GET") == 2);
}

TEST_CASE_METHOD(NeighbourTest, "forwarded commands are not to blame for the room of others",
                 "[node][cluster]") {
  node.service.limits.max_replies = 140;
  const std::string value(60, 'v');
  REQUIRE(client.Do({"SET", own, value}) == "+OK");
  CHECK(AsPeer({{"GET", own},
                {"GET", own},
                {"GETDEL", own},
                {"MGET", own, own},
                {"STOUT.PAGE", "0", "", "", "10", "1"}}) ==
        std::vector<std::string>{"$" + value, kNoRoom, kNoRoom, kNoRoom, kNoRoom});
  // A reply that is too large without others is an error, however often it is asked for.
  CHECK(AsPeer({{"MGET", own, own}, {"GET", own}}) == std::vector<std::string>{kTooLarge, kNoRoom});
  // Former commands of a transaction may have changed keys.
  CHECK(AsPeer({{"STOUT.EXEC", "0", "2", "GET", own, "2", "GET", own}}).front() ==
        "[$" + value + ", " + kTooLarge + "]");
  // Nothing of it is done if the replies before it take the room.
  CHECK(AsPeer({{"GET", own}, {"STOUT.EXEC", "0", "2", "INCR", own + "n", "2", "GETDEL", own}}) ==
        std::vector<std::string>{"$" + value, kNoRoom});
  CHECK(client.Do({"GET", own + "n"}) == "(nil)");
  CHECK(client.Do({"GET", own}) == "$" + value);
  // Without values, too.
  node.service.limits.max_replies = 200;
  Words absent = {"MGET"};
  absent.insert(absent.end(), 14, own + "absent");
  CHECK(AsPeer({{"GET", own}, {"GET", own}, absent}).back() == kNoRoom);
  node.service.limits.max_replies = 140;
  // The commands of one client are.
  CHECK(client.Pipeline({{"GET", own}, {"GET", own}}) ==
        std::vector<std::string>{"$" + value, kTooLarge});
}

TEST_CASE_METHOD(NeighbourTest, "a pass over the keys of a node fails at a key that no node owns",
                 "[node][cluster]") {
  REQUIRE(client.Do({"SET", own, "here"}) == "+OK");
  REQUIRE(client.Do({"SET", foreign, "there"}) == "+OK");
  ShareWithNeighbour();
  CHECK(client.Do({"DBSIZE"}) == ":1");
  CHECK(client.Do({"SCAN", "0"}) == "[$0, [$" + own + "]]");
  ranges.owners[1].reset();
  for (const Words& command : {Words{"DBSIZE"}, Words{"SCAN", "0"}, Words{"FLUSHALL"}})
    CHECK_THAT(client.Do(command), StartsWith("-TRYAGAIN"));
  // The client asks all nodes again once there is an owner.
  ranges.owners[1] = kSelf;
  CHECK(client.Do({"FLUSHALL"}) == "+OK");
  CHECK(store.Stored(foreign) == "(none)");
  // The owner was lost during the pass.
  REQUIRE(client.Do({"SET", own, "here"}) == "+OK");
  ranges.owners[1].reset();
  CHECK_THAT(client.Do({"FLUSHALL"}), StartsWith("-ERR not all done: TRYAGAIN"));
}

TEST_CASE_METHOD(NeighbourTest, "a pass over all keys ends when the node does", "[node]") {
  Words set = {"MSET"};
  for (int i = 0; i < 1500; ++i) set.insert(set.end(), {own + std::to_string(i), "v"});
  REQUIRE(client.Do(set) == "+OK");
  const std::string command = GENERATE("DBSIZE", "FLUSHALL");
  const int before = store.scans;
  store.after_scan = [this] { node.service.draining = true; };
  CHECK_THAT(client.Do({command}), Catch::Contains("TRYAGAIN this node ends"));
  CHECK(store.scans == before + 1);
}

}  // namespace
}  // namespace stout::node
