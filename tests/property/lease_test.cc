// Several keepers together. tests/unit/lease_keeper_test.cc tests one, step by step.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/lease_table.h"
#include "stout/core/random.h"
#include "tests/property/lease_world.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::test {

TEST_CASE("a range has one owner at most in any weather, and the right one soon after",
          "[leases][long]") {
  const std::uint64_t seed =
      GENERATE(range<std::uint64_t>(1, 1 + test::Rounds("STOUT_SEEDS", 100)));
  CAPTURE(seed);
  SplitMix64 random(seed);
  LeaseWorld world(seed);
  world.SetWeather({.lose = 0.3 * random.Unit(),
                    .late = 0.3 * random.Unit(),
                    .trouble = 0.3 * random.Unit(),
                    .pause_every = kTtl + Duration(random.Below(20'000'000'000)),
                    .deaths_every = 10 * kTtl});
  world.StartAll();
  for (int i = 0; i < 12; ++i) {
    const std::size_t owner = random.Below(kServers + 1);
    world.Want(static_cast<RangeId>(random.Below(kRanges)),
               owner < kServers ? std::optional(AddressOf(owner)) : std::nullopt);
    world.RunFor(5 * kTtl);
  }
  CHECK(world.handed_over > 0);
  CHECK(world.lost > 0);
  CHECK(world.rejoined > kServers);
  world.SetWeather({});
  world.RunFor(8 * kTtl);  // late messages arrive; then there are no more faults
  world.CheckSettled();
  world.LeaveAll();
  world.RunFor(4 * kTtl);
  CHECK(world.AllLeft());
  CHECK(world.Table() == LeaseTable{{}, std::vector<std::optional<Lease>>(kRanges)});
}

TEST_CASE("in fair weather every range has its owner, and keeps it", "[leases]") {
  LeaseWorld world(1);
  world.StartAll();
  world.RunFor(kTtl);
  world.CheckSettled();
  const std::size_t handed_over = world.handed_over;
  world.RunFor(100 * kTtl);
  world.CheckSettled();
  CHECK(world.lost == 0);
  CHECK(world.handed_over == handed_over);
  CHECK(world.rejoined == kServers);
}

TEST_CASE("a wanted owner gets its range by one hand-over, however late servers learn of it",
          "[leases]") {
  const std::uint64_t seed = GENERATE(range<std::uint64_t>(1, 20));
  CAPTURE(seed);
  LeaseWorld world(seed);
  world.StartAll();
  world.RunFor(8 * kTtl);
  world.CheckSettled();
  const std::string owner = world.Table().ranges[5]->address;
  const std::size_t before = world.handed_over;
  world.Want(5, owner);
  world.RunFor(8 * kTtl);
  world.CheckSettled();
  CHECK(world.handed_over == before);
  world.Want(5, owner == AddressOf(0) ? AddressOf(1) : AddressOf(0));
  world.RunFor(8 * kTtl);
  world.CheckSettled();
  CHECK(world.handed_over == before + 1);
  world.RunFor(20 * kTtl);
  world.Want(5, std::nullopt);
  world.RunFor(8 * kTtl);
  world.CheckSettled();
  CHECK(world.handed_over == before + 2);
  CHECK(world.lost == 0);
}

}  // namespace stout::test
