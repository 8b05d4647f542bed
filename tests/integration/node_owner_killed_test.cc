// Goal: an owner that is killed in the middle of a step that takes long has a successor that does
// this step. Method: as in node_members_test.cc.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "stout/clock.h"
#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

// Writes are at level `all`, so no acknowledged one may be lost. Reads count only while ms+sc is in
// force: before, one may see a write that is lost with its owner.
TEST_CASE("the mode changes although an owner is killed meanwhile", "[node][members][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "1s"});
  std::int64_t weak_from = 0;
  std::int64_t weak_to = std::numeric_limits<std::int64_t>::max();
  const auto events = [&](const LoadThreads& load) {
    weak_from = ChaosNow();
    CHECK(nodes.ChangeMode(ReplicationMode::kMsEc));
    CHECK(Progress(nodes, load, 100));
    REQUIRE_FALSE(nodes.view().RangesOf(nodes.address(0)).empty());
    REQUIRE(MemberNodes::Ask(nodes.ports()[1], {"STOUT.MODE", "ms+sc"}) == "+OK");
    for (const std::size_t other : {1, 2}) {
      nodes.way_to(other).Behave({.refuse = true});
      nodes.way_to(other).Cut();
    }
    std::this_thread::sleep_for(300ms);  // a fault of this length: the owner alone gets writes
    nodes.program(0).Kill();
    for (const std::size_t other : {1, 2}) nodes.way_to(other).Behave({});
    CHECK(nodes.Await([&] { return nodes.view().AllIn(ReplicationMode::kMsSc); }));
    weak_to = ChaosNow();
    CHECK(Progress(nodes, load, 100));
    nodes.program(0).Start();
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  };
  CheckRun(RunUnderLoad(nodes, "mode-killed", events, {}, WritingAtAll(), [&](const Operation& op) {
    return op.op != Operation::Kind::kGet || op.return_ns < weak_from || op.call_ns > weak_to;
  }));
}

TEST_CASE("a member is filled although its owner is killed meanwhile",
          "[node][members][not_tsan]") {
  MemberNodes nodes({.lease_ttl = "1s"});
  constexpr int kValues = 200;
  const std::string value(20'000, 'x');
  const auto events = [&](const LoadThreads& load) {
    const std::vector<RangeId> own = nodes.view().RangesOf(nodes.address(0));
    REQUIRE_FALSE(own.empty());
    const auto key = [&](int i) { return KeyOf(own.front()) + std::to_string(i); };
    RespClient client(nodes.ports()[0]);
    for (int i = 0; i < kValues; ++i) client.Queue({"SET", key(i), value});
    client.Send("");
    for (int i = 0; i < kValues; ++i) REQUIRE(client.Receive() == "+OK");
    nodes.program(1).Kill();
    nodes.Wipe(1);
    nodes.way_to(1).Behave({.bytes_per_second = 1'000'000});  // so the fill takes seconds
    const TimePoint start = UnixTime();
    nodes.program(1).Start();
    CHECK(nodes.Await([&] {
      const std::string status = MemberNodes::Ask(nodes.ports()[0], {"STOUT.STATUS"});
      return status.find(R"("filling")") != std::string::npos;
    }));
    nodes.program(0).Kill();
    nodes.way_to(1).Behave({});
    CHECK(nodes.Await(
        [&] { return nodes.view().RangesWith(nodes.address(1), start) == MemberNodes::kRanges; }));
    CHECK(Progress(nodes, load, 100));
    nodes.program(2).Kill();  // the filled member is the only one
    for (int i = 0; i < kValues; ++i) {
      CHECK(Eventually([&] {
        return MemberNodes::Ask(nodes.ports()[1], {"GET", key(i)}) == "$" + value;
      }));
    }
  };
  CheckRun(RunUnderLoad(nodes, "fill-killed", events, {nodes.ports()[1]}));
}

}  // namespace
}  // namespace stout::test
