// Goal: STOUT.MOVE hands ranges over without a wrong answer, and the node that it names keeps them.
// Method: as in node_members_test.cc.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stout/core/lease_table.h"
#include "stout/core/types.h"
#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

// The ranges that are usually the first node's. They move to the second one.
class Moving {
 public:
  explicit Moving(MemberNodes& nodes) : nodes_(nodes) {
    std::vector<std::string> members;
    REQUIRE(nodes.Await([&] {
      members = nodes.view().leases().members;
      return members.size() == nodes.size();
    }));
    const std::vector<std::size_t> owners = RightfulOwners(members, MemberNodes::kRanges);
    for (RangeId range = 0; range < MemberNodes::kRanges; ++range) {
      if (members[owners[range]] == nodes.address(0)) ranges_.push_back(range);
    }
    REQUIRE_FALSE(ranges_.empty());
    REQUIRE(AwaitBack());
  }

  // At the third node.
  void Move(const std::string& owner) {
    for (const RangeId range : ranges_) {
      CHECK(MemberNodes::Ask(nodes_.ports()[2], {"STOUT.MOVE", std::to_string(range), owner}) ==
            "+OK");
    }
  }
  [[nodiscard]] bool AwaitMoved() {
    return nodes_.Await([&] {
      const auto owned = nodes_.view().RangesOf(nodes_.address(1));
      return std::includes(owned.begin(), owned.end(), ranges_.begin(), ranges_.end());
    });
  }
  [[nodiscard]] bool AwaitBack() {
    return nodes_.Await([&] { return nodes_.view().RangesOf(nodes_.address(0)) == ranges_; });
  }
  [[nodiscard]] std::vector<Epoch> Epochs() const {
    const LeaseTable leases = nodes_.view().leases();
    std::vector<Epoch> epochs;
    for (const RangeId range : ranges_) {
      epochs.push_back(leases.ranges[range] ? leases.ranges[range]->epoch : 0);
    }
    return epochs;
  }

 private:
  MemberNodes& nodes_;
  std::vector<RangeId> ranges_;
};

TEST_CASE("ranges are moved under load, stay there, and come back", "[node][members]") {
  MemberNodes nodes({.lease_ttl = "20s", .member_timeout = "20s"});
  const MemberRun run = RunUnderLoad(nodes, "moved", [&](const LoadThreads& load) {
    Moving moving(nodes);
    const std::vector<RangeId> others = nodes.view().RangesOf(nodes.address(2));
    moving.Move(nodes.address(1));
    CHECK(moving.AwaitMoved());
    const std::vector<Epoch> epochs = moving.Epochs();
    CHECK(Progress(nodes, load, 400));
    CHECK(moving.Epochs() == epochs);  // nobody has taken them since
    CHECK(nodes.view().RangesOf(nodes.address(2)) == others);
    CHECK(nodes.view().AllHave(3));
    moving.Move("AUTO");
    CHECK(moving.AwaitBack());
    CHECK(Progress(nodes, load, 200));
  });
  CheckRun(run);
  CHECK(run.failed == 0);  // they wait for the successor
}

TEST_CASE("a node that was killed gets the ranges back that were moved to it",
          "[node][members][not_tsan]") {
  MemberNodes nodes;
  CheckRun(RunUnderLoad(nodes, "moved-killed", [&](const LoadThreads& load) {
    Moving moving(nodes);
    moving.Move(nodes.address(1));
    CHECK(moving.AwaitMoved());
    nodes.program(1).Kill();
    CHECK(nodes.Await([&] {
      const std::vector<Epoch> epochs = moving.Epochs();
      return nodes.view().RangesOf(nodes.address(1)).empty() &&
             std::count(epochs.begin(), epochs.end(), Epoch{0}) == 0;
    }));
    CHECK(Progress(nodes, load, 100));
    nodes.program(1).Start();
    CHECK(moving.AwaitMoved());
    // A node learns of it a moment after the registry has it.
    const std::string owned =
        fmt::format(R"("owner":"{0}","wanted_owner":"{0}")", nodes.address(1));
    CHECK(nodes.Await([&] {
      return MemberNodes::Ask(nodes.ports()[2], {"STOUT.STATUS"}).find(owned) != std::string::npos;
    }));
    moving.Move("AUTO");
    CHECK(moving.AwaitBack());
    CHECK(nodes.Await([&] {
      return MemberNodes::Ask(nodes.ports()[2], {"STOUT.STATUS"}).find("wanted_owner") ==
             std::string::npos;
    }));
    CHECK(nodes.AwaitMembers());
    CHECK(Progress(nodes, load, 100));
  }));
}

TEST_CASE("STOUT.MOVE refuses what is no range and no node", "[node][members][not_tsan]") {
  MemberNodes nodes;
  const auto move = [&](const std::string& range, const std::string& owner) {
    return MemberNodes::Ask(nodes.ports()[0], {"STOUT.MOVE", range, owner});
  };
  for (const char* const range : {"12", "x", "-1", "99999999999999999999"}) {
    CHECK(move(range, nodes.address(1)) == "-ERR there is no such range: use a number below 12");
  }
  CHECK(move("3", "10.0.0.9:1") ==
        "-ERR no node has the address '10.0.0.9:1' now: see CLUSTER NODES");
  CHECK(nodes.view().records().wanted_owners.empty());
}

}  // namespace
}  // namespace stout::test
