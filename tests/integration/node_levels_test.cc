// Goal: the levels of a connection's requests hold: relaxed reads at members, bounds on their
// staleness, writes that are at a number of members, and WAIT.
// Method: as in node_members_test.cc.

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <deque>
#include <string>
#include <thread>

#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

// A key whose range is owned by this node.
std::string KeyOwnedBy(const MemberNodes& nodes, std::size_t node) {
  const auto owned = nodes.view().RangesOf(nodes.address(node));
  REQUIRE_FALSE(owned.empty());
  return KeyOf(owned.front());
}

// Returns how many GETs the node has carried out, as its INFO shows it.
std::string GetsOf(RespClient& node) {
  const std::string info = node.Do({"INFO", "commandstats"});
  const std::size_t at = info.find("cmdstat_get:");
  return at == std::string::npos ? "" : info.substr(at, info.find(',', at) - at);
}

TEST_CASE("a relaxed read needs no owner, and other commands of its connection do",
          "[node][members][levels][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "8s"});
  const std::string key = KeyOwnedBy(nodes, 0);
  const std::string other = KeyOwnedBy(nodes, 2);
  RespClient client(nodes.ports()[1]);
  CHECK(client.Do({"READONLY"}) == "+OK");
  CHECK(client.Do({"SET", key, "1", "EX", "1000"}) == "+OK");
  CHECK(client.Do({"SET", other, "22"}) == "+OK");
  nodes.program(0).Signal(SIGSTOP);
  CHECK(client.Do({"GET", key}) == "$1");
  CHECK(client.Do({"MGET", other, key, other}) == "[$22, $1, $22]");
  CHECK(client.Do({"EXISTS", key, other, key + "x"}) == ":2");
  CHECK(client.Do({"TTL", key}) != ":-1");
  client.Queue({"SET", other, "3"});
  client.Queue({"GET", other});
  client.Queue({"GET", key});
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "$3");  // after the write
  CHECK(client.Receive() == "$1");
  nodes.program(0).Signal(SIGCONT);
  CHECK(client.Do({"STOUT.LEVEL"}) == "$READ relaxed WRITE mode");
  CHECK(client.Do({"READWRITE"}) == "+OK");
  CHECK(client.Do({"STOUT.LEVEL"}) == "$READ mode WRITE mode");
  CHECK(nodes.Fault().empty());
}

TEST_CASE("the levels of a connection are read, shown and reset",
          "[node][members][levels][not_tsan]") {
  MemberNodes nodes;
  RespClient client(nodes.ports()[0]);
  const auto level = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "STOUT.LEVEL");
    return client.Do(words);
  };
  CHECK(level({"read", "RELAXED", "Staleness", "500", "write", "2"}) == "+OK");
  CHECK(level({}) == "$READ relaxed STALENESS 500 WRITE 2");
  CHECK(level({"WRITE", "all"}) == "+OK");
  CHECK(level({}) == "$READ relaxed STALENESS 500 WRITE all");
  CHECK(level({"READ", "relaxed"}) == "+OK");
  CHECK(level({}) == "$READ relaxed WRITE all");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"READ"},
                                             {"READ", "eventual"},
                                             {"READ", "strong", "STALENESS", "5"},
                                             {"READ", "relaxed", "STALENESS"},
                                             {"READ", "relaxed", "STALENESS", "0"},
                                             {"READ", "relaxed", "STALENESS", "86400001"},
                                             {"READ", "causal", "STALENESS", "5"},
                                             {"READ", "causal", "SEEN"},
                                             {"READ", "causal", "SEEN", "0"},
                                             {"WRITE"},
                                             {"WRITE", "0"},
                                             {"WRITE", "65"},
                                             {"WRITE", "-1"},
                                             {"WRITE", "some"},
                                             {"READ", "strong", "WRITE"},
                                             {"NOPE", "1"}}) {
    CAPTURE(words);
    CHECK(level(words).starts_with("-ERR syntax: STOUT.LEVEL [READ mode|strong|relaxed"));
  }
  CHECK(level({}) == "$READ relaxed WRITE all");
  // A node that forwards for several clients sends their commands together.
  for (const char* const seen : {"5", "4000000000000"}) {
    client.Queue({"STOUT.LEVEL", "READ", "causal", "SEEN", seen});
    client.Queue({"STOUT.LEVEL"});
  }
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "$READ causal SEEN 5 WRITE all");
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "$READ causal SEEN 4000000000000 WRITE all");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(level({}).starts_with("-ERR Command not allowed inside"));
  CHECK(client.Do({"RESET"}) == "+RESET");
  CHECK(level({}) == "$READ mode WRITE mode");

  // An owner's last reply may look like a token.
  const std::string key = KeyOwnedBy(nodes, 1);
  const std::string value = "READ causal SEEN 9000000000000000000 WRITE mode";
  CHECK(level({"READ", "causal"}) == "+OK");
  client.Queue({"SET", key, value});
  client.Queue({"READWRITE"});
  client.Queue({"GET", key});
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "$" + value);
  CHECK(nodes.Fault().empty());
}

TEST_CASE("a write at a level is refused while fewer members are in",
          "[node][members][levels][not_tsan]") {
  MemberNodes nodes;
  RespClient client(nodes.ports()[1]);
  const std::string near = KeyOwnedBy(nodes, 1);
  const std::string far = KeyOwnedBy(nodes, 0);
  CHECK(client.Do({"STOUT.LEVEL", "WRITE", "3"}) == "+OK");
  CHECK(client.Do({"MSET", near, "1"}) == "+OK");
  CHECK(client.Do({"INCR", far}) == ":1");
  nodes.program(2).Signal(SIGKILL);
  REQUIRE(Eventually([&] {
    return MemberNodes::Ask(nodes.ports()[0], {"STOUT.STATUS"}).find("\"out\"") !=
           std::string::npos;
  }));
  REQUIRE(Eventually([&] { return client.Do({"INCR", near}).starts_with("-NOREPLICAS"); }));
  REQUIRE(Eventually([&] { return client.Do({"INCR", far}).starts_with("-NOREPLICAS"); }));
  for (const char* const command : {"GET", "INCR"}) {  // a transaction of reads is a read
    CHECK(client.Do({"MULTI"}) == "+OK");
    CHECK(client.Do({"GET", near}) == "+QUEUED");
    CHECK(client.Do({command, near}) == "+QUEUED");
    CHECK(client.Do({"EXEC"}).starts_with(command == std::string("GET") ? "[$" : "-NOREPLICAS"));
  }
  CHECK(client.Do({"STOUT.LEVEL", "WRITE", "2"}) == "+OK");
  CHECK(client.Do({"SET", far, "5"}) == "+OK");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"INCR", far}) == "+QUEUED");
  CHECK(client.Do({"EXEC"}) == "[:6]");
  CHECK(nodes.Fault().empty());
}

TEST_CASE("WAIT counts members, and a bound on staleness leads past one that lags",
          "[node][members][levels][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "20s"});
  REQUIRE(nodes.ChangeMode(ReplicationMode::kMsEc));
  const std::string key = KeyOwnedBy(nodes, 0);
  RespClient writer(nodes.ports()[1]);
  RespClient reader(nodes.ports()[2]);
  REQUIRE(Eventually([&] { return writer.Do({"WAIT", "3", "0"}) == ":3"; }));  // no write
  CHECK(writer.Do({"SET", key, "old"}) == "+OK");
  CHECK(writer.Do({"WAIT", "3", "0"}) == ":3");
  CHECK(reader.Do({"READONLY"}) == "+OK");
  CHECK(reader.Do({"GET", key}) == "$old");
  nodes.way_to(2).Behave({.refuse = true});  // its datalet gets nothing
  nodes.way_to(2).Cut();
  CHECK(writer.Do({"SET", key, "new"}) == "+OK");
  CHECK(writer.Do({"WAIT", "2", "0"}) == ":2");
  CHECK(writer.Do({"WAIT", "3", "100"}) == ":2");
  CHECK(writer.Do({"SET", key, "newer"}) == "+OK");
  CHECK(writer.Do({"WAIT", "3", "300"}) == ":2");
  CHECK(reader.Do({"GET", key}) == "$old");
  CHECK(reader.Do({"STOUT.LEVEL", "READ", "relaxed", "STALENESS", "100"}) == "+OK");
  CHECK(reader.Do({"GET", key}) == "$newer");
  CHECK(writer.Do({"STOUT.LEVEL", "WRITE", "2"}) == "+OK");
  CHECK(writer.Do({"SET", key, "newest"}) == "+OK");
  nodes.way_to(2).Behave({});
  CHECK(writer.Do({"WAIT", "3", "9000"}) == ":3");
  CHECK(reader.Do({"READONLY"}) == "+OK");
  CHECK(reader.Do({"GET", key}) == "$newest");
  CHECK(writer.Do({"WAIT", "x", "0"}).starts_with("-ERR syntax: WAIT"));
  CHECK(nodes.Fault().empty());
}

TEST_CASE("each node answers reads of a hot key by itself, within the bound on staleness",
          "[node][members][levels][not_tsan]") {
  constexpr std::chrono::milliseconds kBound(500);
  constexpr int kReads = 200;
  MemberNodes nodes({.lease_ttl = "20s"});
  const std::string key = KeyOwnedBy(nodes, 0);
  RespClient owner(nodes.ports()[0]);
  CHECK(owner.Do({"SET", key, "old"}) == "+OK");
  REQUIRE(nodes.ChangeMode(ReplicationMode::kMsEc));
  std::deque<RespClient> readers;
  const auto all_show = [&](RespClient& reader, const std::string& value) {
    for (int i = 0; i < kReads; ++i) reader.Queue({"GET", key});
    for (int i = 0; i < kReads; ++i) CHECK(reader.Receive() == "$" + value);
  };
  for (const std::size_t node : {1, 2}) {
    RespClient& reader = readers.emplace_back(nodes.ports()[node]);
    CHECK(reader.Do({"STOUT.LEVEL", "READ", "relaxed", "STALENESS",
                     std::to_string(kBound.count())}) == "+OK");
    REQUIRE(Eventually([&] {
      const std::string before = GetsOf(owner);
      all_show(reader, "old");
      return GetsOf(owner) == before;
    }));
    CHECK(reader.Do({"INFO", "hotkeys"}).find("hot_key0:key=\"" + key) != std::string::npos);
  }
  nodes.way_to(2).Behave({.refuse = true});  // its datalet gets nothing
  nodes.way_to(2).Cut();
  CHECK(owner.Do({"SET", key, "new"}) == "+OK");
  std::this_thread::sleep_for(kBound);  // from now on no answer may be older than the change
  for (RespClient& reader : readers) all_show(reader, "new");
  CHECK(nodes.Fault().empty());
}

TEST_CASE("FLUSHALL waits for its level, and WAIT counts the members that have done it",
          "[node][members][levels][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "20s"});
  REQUIRE(nodes.ChangeMode(ReplicationMode::kMsEc));
  const std::string key = KeyOwnedBy(nodes, 0);
  const auto fill = [&] {
    RespClient writer(nodes.ports()[1]);
    CHECK(writer.Do({"STOUT.LEVEL", "WRITE", "2"}) == "+OK");
    CHECK(writer.Do({"SET", key, "1"}) == "+OK");
  };
  nodes.way_to(2).Behave({.refuse = true});  // its datalet gets nothing
  nodes.way_to(2).Cut();
  RespClient client(nodes.ports()[1]);
  fill();
  CHECK(client.Do({"FLUSHALL"}) == "+OK");
  CHECK(client.Do({"WAIT", "2", "0"}) == ":2");
  CHECK(client.Do({"WAIT", "3", "300"}) == ":2");
  fill();
  CHECK(client.Do({"STOUT.LEVEL", "WRITE", "all"}) == "+OK");
  CHECK(client.Do({"FLUSHALL"}).starts_with("-UNKNOWN"));
  nodes.way_to(2).Behave({});
  REQUIRE(Eventually([&] { return client.Do({"WAIT", "3", "0"}) == ":3"; }));
  fill();
  CHECK(client.Do({"FLUSHALL"}) == "+OK");
  CHECK(nodes.Fault().empty());
}

TEST_CASE("a causal read shows what its client has seen, and members answer it once they have that",
          "[node][members][levels][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "20s"});
  REQUIRE(nodes.ChangeMode(ReplicationMode::kMsEc));
  const std::string key = KeyOwnedBy(nodes, 0);
  RespClient owner(nodes.ports()[0]);
  RespClient writer(nodes.ports()[1]);
  RespClient reader(nodes.ports()[2]);
  RespClient relaxed(nodes.ports()[2]);
  const auto reads_without_owner = [&](const std::string& value) {
    const std::string before = GetsOf(owner);
    const std::string got = reader.Do({"GET", key});
    CHECK(got == value);
    return GetsOf(owner) == before;
  };
  CHECK(relaxed.Do({"READONLY"}) == "+OK");
  CHECK(writer.Do({"SET", key, "old"}) == "+OK");
  CHECK(writer.Do({"WAIT", "3", "0"}) == ":3");
  CHECK(reader.Do({"STOUT.LEVEL", "READ", "causal"}) == "+OK");
  CHECK(reader.Do({"STOUT.LEVEL"}).starts_with("$READ causal SEEN 1"));
  REQUIRE(Eventually([&] { return reads_without_owner("$old"); }));
  // An owner's answer does not age a token, so that marks come up with it: its mark covers the key.
  const auto keeps_token = [&](RespClient& client) {
    CHECK(client.Do({"STOUT.LEVEL", "READ", "causal"}) == "+OK");
    const std::string levels = client.Do({"STOUT.LEVEL"});
    for (int i = 0; i < 20; ++i) CHECK(client.Do({"GET", key}) == "$old");
    return client.Do({"STOUT.LEVEL"}) == levels;
  };
  REQUIRE(Eventually([&] { return keeps_token(reader); }));
  REQUIRE(Eventually([&] { return keeps_token(owner); }));

  nodes.way_to(2).Behave({.refuse = true});  // its datalet gets nothing
  nodes.way_to(2).Cut();
  CHECK(writer.Do({"STOUT.LEVEL", "READ", "causal"}) == "+OK");
  CHECK(writer.Do({"SET", key, "new"}) == "+OK");
  CHECK(relaxed.Do({"GET", key}) == "$old");
  const std::string levels = writer.Do({"STOUT.LEVEL"});
  CAPTURE(levels);
  REQUIRE(levels.starts_with("$READ causal SEEN "));
  const std::string token = levels.substr(18, levels.find(" WRITE") - 18);
  CHECK(reader.Do({"STOUT.LEVEL", "READ", "causal", "SEEN", token}) == "+OK");
  CHECK(reader.Do({"STOUT.LEVEL"}) == levels);
  CHECK(reader.Do({"GET", key}) == "$new");
  CHECK(reader.Do({"MGET", key, key + "x"}) == "[$new, (nil)]");
  reader.Queue({"STOUT.LEVEL", "READ", "causal", "SEEN", token});
  reader.Queue({"GET", key});
  reader.Queue({"STOUT.LEVEL", "READ", "causal", "SEEN", "1"});  // for the commands after it alone
  CHECK(reader.Receive() == "+OK");
  CHECK(reader.Receive() == "$new");
  CHECK(reader.Receive() == "+OK");
  CHECK(reader.Do({"STOUT.LEVEL", "READ", "causal", "SEEN", token}) == "+OK");
  CHECK(relaxed.Do({"GET", key}) == "$old");

  nodes.way_to(2).Behave({});
  REQUIRE(Eventually([&] { return reads_without_owner("$new"); }));
  CHECK(relaxed.Do({"GET", key}) == "$new");
  CHECK(nodes.Fault().empty());
}

}  // namespace
}  // namespace stout::test
