// The compaction as a value: what it does next, whatever fails.

#include "blowfish/store/compaction.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using namespace std::chrono_literals;
using Action = Compaction::Action;

constexpr CompactionOptions kOptions = {
    .freeze_bytes = 100, .merge_bytes = 1000, .max_unmerged_bytes = 500, .rest = 5s};

// A compaction and what it is told.
struct World {
  Compaction compaction{kOptions};
  TimePoint now;

  void Grow(Compaction::LogGrew grew) { compaction.On(grew, now); }
  void Allow(bool merge) { compaction.On(Compaction::MergeAllowed{merge}, now); }
  void Ask() { compaction.On(Compaction::Asked{}, now); }
  void Fail() { compaction.On(Compaction::Failed{}, now); }
  // The expected action has begun.
  std::optional<Action> Next() { return compaction.Next(now); }
  // Ends the action under way with success; the freeze took this number of bytes.
  void End(std::uint64_t frozen_bytes = 10) {
    if (compaction.working() == Action::kFreeze) {
      compaction.On(Compaction::Frozen{frozen_bytes}, now);
    } else {
      compaction.On(Compaction::Done{}, now);
    }
  }
  // Its actions until it is idle, if all succeed.
  std::vector<Action> Run() {
    std::vector<Action> actions;
    while (const auto action = Next()) {
      actions.push_back(*action);
      End();
    }
    return actions;
  }
  void RunUntil(Action action) {
    while (true) {
      const auto next = Next();
      REQUIRE(next);
      if (next == action) return;
      End();
    }
  }
};

const std::vector<Action> kAll = {Action::kFreeze,  Action::kSort,     Action::kMerge,
                                  Action::kPublish, Action::kTakeOver, Action::kRemove};
const std::vector<Action> kFreezing = {Action::kFreeze, Action::kSort};

TEST_CASE("nothing is compacted while the log is short", "[compaction]") {
  World world;
  world.Grow({.table_bytes = 99, .log_bytes = 999, .unmerged_bytes = 500});
  CHECK(world.compaction.idle());
  CHECK(world.Next() == std::nullopt);
  CHECK(world.compaction.Deadline() == std::nullopt);
}

TEST_CASE(
    "a large table is frozen and sorted, and merged when the log is long, or takes much memory",
    "[compaction]") {
  World world;
  world.Grow({.table_bytes = 100, .log_bytes = 10});
  CHECK(world.compaction.Deadline() == TimePoint::min());
  CHECK(world.Run() == kFreezing);
  CHECK(world.compaction.idle());
  // Frozen before, and now, together.
  world.Grow({.table_bytes = 10, .log_bytes = 990});
  REQUIRE(world.Next() == Action::kFreeze);
  world.End(990);
  CHECK(world.Run() == std::vector<Action>(kAll.begin() + 1, kAll.end()));
  CHECK(world.compaction.idle());
  world.Grow({.table_bytes = 10, .log_bytes = 10, .unmerged_bytes = 501});
  CHECK(world.Run() == kAll);
}

TEST_CASE("a request during the freeze brings another merge", "[compaction]") {
  World world;
  world.Ask();
  REQUIRE(world.Next() == Action::kFreeze);
  world.Ask();
  world.End();
  std::vector<Action> expected(kAll.begin() + 1, kAll.end());
  expected.insert(expected.end(), kAll.begin(), kAll.end());
  CHECK(world.Run() == expected);
}

TEST_CASE("a step that failed rests, then it is tried again, and it alone", "[compaction]") {
  for (const Action failing : {Action::kFreeze, Action::kSort, Action::kMerge, Action::kPublish}) {
    CAPTURE(Describe(failing));
    World world;
    world.Ask();
    world.RunUntil(failing);
    for (int times = 0; times < 3; ++times) {
      world.Fail();
      CHECK_FALSE(world.compaction.idle());
      CHECK(world.compaction.Deadline() == world.now + 5s);
      world.now += 4s;
      CHECK(world.Next() == std::nullopt);
      world.now += 1s;
      REQUIRE(world.Next() == failing);
    }
    world.End();
    std::vector<Action> rest(std::ranges::find(kAll, failing) + 1, kAll.end());
    CHECK(world.Run() == rest);
    CHECK(world.compaction.idle());
  }
}

TEST_CASE("a requested compaction ends a rest", "[compaction]") {
  World world;
  world.Ask();
  world.RunUntil(Action::kMerge);
  world.Fail();
  world.Ask();
  CHECK(world.Next() == Action::kMerge);
}

TEST_CASE("files that could not be removed are left to the next merge", "[compaction]") {
  World world;
  world.Ask();
  world.RunUntil(Action::kRemove);
  world.Fail();
  CHECK(world.compaction.idle());
  CHECK(world.compaction.Deadline() == std::nullopt);
}

TEST_CASE("a log that is empty is not frozen, however much is not merged", "[compaction]") {
  World world;
  world.Grow({.table_bytes = 100, .log_bytes = 10, .unmerged_bytes = 110});
  CHECK(world.Run() == kFreezing);
  // Sorted, it takes more than it may.
  world.Grow({.unmerged_bytes = 501});
  REQUIRE(world.Next() == Action::kMerge);
  world.Fail();
  world.now += 5s;
  CHECK(world.Next() == Action::kMerge);
}

TEST_CASE("files with much more that was replaced than live are merged, and only once",
          "[compaction]") {
  World world;
  world.Grow({.files = {.bytes = 3000, .live = 1000}});
  CHECK(world.compaction.idle());
  // The log may be empty, as after a start.
  const std::uint64_t log = GENERATE(0, 10);
  world.Grow({.log_bytes = log, .files = {.bytes = 3001, .live = 1000}});
  CHECK(world.compaction.Deadline() == TimePoint::min());
  REQUIRE(world.Next() == Action::kFreeze);
  world.End();
  world.Grow({.files = {.bytes = 3001, .live = 1000}});
  world.RunUntil(Action::kTakeOver);
  world.End();
  world.Grow({.files = {.bytes = 1000, .live = 1000}});
  CHECK(world.Run() == std::vector{Action::kRemove});
  CHECK(world.compaction.idle());
}

TEST_CASE("a merge that waits is for what was replaced meanwhile, too", "[compaction]") {
  World world;
  world.Allow(false);
  world.Grow({.files = {.bytes = 3001, .live = 1000}});
  REQUIRE(world.Next() == Action::kFreeze);
  world.End();
  world.Grow({.log_bytes = 10, .files = {.bytes = 3001, .live = 900}});
  CHECK(world.Run() == std::vector{Action::kSort});
  CHECK(world.compaction.WantsMerge(world.now));
}

TEST_CASE("changes that come while a merge waits are frozen, and that merge takes them too",
          "[compaction]") {
  World world;
  world.Allow(false);
  world.Grow({.table_bytes = 100, .log_bytes = 1000});
  REQUIRE(world.Next() == Action::kFreeze);
  world.End(1000);
  CHECK(world.Run() == std::vector{Action::kSort});
  CHECK(world.compaction.WantsMerge(world.now));
  CHECK_FALSE(world.compaction.idle());
  // A little more does not become a store of its own.
  world.Grow({.table_bytes = 99, .log_bytes = 99, .unmerged_bytes = 501});
  CHECK(world.Next() == std::nullopt);
  CHECK(world.compaction.Deadline() == std::nullopt);
  world.Grow({.table_bytes = 100, .log_bytes = 100, .unmerged_bytes = 501});
  CHECK(world.Run() == kFreezing);
  world.Allow(true);
  CHECK(world.compaction.Deadline() == TimePoint::min());
  CHECK(world.Run() == std::vector<Action>(kAll.begin() + 2, kAll.end()));
  CHECK(world.compaction.idle());
}

TEST_CASE("a merge that failed waits for its turn again after the rest", "[compaction]") {
  World world;
  world.Ask();
  world.RunUntil(Action::kMerge);
  world.Fail();
  world.Allow(false);
  CHECK_FALSE(world.compaction.WantsMerge(world.now));
  world.now += 5s;
  CHECK(world.compaction.WantsMerge(world.now));
  CHECK(world.Next() == std::nullopt);
  CHECK(world.compaction.WantsMerge(world.now));
  world.Allow(true);
  CHECK(world.Next() == Action::kMerge);
}

TEST_CASE("whatever fails, one thing is done at a time, and all is merged in the end",
          "[compaction]") {
  const std::uint64_t seed = GENERATE(range(1, 200));
  CAPTURE(seed);
  SplitMix64 random(seed);
  World world;
  std::uint64_t table = 0;     // Writes that are in the log's table,
  std::uint64_t unsorted = 0;  // frozen,
  std::uint64_t unmerged = 0;  // sorted,
  std::uint64_t merging = 0;   // and among them in the merge.
  bool froze = false;          // Since the last take-over.
  bool asked = false;          // Since the last freeze began that succeeded,
  bool freeze_asked = false;   // and when the one under way did.
  const auto tell = [&] {
    world.Grow({.table_bytes = 10 * table,
                .log_bytes = 10 * table,
                .unmerged_bytes = 10 * (table + unsorted + unmerged)});
  };
  const auto end = [&] {
    switch (*world.compaction.working()) {
      case Action::kFreeze:
        unsorted = std::exchange(table, 0);
        froze = true;
        return world.End(10 * unsorted);
      case Action::kSort:
        unmerged += std::exchange(unsorted, 0);
        break;
      case Action::kMerge:
        merging = unmerged;
        break;
      case Action::kTakeOver:
        CHECK(merging == unmerged);
        unmerged = merging = 0;
        froze = false;
        break;
      default:
        break;
    }
    world.End();
  };
  for (int step = 0; step < 300; ++step) {
    const auto working = world.compaction.working();
    const bool allowed = random.Below(2) == 0;
    world.Allow(allowed);
    switch (random.Below(5)) {
      case 0:
        table += random.Below(8);
        break;
      case 1:
        if (random.Below(4) > 0) break;
        world.Ask();
        asked = true;
        break;
      case 2:
        world.now += std::chrono::seconds(random.Below(70));
        break;
      case 3:
        if (working) end();
        break;
      default:
        if (!working || working == Action::kTakeOver) break;
        world.Fail();
        if (working == Action::kFreeze) asked = asked || freeze_asked;
    }
    tell();
    const bool busy = world.compaction.working().has_value();
    if (const auto next = world.Next()) {
      CHECK_FALSE(busy);
      if (next == Action::kMerge) CHECK((allowed && froze && unsorted == 0));
      if (next == Action::kFreeze) {
        freeze_asked = std::exchange(asked, false);
        CHECK((table > 0 || freeze_asked));
      }
    }
    // There is always a next step: an end, a deadline, or a new event.
    CHECK((world.compaction.working() || world.compaction.Deadline() || world.compaction.idle() ||
           world.compaction.WantsMerge(world.now)));
  }
  world.Allow(true);
  world.Ask();
  for (int step = 0; step < 100 && !world.compaction.idle(); ++step) {
    (void)world.Next();
    if (world.compaction.working()) end();
    tell();
  }
  CHECK(world.compaction.idle());
  CHECK(table + unsorted + unmerged == 0);
}

}  // namespace
}  // namespace stout::blowfish
