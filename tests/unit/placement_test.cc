#include "stout/core/placement.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/catch.h"

namespace stout {
namespace {

using Datalets = std::map<std::string, Recorded<Datalet>>;

Datalets WithCapacities(const std::vector<std::uint32_t>& capacities) {
  Datalets datalets;
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    datalets["datalet-" + std::to_string(i)] = {{.url = "memory:", .capacity = capacities[i]}, 1};
  }
  return datalets;
}

// How often each datalet is among the first `replicas`, over many ranges.
std::map<std::string, int> Shares(const Datalets& datalets, std::size_t replicas, RangeId ranges) {
  std::map<std::string, int> shares;
  for (RangeId range = 0; range < ranges; ++range) {
    for (const std::string& id : PlaceRange(range, datalets, replicas)) ++shares[id];
  }
  return shares;
}

TEST_CASE("the logarithm of placement is exact to its unit", "[placement]") {
  STATIC_REQUIRE(internal::Remoteness(std::uint64_t{1} << 63) == std::uint64_t{1} << 26);
  STATIC_REQUIRE(internal::Remoteness(0) == std::uint64_t{64} << 26);
  STATIC_REQUIRE(internal::Remoteness(~std::uint64_t{0}) >= 1);
  for (std::uint64_t hash = 12345; hash != 0; hash <<= 1) {
    const double exact = 64 - std::log2(static_cast<double>(hash | 1));
    CHECK(std::abs(static_cast<double>(internal::Remoteness(hash)) / (1 << 26) - exact) < 1e-7);
  }
}

TEST_CASE("the placement of a range is the same for ever", "[placement]") {
  // Another answer in a later version would make nodes of two versions move members in turns.
  const Datalets datalets = WithCapacities({1, 1, 2, 4});
  using Ids = std::vector<std::string>;
  CHECK(PlaceRange(0, datalets, 3) == Ids{"datalet-0", "datalet-3", "datalet-2"});
  CHECK(PlaceRange(7, datalets, 9) == Ids{"datalet-3", "datalet-2", "datalet-0", "datalet-1"});
  CHECK(PlaceRange(0, {}, 3).empty());
}

TEST_CASE("datalets get ranges in proportion to their capacities", "[placement]") {
  constexpr RangeId kMany = 40'000;
  const std::vector<std::uint32_t> capacities = {100, 200, 300, 400, 0};
  const Datalets datalets = WithCapacities(capacities);
  const auto shares = Shares(datalets, 1, kMany);
  CHECK(shares.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    const double expected = kMany * capacities[i] / 1000.0;
    CHECK(std::abs(shares.at("datalet-" + std::to_string(i)) - expected) < 0.03 * expected);
  }
  // The unit of capacities does not matter.
  CHECK(Shares(WithCapacities({1, 2, 3, 4}), 1, kMany) == shares);
  const std::uint32_t unit = 1'000'000'000;
  CHECK(Shares(WithCapacities({unit, 2 * unit, 3 * unit, 4 * unit}), 1, kMany) == shares);
}

TEST_CASE("a datalet that is leaving or lazy gets no range, and the order of the others stays",
          "[placement]") {
  Datalets datalets = WithCapacities({1, 1, 2, 4});
  (GENERATE(false, true) ? datalets["datalet-3"].value.leaving : datalets["datalet-3"].value.lazy) =
      true;
  using Ids = std::vector<std::string>;
  CHECK(PlaceRange(0, datalets, 3) == Ids{"datalet-0", "datalet-2", "datalet-1"});
  CHECK(PlaceRange(7, datalets, 2) == Ids{"datalet-2", "datalet-0"});
}

TEST_CASE("a datalet that comes or goes moves only its own ranges", "[placement]") {
  const Datalets many = WithCapacities({3, 1, 2, 5, 2});
  for (const auto& [gone, datalet] : many) {
    Datalets few = many;
    few.erase(gone);
    int moved = 0;
    for (RangeId range = 0; range < 1000; ++range) {
      std::vector<std::string> all = PlaceRange(range, many, many.size());
      const bool had = std::find(all.begin(), all.begin() + 3, gone) != all.begin() + 3;
      moved += had ? 1 : 0;
      all.erase(std::find(all.begin(), all.end(), gone));
      CHECK(PlaceRange(range, few, few.size()) == all);  // the order of the others
    }
    CHECK(moved > 200);
    CHECK(moved < 950);
  }
}

TEST_CASE("the first of datalets with equal capacities is at the owner of most ranges",
          "[placement]") {
  const Datalets datalets = WithCapacities({7, 7, 7});
  const std::vector<std::string> ids = {"datalet-0", "datalet-1", "datalet-2"};
  const std::vector<std::size_t> owners = RightfulOwners(ids, 1000);
  int same = 0;
  for (RangeId range = 0; range < 1000; ++range) {
    same += PlaceRange(range, datalets, 1).at(0) == ids[owners[range]] ? 1 : 0;
  }
  CHECK(same > 900);
}

}  // namespace
}  // namespace stout
