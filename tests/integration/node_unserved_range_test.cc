// Ranges that their owner cannot serve, because the only member is away, beside ranges that it can.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/member_nodes.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/resp_client.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

// Ranges that node `owner` owns and of which node `member` has the only copy that is in.
std::vector<RangeId> RangesAt(const MemberNodes& nodes, std::size_t owner, std::size_t member) {
  const RegistryTable records = nodes.view().records();
  std::vector<RangeId> found = nodes.view().RangesOf(nodes.address(owner));
  std::erase_if(found, [&](RangeId range) {
    const auto set = records.sets.find(range);
    if (set == records.sets.end()) return true;
    const auto& members = set->second.value.members;
    return std::any_of(members.begin(), members.end(), [&](const auto& each) {
      return each.in != (each.datalet == nodes.address(member));
    });
  });
  return found;
}

TEST_CASE("commands for a range that its owner cannot serve hold up no other range",
          "[node][members][not_tsan]") {
  MemberNodes nodes({.datalets = {"memory:", "memory:", "memory:"}, .replicas = 1});
  // All ranges begin at node 0. Chance decides which of the others gets some.
  std::size_t lost = 0;
  REQUIRE(nodes.Await([&] {
    for (std::size_t owner = 0; owner < nodes.size(); ++owner) {
      for (const std::size_t member : {1, 2}) {
        if (!RangesAt(nodes, owner, member).empty()) lost = member;
      }
    }
    return lost != 0;
  }));
  const std::size_t left[] = {0, 3 - lost};
  nodes.program(lost).Kill();
  REQUIRE(Eventually([&] { return nodes.view().RangesOf(nodes.address(lost)).empty(); }));
  const std::vector<std::size_t> rightful =
      RightfulOwners({nodes.address(left[0]), nodes.address(left[1])}, MemberNodes::kRanges);
  std::vector<RangeId> unserved;
  std::vector<RangeId> served;
  std::size_t owner = 0;
  std::size_t other = 0;
  REQUIRE(Eventually([&] {
    for (const std::size_t i : {0, 1}) {
      owner = left[i];
      other = left[1 - i];
      unserved = RangesAt(nodes, owner, lost);
      served = RangesAt(nodes, owner, owner);
      if (served.empty()) served = RangesAt(nodes, owner, other);
      std::erase_if(served, [&](RangeId range) { return rightful[range] != i; });  // it moves
      if (!unserved.empty() && !served.empty()) return true;
    }
    return false;
  }));
  // The owner may have the range since before the kill. It gives the range up as no member answers.
  CHECK_THAT(MemberNodes::Ask(nodes.program(owner).port(), {"GET", KeyOf(unserved.front())}),
             Catch::StartsWith("-TRYAGAIN"));
  const int port = nodes.program(other).port();
  std::vector<std::unique_ptr<RespClient>> clients;
  while (clients.size() < 20) {  // more than one node has connections to another
    clients.push_back(std::make_unique<RespClient>(port));
    clients.back()->Queue({"GET", KeyOf(unserved.front())});
    clients.back()->Send("");
  }
  std::this_thread::sleep_for(200ms);  // until they wait
  const auto before = std::chrono::steady_clock::now();
  CHECK(MemberNodes::Ask(port, {"GET", KeyOf(served.front())}) == "(nil)");
  CHECK(std::chrono::steady_clock::now() - before < 1500ms);  // those wait for 2.5 s
  for (const auto& client : clients)
    CHECK_THAT(client->Receive(), Catch::StartsWith("-TRYAGAIN not done"));
}

}  // namespace
}  // namespace stout::test
