#include "stout/core/strong_reads.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace internal;

StoredState Found(const std::string& value, Stamp stamp) {
  return {.found = true, .value = value, .stamp = stamp};
}

/// Two members that are in, under epoch 5. All of epoch 3 is settled, nothing of epoch 4.
struct TwoMembers {
  explicit TwoMembers(Epoch shared = 0, Epoch swept = 3) {
    RangeRecord record;
    record.shared = shared;
    for (int m = 0; m < 2; ++m) record.members.push_back({.datalet = "d", .in = true});
    record.swept = swept;
    set.Adopt(record);
    // Each node finds out by itself which members of a shared range it reaches.
    for (MemberIndex m = 0; m < 2; ++m) set.SetState(m, MemberState::kIn);
    set.SetLocal(0);
  }

  ReplicaSet set{5, {}};
  StrongReads reads{set, 1};
};

TEST_CASE("after the sweep a state is shown as one member has it", "[reads]") {
  TwoMembers world(0, 4);
  world.reads.Read("k", 1);
  world.reads.Read("k", 2);
  const auto asked = world.reads.TakeEffects();
  REQUIRE(asked.fetches.size() == 1);
  CHECK(asked.fetches[0].member == 0);
  world.reads.OnFetched(asked.fetches[0].token, 0, Errc::kOk, Found("v", {3, 9}));
  const auto ended = world.reads.TakeEffects();
  CHECK(ended.done == std::vector<reads::Done>{{1, Errc::kOk, false, Found("v", {3, 9})},
                                               {2, Errc::kOk, false, Found("v", {3, 9})}});
  CHECK(ended.repairs.empty());
}

TEST_CASE("before the sweep a read asks all members, and repairs the newest state", "[reads]") {
  TwoMembers world;
  world.reads.Read("k", 1);
  const auto asked = world.reads.TakeEffects();
  REQUIRE(asked.fetches.size() == 2);
  // Member 0 alone would do: its state is settled.
  world.reads.OnFetched(asked.fetches[0].token, 0, Errc::kOk, Found("old", {3, 1}));
  CHECK(world.reads.TakeEffects().empty());
  SECTION("the other member has the same") {
    world.reads.OnFetched(asked.fetches[1].token, 1, Errc::kOk, Found("old", {3, 1}));
    CHECK(world.reads.TakeEffects().done ==
          std::vector<reads::Done>{{1, Errc::kOk, false, Found("old", {3, 1})}});
    return;
  }
  world.reads.OnFetched(asked.fetches[1].token, 1, Errc::kOk, Found("new", {4, 2}));
  CHECK(world.reads.TakeEffects().repairs ==
        std::vector<reads::Repair>{{"k", Found("new", {4, 2})}});
  SECTION("its reads look again once it is written") {
    world.reads.EndReads("k");
    CHECK(world.reads.TakeEffects().done == std::vector<reads::Done>{{1, Errc::kOk, true, {}}});
  }
  SECTION("its reads fail if it is not written") {
    world.reads.OnRepairRefused("k", Errc::kPushedBack);
    CHECK(world.reads.TakeEffects().done ==
          std::vector<reads::Done>{{1, Errc::kPushedBack, false, {}}});
  }
}

// The fill of the settled state made it newer than a write that one member alone has.
TEST_CASE("a settled newest state is repaired if another member has an unsettled one", "[reads]") {
  TwoMembers world;
  world.reads.Read("k", 1);
  for (const auto& [member, token, key] : world.reads.TakeEffects().fetches) {
    const StoredState state = member == 0 ? Found("w2", {4, 6}) : Found("w1", {5, 0});
    world.reads.OnFetched(token, member, Errc::kOk, state);
  }
  const auto ended = world.reads.TakeEffects();
  CHECK(ended.repairs == std::vector<reads::Repair>{{"k", Found("w1", {5, 0})}});
  CHECK(ended.done.empty());
}

TEST_CASE("a read gives up what it found if its key changes", "[reads]") {
  TwoMembers world;
  world.reads.Read("k", 1);
  const auto gather = world.reads.TakeEffects();
  REQUIRE(gather.fetches.size() == 2);
  world.reads.OnFetched(gather.fetches[0].token, 0, Errc::kOk, Found("old", {4, 1}));
  world.reads.EndReads("k");
  world.reads.OnFetched(gather.fetches[1].token, 1, Errc::kOk, Found("old", {4, 1}));
  const auto ended = world.reads.TakeEffects();
  CHECK(ended.repairs.empty());
  CHECK(ended.done == std::vector<reads::Done>{{1, Errc::kOk, true, {}}});
}

TEST_CASE("a read asks another member if its own leaves", "[reads]") {
  TwoMembers world(0, 4);
  world.reads.Read("k", 1);
  const auto first = world.reads.TakeEffects();
  world.reads.OnFetched(first.fetches.at(0).token, 0, GENERATE(Errc::kClosed, Errc::kLost), {});
  CHECK(world.reads.TakeEffects().empty());
  world.set.SetState(0, MemberState::kOut);
  world.reads.OnMembersChanged();
  const auto second = world.reads.TakeEffects();
  REQUIRE(second.fetches.size() == 1);
  CHECK(second.fetches[0].member == 1);
  world.reads.OnFetched(second.fetches[0].token, 1, Errc::kDeadline, {});
  CHECK(world.reads.TakeEffects().done ==
        std::vector<reads::Done>{{1, Errc::kDeadline, false, {}}});
}

TEST_CASE("in a shared range the newest state of all members counts", "[reads]") {
  TwoMembers world(5, 4);
  world.reads.Read("k", 1);
  const auto asked = world.reads.TakeEffects();
  REQUIRE(asked.fetches.size() == 2);
  SECTION("all answer") {
    world.reads.OnFetched(asked.fetches[0].token, 0, Errc::kOk, Found("old", {4, 1}));
    CHECK(world.reads.TakeEffects().empty());
    world.reads.OnFetched(asked.fetches[1].token, 1, Errc::kOk, Found("new", {4, 2}));
    CHECK(world.reads.TakeEffects().done ==
          std::vector<reads::Done>{{1, Errc::kOk, false, Found("new", {4, 2})}});
  }
  SECTION("one is damaged, first or last") {
    const MemberIndex bad = GENERATE(MemberIndex{0}, MemberIndex{1});
    for (const reads::Fetch& fetch : asked.fetches) {
      const Errc errc = fetch.member == bad ? Errc::kCorrupt : Errc::kOk;
      world.reads.OnFetched(fetch.token, fetch.member, errc, Found("v", {4, 1}));
    }
    CHECK(world.reads.TakeEffects().done ==
          std::vector<reads::Done>{{1, Errc::kOk, false, Found("v", {4, 1})}});
  }
  SECTION("one may have a newer state") {
    world.reads.OnFetched(asked.fetches[0].token, 0, Errc::kOk, Found("v", {4, 1}));
    world.reads.OnFetched(asked.fetches[1].token, 1, Errc::kDeadline, {});
    CHECK(world.reads.TakeEffects().done ==
          std::vector<reads::Done>{{1, Errc::kDeadline, false, {}}});
  }
  SECTION("a member that is opened meanwhile is asked as well") {
    world.set.SetState(2, MemberState::kIn);
    for (const auto& [member, token, key] : asked.fetches) {
      world.reads.OnFetched(token, member, Errc::kOk, Found("v", {4, 1}));
    }
    CHECK(world.reads.TakeEffects().fetches.size() == 3);
  }
  SECTION("all are damaged") {
    for (const reads::Fetch& fetch : asked.fetches) {
      world.reads.OnFetched(fetch.token, fetch.member, Errc::kCorrupt, {});
    }
    CHECK(world.reads.TakeEffects().done ==
          std::vector<reads::Done>{{1, Errc::kCorrupt, false, {}}});
  }
}

// It was shared under epoch 4.
TEST_CASE("after sharing, a state is repaired once the member that left can be read", "[reads]") {
  TwoMembers world;
  RangeRecord record;
  record.swept = 3;
  record.merged = TimePoint(std::chrono::seconds(99));
  for (int m = 0; m < 3; ++m) record.members.push_back({.datalet = "d", .in = m < 2});
  record.members[2].since = record.merged;
  world.set.Adopt(record);
  const auto answer = [&world](const reads::Effects& asked, Version version) {
    for (const auto& [member, token, key] : asked.fetches) {
      world.reads.OnFetched(token, member, Errc::kOk, Found("v", {4, version + member}));
    }
  };
  world.reads.Read("k", 1);
  const auto first = world.reads.TakeEffects();
  CHECK(first.fetches.size() == 2);
  answer(first, 6);
  const auto shown = world.reads.TakeEffects();
  CHECK(shown.repairs.empty());
  CHECK(shown.done == std::vector<reads::Done>{{1, Errc::kOk, false, Found("v", {4, 7})}});

  world.reads.Read("k", 2);
  const auto second = world.reads.TakeEffects();
  world.set.SetState(2, MemberState::kSource);
  answer(second, 6);
  const auto third = world.reads.TakeEffects();
  CHECK(third.fetches.size() == 3);
  answer(third, 6);
  CHECK(world.reads.TakeEffects().repairs == std::vector<reads::Repair>{{"k", Found("v", {4, 8})}});

  // A damaged state of that member counts for nothing.
  world.reads.Read("d", 3);
  for (const auto& [member, token, key] : world.reads.TakeEffects().fetches) {
    const Errc errc = member == 2 ? Errc::kCorrupt : Errc::kOk;
    world.reads.OnFetched(token, member, errc, Found("v", {4, 6 + member}));
  }
  CHECK(world.reads.TakeEffects().repairs == std::vector<reads::Repair>{{"d", Found("v", {4, 7})}});
}

TEST_CASE("a lost range fails all reads", "[reads]") {
  TwoMembers world;
  world.reads.Read("a", 1);
  world.reads.Read("b", 2);
  world.reads.FailAll(Errc::kFenced);
  CHECK(world.reads.TakeEffects().done.size() == 2);
}

}  // namespace
}  // namespace stout
