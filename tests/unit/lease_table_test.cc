#include "stout/core/lease_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
namespace {

TEST_CASE("the range of a name is the same for ever", "[leases]") {
  // Another answer in a later version would give one key two owners.
  STATIC_REQUIRE(RangeOf("", 16) == 11);
  STATIC_REQUIRE(RangeOf("document", 16) == 5);
  STATIC_REQUIRE(RangeOf("document", 1) == 0);
  CHECK(internal::NameHash("a") == internal::Mix(0xaf63dc4c8601ec8c));  // FNV's test vector
  CHECK(RangeOf(std::string_view("\xff\0", 2), 65536) < 65536);
}

TEST_CASE("names are spread over the ranges", "[leases]") {
  std::map<RangeId, int> names;
  for (int i = 0; i < 16000; ++i) ++names[RangeOf("doc-" + std::to_string(i), 16)];
  for (const auto& [range, count] : names) {
    CAPTURE(range);
    CHECK(count > 850);
    CHECK(count < 1150);
  }
  CHECK(names.size() == 16);
}

// The members' addresses, sorted.
std::vector<std::string> Members(int set, int count) {
  std::vector<std::string> members;
  for (int i = 1; i <= count; ++i) {
    members.push_back("10.0." + std::to_string(set) + "." + std::to_string(i) + ":7001");
  }
  std::sort(members.begin(), members.end());
  return members;
}

// By the greedy rule: the pair with the highest weight first, if its member has room for the range.
std::vector<std::size_t> GreedyOwners(const std::vector<std::string>& members, RangeId ranges) {
  std::vector<std::tuple<std::uint64_t, std::size_t, RangeId>> pairs;
  std::vector<std::pair<std::uint64_t, std::size_t>> by_hash;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::uint64_t hash = internal::NameHash(members[i]);
    by_hash.push_back({hash, i});
    for (RangeId range = 0; range < ranges; ++range) {
      pairs.push_back({internal::Mix(hash ^ internal::Mix(range)), i, range});
    }
  }
  std::sort(by_hash.rbegin(), by_hash.rend());
  std::sort(pairs.rbegin(), pairs.rend());
  std::vector<std::size_t> room(members.size(), ranges / members.size());
  for (std::size_t i = 0; i < ranges % members.size(); ++i) ++room[by_hash[i].second];
  std::vector<std::size_t> owners(ranges, members.size());
  for (const auto& [weight, member, range] : pairs) {
    if (owners[range] != members.size() || room[member] == 0) continue;
    owners[range] = member;
    --room[member];
  }
  return owners;
}

TEST_CASE("members share ranges evenly, by the highest weights first", "[leases]") {
  const RangeId ranges = GENERATE(1, 2, 7, 16, 64, 100);
  for (int set = 0; set < 60; ++set) {
    const std::vector<std::string> members = Members(set, 1 + set % 12);
    CAPTURE(ranges, set);
    const std::vector<std::size_t> owners = RightfulOwners(members, ranges);
    CHECK(owners == GreedyOwners(members, ranges));
    std::vector<RangeId> shares(members.size());
    for (const std::size_t owner : owners) ++shares.at(owner);
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    CHECK(*most - *least <= 1);
  }
  CHECK(RightfulOwners({}, 16).empty());
}

TEST_CASE("the order in which members are listed does not change the owners", "[leases]") {
  const std::vector<std::string> members = Members(1, 7);
  const std::vector<std::string> turned(members.rbegin(), members.rend());
  const std::vector<std::size_t> owners = RightfulOwners(members, 100);
  const std::vector<std::size_t> same = RightfulOwners(turned, 100);
  for (RangeId range = 0; range < 100; ++range) {
    CHECK(members[owners[range]] == turned[same[range]]);
  }
}

TEST_CASE("the owners of ranges are the same for ever", "[leases]") {
  // Servers that disagree leave ranges free.
  CHECK(RightfulOwners({"10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"}, 16) ==
        std::vector<std::size_t>{1, 0, 0, 2, 0, 2, 2, 1, 2, 1, 1, 1, 0, 2, 0, 0});
}

TEST_CASE("a member that joins or leaves moves few ranges beside its own", "[leases]") {
  constexpr RangeId kRanges = 256;
  const int before = GENERATE(1, 3, 7);
  RangeId moved = 0;
  RangeId of_newcomers = 0;
  for (int set = 0; set < 20; ++set) {
    const std::vector<std::string> more = Members(set, before + 1);
    const std::string& newcomer = more[static_cast<std::size_t>(set % (before + 1))];
    std::vector<std::string> few = more;
    few.erase(std::find(few.begin(), few.end(), newcomer));
    const std::vector<std::size_t> old_owners = RightfulOwners(few, kRanges);
    const std::vector<std::size_t> owners = RightfulOwners(more, kRanges);
    for (RangeId range = 0; range < kRanges; ++range) {
      moved += few[old_owners[range]] == more[owners[range]] ? 0 : 1;
      of_newcomers += more[owners[range]] == newcomer ? 1 : 0;
    }
  }
  CAPTURE(before, moved, of_newcomers);
  CHECK(moved < of_newcomers * 4 / 3);
  if (before == 1) CHECK(moved == of_newcomers);
}

}  // namespace
}  // namespace stout
