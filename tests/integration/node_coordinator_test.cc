// Goal: while etcd is away for longer than the ttl, nodes with members refuse strong commands and
// go on with relaxed reads. They recover when it is back, even if it has lost all that it knew.
// Method: as in node_members_test.cc.
//
// STOUT_CHAOS_SECONDS: with 60 or more, etcd fails in every way; otherwise it only dies, with and
// without its data.

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/rounds.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

constexpr auto kTtl = 1s;

MemberNodes::Options ShortTimes() { return {.lease_ttl = "1s", .reply_deadline = "1500ms"}; }

std::vector<std::string> KindsOfOutage() {
  std::vector<std::string> kinds{"kill", "empty"};
  if (Rounds("STOUT_CHAOS_SECONDS", 1) >= 60) {
    kinds.insert(kinds.end(), {"stop", "cut", "full disk"});
  }
  return kinds;
}

// etcd ends when it cannot write.
void FillDiskOf(EtcdServer& etcd) {
  etcd.FillDisk(true);
  CHECK(Eventually([&] {
    try {
      etcd.Call("/v3/kv/put", R"({"key": "Zg==", "value": "Zg=="})");
    } catch (const std::exception&) {
    }
    return !etcd.Up();
  }));
}

void BeginOutage(MemberNodes& nodes, const std::string& kind) {
  if (kind == "kill" || kind == "empty") return nodes.etcd().Kill();
  if (kind == "stop") return nodes.etcd().Signal(SIGSTOP);
  if (kind == "full disk") return FillDiskOf(nodes.etcd());
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    nodes.way_to_etcd(node).Behave({.refuse = true});
    nodes.way_to_etcd(node).Cut();
  }
}

void EndOutage(MemberNodes& nodes, const std::string& kind) {
  if (kind == "stop") return nodes.etcd().Signal(SIGCONT);
  if (kind == "cut") {
    for (std::size_t node = 0; node < nodes.size(); ++node) nodes.way_to_etcd(node).Behave({});
    return;
  }
  nodes.etcd().Kill();
  if (kind == "empty") nodes.etcd().RemoveData();
  nodes.etcd().Start();
}

// Every node refuses strong commands, and answers relaxed reads.
void CheckOnlyRelaxed(const MemberNodes& nodes, const std::string& key, const std::string& value) {
  std::vector<std::unique_ptr<RespClient>> strong;
  for (const int port : nodes.ports()) {
    strong.push_back(std::make_unique<RespClient>(port));
    strong.back()->Queue({"GET", key});
    strong.back()->Queue({"SET", key, "late"});
    strong.back()->Send("");  // all wait at the same time
  }
  for (const int port : nodes.ports()) {
    RespClient relaxed(port);
    CHECK(relaxed.Do({"READONLY"}) == "+OK");
    CHECK(relaxed.Do({"GET", key}) == "$" + value);
  }
  for (const auto& client : strong) {
    CHECK_THAT(client->Receive(), Catch::StartsWith("-TRYAGAIN"));
    CHECK_THAT(client->Receive(), Catch::StartsWith("-TRYAGAIN"));
  }
}

// The records are new, and each range has all members again.
bool AwaitNewRecords(MemberNodes& nodes) {
  return nodes.Await([&] { return !nodes.view().records().config && nodes.view().AllHave(3); });
}

std::string ValueOf(std::size_t range) { return fmt::format("kept{}", range); }

void CheckValues(const MemberNodes& nodes) {
  for (const int port : nodes.ports()) {
    for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) {
      CAPTURE(port, range);
      const std::string value = "$" + ValueOf(range);
      CHECK(Eventually([&] { return MemberNodes::Ask(port, {"GET", KeyOf(range)}) == value; }));
    }
  }
}

TEST_CASE("nodes refuse strong commands while etcd is away for longer than the ttl, and recover",
          "[node][members][not_tsan][long]") {
  const std::string kind = GENERATE(from_range(KindsOfOutage()));
  CAPTURE(kind);
  RedisServer redis;
  MemberNodes::Options options = ShortTimes();
  options.datalets.back() = redis.Url("timeout=1s&connect_timeout=1s");
  MemberNodes nodes(options);
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) {
    REQUIRE(MemberNodes::Ask(nodes.ports()[0], {"SET", KeyOf(range), ValueOf(range)}) == "+OK");
  }
  CheckRun(RunUnderLoad(nodes, "etcd-away", [&](const LoadThreads& load) {
    const auto begin = std::chrono::steady_clock::now();
    BeginOutage(nodes, kind);
    std::this_thread::sleep_for(kTtl);  // the fault is a time
    CheckOnlyRelaxed(nodes, KeyOf(0), ValueOf(0));
    std::this_thread::sleep_until(begin + 2 * kTtl);
    EndOutage(nodes, kind);
    CHECK((kind == "empty" ? AwaitNewRecords(nodes) : nodes.AwaitMembers()));
    CHECK(Progress(nodes, load, 100));
    CheckValues(nodes);
  }));
  if (kind != "empty") return;
  CHECK(MemberNodes::Ask(nodes.ports()[0], {"STOUT.MODE"}).starts_with("-ERR"));
  nodes.program(0).Kill();
  nodes.program(0).Start();
  CHECK(
      nodes.Await([&] { return MemberNodes::Ask(nodes.ports()[0], {"STOUT.MODE"}) == "$ms+sc"; }));
  CHECK(nodes.AwaitMembers());
  CheckValues(nodes);
}

// As an operator does with etcdctl.
void PutDatalet(const EtcdServer& etcd, const std::string& id, const std::string& url) {
  const auto encoded = [](const std::string& text) {
    return RunToEnd({"sh", "-c", "printf %s \"$0\" | base64 --wrap=0", text});
  };
  const std::string record =
      fmt::format(R"({{"url":"{}","node":"","capacity":1,"since_us":0}})", url);
  etcd.Call("/v3/kv/put", fmt::format(R"({{"key": "{}", "value": "{}"}})",
                                      encoded("kv/datalet/" + id), encoded(record)));
}

TEST_CASE("databases become members again by their records after etcd and all nodes were lost",
          "[node][members][not_tsan]") {
  RedisServer whole;
  RedisServer lacking;
  const std::string timeouts = "timeout=1s&connect_timeout=1s";
  MemberNodes::Options options = ShortTimes();
  options.datalets = {whole.Url(timeouts), lacking.Url(timeouts)};
  MemberNodes nodes(options);
  const auto set = [&](std::size_t range, const std::string& value) {
    CHECK(Eventually([&] {
      return MemberNodes::Ask(nodes.ports()[0], {"SET", KeyOf(range), value}) == "+OK";
    }));
  };
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) set(range, "old");
  lacking.Kill();
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) set(range, ValueOf(range));
  REQUIRE(nodes.AwaitMembers(1));
  for (std::size_t node = 0; node < nodes.size(); ++node) nodes.program(node).Kill();
  lacking.Start();
  nodes.etcd().Kill();
  nodes.etcd().RemoveData();
  nodes.etcd().Start();
  PutDatalet(nodes.etcd(), "whole", options.datalets[0]);
  nodes.program(0).Start();
  REQUIRE(nodes.Await([&] {
    const RegistryTable records = nodes.view().records();
    return records.datalets.contains("whole") && records.datalets.size() == 1 &&
           nodes.view().AllHave(1);
  }));
  PutDatalet(nodes.etcd(), "lacking", options.datalets[1]);
  nodes.program(1).Start();
  REQUIRE(nodes.AwaitMembers(2));
  CheckValues(nodes);
  whole.Kill();
  CheckValues(nodes);
  CHECK(nodes.Fault().empty());
}

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("a member that lacks writes does not become the only one after etcd lost its records",
          "[node][members][not_tsan]") {
  MemberNodes nodes(ShortTimes());
  const auto set = [&](std::size_t range, const std::string& value) {
    return nodes.Await([&] {
      return MemberNodes::Ask(nodes.ports()[0], {"SET", KeyOf(range), value}) == "+OK";
    });
  };
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) REQUIRE(set(range, "old"));
  nodes.program(2).FillDisk(true);
  for (std::size_t range = 0; range < MemberNodes::kRanges; ++range) {
    CHECK(set(range, ValueOf(range)));
  }
  REQUIRE(nodes.AwaitMembers(2));
  nodes.etcd().Kill();
  std::this_thread::sleep_for(kTtl);  // the fault is a time
  nodes.program(2).FillDisk(false);
  nodes.etcd().RemoveData();
  nodes.etcd().Start();
  CHECK(AwaitNewRecords(nodes));
  CheckValues(nodes);
  CHECK(nodes.Fault().empty());
}
#endif

}  // namespace
}  // namespace stout::test
