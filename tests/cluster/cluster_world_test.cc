// Runs seeded worlds of one replicated range; see ClusterWorld for what is checked.
//
//     cluster_test                                      as many seeds as CI runs
//     STOUT_SEEDS=10000 cluster_test "[long]"
//     STOUT_SEED=42 [STOUT_MISTAKE=3] cluster_test "[long]"   one world, told event by event
#include "tests/cluster/cluster_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "tests/cluster/zoned_placement.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::sim {
namespace {

constexpr std::uint64_t kControlSeeds = 4000;

std::optional<std::string> RunSeed(std::uint64_t seed, Mistake mistake, bool print,
                                   ClusterWorld::Counts& counts) {
  const ClusterOptions options = DeriveCluster(seed, mistake);
  ClusterWorld world(options, print);
  world.Run();
  counts += world.counts();
  if (world.verdict().failed()) return Describe(options) + world.verdict().what();
  if (seed % 16 != 0) return std::nullopt;
  ClusterWorld again(options, false);
  again.Run();
  if (again.digest() == world.digest()) return std::nullopt;
  return fmt::format("seed {}: two runs differ", seed);
}

TEST_CASE("a replicated range keeps its promises while members and owners fail",
          "[cluster][long]") {
  ClusterWorld::Counts counts;
  if (const std::uint64_t seed = test::Rounds("STOUT_SEED", UINT64_MAX); seed != UINT64_MAX) {
    const auto mistake = static_cast<Mistake>(test::Rounds("STOUT_MISTAKE", 0));
    const auto violation = RunSeed(seed, mistake, true, counts);
    fmt::print("{}\n", violation.value_or("no violation"));
    REQUIRE_FALSE(violation);
    return;
  }
  const std::uint64_t seeds = test::Rounds("STOUT_SEEDS", 100);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    if (const auto violation = RunSeed(seed, Mistake::kNone, false, counts)) FAIL(*violation);
  }
  INFO(fmt::format("{} seeds: {} answers, {} owners, {} changes of the record, {} undecided", seeds,
                   counts.answered, counts.owners, counts.changes, counts.undecided));
  INFO(
      fmt::format("{} fills, {} drops, {} joins, {} sweeps, {} repairs, {} transactions without "
                  "an answer",
                  counts.fills, counts.drops, counts.joins, counts.sweeps, counts.repairs,
                  counts.unknown_commits));
  CHECK(counts.answered > 20 * seeds);
  CHECK(2 * counts.owners > 3 * seeds);
  CHECK(counts.changes > 3 * seeds);
  CHECK(counts.fills > 0);
  CHECK(counts.drops > 0);
  CHECK(counts.joins > 0);
  CHECK(counts.sweeps > 0);
  CHECK(counts.repairs > 0);
  CHECK(counts.unknown_commits > 0);
  CHECK(counts.undecided * 100 <= seeds);
  CHECK(counts.relaxed > 20 * seeds);
  CHECK(counts.bounded > seeds);
  CHECK(counts.causal > seeds);
  CHECK(4 * counts.shared > seeds);
  CHECK(counts.merges > seeds);
}

TEST_CASE("a range follows a placement of the user's own", "[cluster][long]") {
  const auto zone_of = [](const std::string& datalet) {
    return std::string(1, "abc"[datalet.back() % 3]);
  };
  const auto zones_of = [&](const std::vector<std::string>& datalets) {
    std::set<std::string> zones;
    for (const std::string& each : datalets) zones.insert(zone_of(each));
    return zones.size();
  };
  const std::uint64_t seeds = test::Rounds("STOUT_SEEDS", 25);
  ClusterWorld::Counts counts;
  std::uint64_t otherwise = 0;  // worlds in which PlaceRange uses fewer zones
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    ClusterOptions options = DeriveCluster(seed, Mistake::kNone);
    options.datalets = options.has_lazy ? 7 : 6;
    options.faults.change_wanted = 20;
    std::vector<std::string> present;
    std::vector<std::string> by_default;
    options.place = [&](RangeId range, const ZonedPlacement::Live& live, std::size_t replicas) {
      present = PlaceRange(range, live, live.size());
      by_default = PlaceRange(range, live, replicas);
      return ZonedPlacement(zone_of)(range, live, replicas);
    };
    ClusterWorld world(options, false);
    world.Run();
    counts += world.counts();
    if (world.verdict().failed()) FAIL(Describe(options) << world.verdict().what());
    CAPTURE(seed, present, world.wanted());
    const std::size_t zones = zones_of(world.wanted());
    CHECK(zones == std::min<std::size_t>(zones_of(present), options.replicas));
    otherwise += zones_of(by_default) < zones ? 1 : 0;
  }
  CHECK(counts.fills > 2 * seeds);
  CHECK(20 * otherwise > seeds);
}

constexpr const char* kUnordered = "no order explains";
constexpr const char* kLacking = "lacks an acknowledged write";
constexpr const char* kOverwritten = "is lost to an older one";
constexpr const char* kStale = "staler than it allows";
constexpr const char* kCauses = "older than what it has seen depends on";
constexpr const char* kBelow = "below its level";
constexpr const char* kBack = "go back";
constexpr const char* kSameStamp = "have the same stamp";
constexpr const char* kBadMark = "covers a version";
constexpr const char* kByItself = "changes by itself";

struct Control {
  Mistake mistake;
  const char* name;
  const char* check;    ///< the one that must fail: part of its verdict
  std::uint64_t first;  ///< a seed that catches it today; the search goes on from there
};

TEST_CASE("a mistake in a replicated range is noticed", "[cluster]") {
  const auto control = GENERATE(
      Control{Mistake::kEcJudgedAsSc, "ec judged as sc", kUnordered, 270},
      Control{Mistake::kAnswerBeforeTransaction, "an answer before the transaction", kLacking, 4},
      Control{Mistake::kNoFence, "no fence at take-over", kOverwritten, 2095},
      Control{Mistake::kOwnsNeverChecked, "Owns() never checked", kUnordered, 48},
      Control{Mistake::kUnsettledShown, "an unsettled state shown", kByItself, 26},
      Control{Mistake::kMarkAtStart, "the mark written when its barrier starts", kBadMark, 1},
      Control{Mistake::kNoBarrierBeforeScan, "no barrier before a scan", kLacking, 45},
      Control{Mistake::kCopiesAsZero, "all copies as (E, 0)", kLacking, 7},
      Control{Mistake::kCopiesAsOne, "copies as (E, 1)", kByItself, 49},
      Control{Mistake::kSettleOverChange, "settling over a change", kUnordered, 403},
      Control{Mistake::kLaggingRead, "a lagging member read", kUnordered, 82},
      Control{Mistake::kEmptyKept, "a restarted empty store kept in", kLacking, 618},
      Control{Mistake::kOlderKept, "a restarted store with older data kept in", kUnordered, 127},
      Control{Mistake::kRevisionUnchecked, "a set changed under any revision", kLacking, 446},
      Control{Mistake::kEntersUncounted, "a filled member counted too late", kLacking, 612},
      Control{Mistake::kRelaxedJudgedAsSc, "relaxed reads judged as strong", kUnordered, 4},
      Control{Mistake::kSessionHops, "a session that hops between members", kBack, 4},
      Control{Mistake::kIdentityIgnored, "an unproved member read", kBack, 5},
      Control{Mistake::kStalenessIgnored, "a bound ignored", kStale, 0},
      Control{Mistake::kCausesIgnored, "what was seen ignored", kCauses, 0},
      Control{Mistake::kNewStatesTrusted, "a new state taken for an old one", kCauses, 15},
      Control{Mistake::kUnsweptTrusted, "unsettled states at members", kCauses, 62},
      Control{Mistake::kMarkWhileFilling, "a mark at a member that is filled", kStale, 2508},
      Control{Mistake::kMarkDatedLate, "a mark dated when it is written", kStale, 308},
      Control{Mistake::kLevelIgnored, "a level ignored", kBelow, 4},
      Control{Mistake::kLazyCountsAsDirty, "a key dirty at a lazy member alone", kLacking, 1},
      Control{Mistake::kClockGoesBack, "a clock that goes back", kSameStamp, 0},
      Control{Mistake::kNoNumber, "a version without the node's number", kSameStamp, 4},
      Control{Mistake::kMergeAsNew, "a merge that copies older states as new", kOverwritten, 72},
      Control{Mistake::kLateWriters, "no fence at the end of sharing", kOverwritten, 35},
      Control{Mistake::kAnswerAtOnce, "an answer before any member has it", kBelow, 0},
      Control{Mistake::kMergeUnproved, "a merge with a store that lost states", kBack, 1925},
      Control{Mistake::kMergeTooLate, "a merge after deletes are forgotten", kBack, 684});
  ClusterWorld::Counts counts;
  std::optional<std::string> violation;
  std::uint64_t seed = control.first;
  for (; seed < control.first + kControlSeeds && !violation; ++seed) {
    violation = RunSeed(seed, control.mistake, false, counts);
    if (violation && violation->find(control.check) == std::string::npos) violation.reset();
  }
  CAPTURE(control.name, seed, violation.value_or("none"));
  REQUIRE(violation);
}

/// Run on mutants of the core only, see mutants.cmake.
TEST_CASE("a defect of the core is noticed", "[.][mutant]") {
  ClusterWorld::Counts counts;
  std::optional<std::string> violation;
  std::uint64_t seed = 0;
  for (; seed < test::Rounds("STOUT_SEEDS", kControlSeeds) && !violation; ++seed) {
    violation = RunSeed(seed, Mistake::kNone, false, counts);
  }
  INFO(fmt::format("{} seeds", seed));
  REQUIRE(violation);
  WARN(fmt::format("seed {}: {}", seed - 1, *violation));
}

}  // namespace
}  // namespace stout::sim
