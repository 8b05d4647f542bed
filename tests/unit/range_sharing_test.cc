// RangeKeepers of a shared range: they begin to share it, write to it, merge it, and end the
// sharing.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/hybrid_clock.h"
#include "tests/support/catch.h"
#include "tests/unit/keeper_range.h"

namespace stout {
namespace {

RangeRecord Shared(MemberIndex in = 3) {
  RangeRecord record = Range::Record(in);
  record.strong = false;
  record.shared = 5;
  record.merged = TimePoint(99s);
  record.swept = 4;
  return record;
}

RangeKeeperOptions Long(bool only_writes = false) {
  RangeKeeperOptions options = Range::Options();
  options.tombstone_ttl = 1h;
  options.only_writes = only_writes;
  return options;
}

ScannedKey Put(const char* key, Version version) {
  return {key, {.found = true, .value = "", .stamp = {5, version}}};
}

void Open(Range& range, MemberIndex members = 3) {
  for (MemberIndex m = 0; m < members; ++m) range.AnswerFence();
  for (MemberIndex m = 0; m < members; ++m) range.AnswerRead();
}

// The owner of a range with two members, which is to be shared. The next transaction does that.
struct BeforeSharing : Range {
  BeforeSharing() : Range(Record(2), Long()) {
    keeper.WantStrong(false, now);
    keeper.WantShared(true, now);
    keeper.Start(now);
    Open(*this, 2);
    CHECK(Agree().strong);
    for (int i = 0; i < 2; ++i) Next<range::Open>();
    Next<range::Serve>();
    CHECK_FALSE(Agree().strong);
    for (const MemberIndex m : {1, 0}) Scanned(m, {});
    PassBarrier();
    CHECK(Agree().shared == 0);  // the sweep
    PassBarrier();
  }
};

// The owner of a range with two members, of which the first one's keys are scanned.
struct Merging : Range {
  explicit Merging(RangeKeeperOptions options = Long()) : Range(Shared(2), std::move(options)) {
    keeper.Start(now);
    Next<range::Serve>();  // what it serves is nothing
    CHECK_FALSE(keeper.serving());
    Open(*this, 2);
  }
  void Answer(MemberIndex m, const std::vector<std::string>& keys,
              std::vector<StoredState> states) {
    const auto read = Next<range::Read>();
    CHECK(read.member == m);
    CHECK(read.keys == keys);
    keeper.OnRead(read.attempt, {.errc = Errc::kOk, .states = std::move(states)}, now);
  }
  void Copied(MemberIndex m, const std::vector<WriteItem>& items) {
    const auto copy = Next<range::Copy>();
    CHECK(copy.member == m);
    CHECK(copy.items == items);
    keeper.OnCopied(copy.attempt, {}, now);
  }
};

TEST_CASE("a range is shared once all members are in and have all changes", "[keeper][sharing]") {
  BeforeSharing range;
  range.keeper.SetBusy(1, true, range.now);
  const RangeRecord record = range.Agree();
  CHECK(record.shared == 5);
  CHECK(record.merged == range.now);
  CHECK_FALSE(range.keeper.serving());
  CHECK(range.Next<range::Shut>().member == 0);
  CHECK(range.Quiet());  // the other one still has changes
  range.keeper.SetBusy(1, false, range.now);
  range.keeper.Tick(range.now);
  CHECK(range.Next<range::Shut>().member == 1);
  CHECK(range.Next<range::Fence>().member == 0);  // before the first merge
}

TEST_CASE("an answer at level all fails if its member is closed when the sharing begins",
          "[keeper][sharing]") {
  BeforeSharing range;
  range.keeper.SetBusy(0, true, range.now);
  range.keeper.SetBusy(1, true, range.now);
  (void)range.set.Ask(8, range.set.NeedAt(0, true));
  range.set.OnReply(8, 1, Errc::kOk);
  CHECK(range.Agree().shared == 5);
  CHECK(range.Quiet());
  CHECK(range.set.TakeReplies().empty());
  range.Pass(4s);
  for (const MemberIndex m : {0, 1}) CHECK(range.Next<range::Shut>().member == m);
  const auto replies = range.set.TakeReplies();
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].errc != Errc::kOk);  // member 0 lacks it
}

TEST_CASE("a merge gives the newest state to the member that lacks it", "[keeper][sharing]") {
  Merging range;
  range.Scanned(1, {Put("equal", 4), Put("newer", 6), Put("older", 3), Put("stout:mark:0", 9)});
  range.AnswerStates(0, false, {{true, "", {5, 4}}, {true, "", {5, 5}}, {true, "", {5, 8}}});
  range.AnswerStates(1, true, {{true, "N", {5, 7}}});  // it has changed since the scan
  range.Copied(0, {{"newer", "N", WriteKind::kPut, 7}});
  range.Scanned(0, {Put("older", 8), Put("equal", 4)});
  range.Answer(1, {"older", "equal"}, {{true, "o", {5, 3}}, {true, "e", {5, 4}}});
  range.Answer(0, {"older"}, {{true, "o", {5, 8}}});
  range.Copied(1, {{"older", "o", WriteKind::kPut, 8}});
  CHECK(range.keeper.settled());
  CHECK(range.Quiet());
  range.Pass(10s);
  CHECK(range.Next<range::Fence>().member == 0);  // the next one
}

TEST_CASE("a merge spreads deletes, but no tombstone that a member has forgotten",
          "[keeper][sharing]") {
  Merging range;
  range.Scanned(1, {{"known", {false, "", {5, 6}}}, {"forgotten", {false, "", {5, 7}}}});
  range.Answer(0, {"known", "forgotten"}, {{true, "k", {5, 5}}, {}});
  range.Answer(1, {"known"}, {{false, "", {5, 6}}});
  range.Copied(0, {{"known", "", WriteKind::kDelete, 6}});
  range.Scanned(0, {});
  CHECK(range.keeper.settled());
}

TEST_CASE("most merges leave out what the last full merge compared", "[keeper][sharing]") {
  const Version second = HybridClock::VersionsIn(1s);
  Merging range;  // at 100 s
  range.Scanned(1, {Put("old", 20 * second), Put("new", 90 * second)});
  range.Answer(0, {"old", "new"}, {{true, "", {5, 20 * second}}, {true, "", {5, 90 * second}}});
  // The clock of the node that made the last one is ahead.
  range.Scanned(0, {Put("ahead", 9000 * second)});
  range.Answer(1, {"ahead"}, {{true, "", {5, 9000 * second}}});
  CHECK(range.keeper.settled());
  const auto begin = [&] {
    for (MemberIndex m = 0; m < 2; ++m) range.AnswerFence();
    for (MemberIndex m = 0; m < 2; ++m) range.AnswerRead();
  };
  const auto merge_new = [&] {
    range.Pass(10s);
    begin();
    range.Scanned(1, {Put("old", 20 * second), Put("late", 30 * second), Put("new", 90 * second)});
    range.Answer(0, {"new"}, {{true, "", {5, 90 * second}}});
    range.Scanned(0, {});
    CHECK(range.Quiet());
    CHECK(range.keeper.settled());
  };
  const auto merge_all = [&] {
    begin();
    range.Scanned(1, {Put("late", 30 * second)});
    range.Answer(0, {"late"}, {{}});
    range.Answer(1, {"late"}, {{true, "", {5, 30 * second}}});
    range.Copied(0, {{"late", "", WriteKind::kPut, 30 * second}});
    range.Scanned(0, {});
  };
  merge_new();
  SECTION("a store comes back") {
    range.keeper.OnReachable(0, range.now);
    merge_all();
  }
  SECTION("a store comes back during a full merge") {
    range.keeper.OnReachable(0, range.now);
    begin();
    range.keeper.OnReachable(0, range.now += 1s);
    for (const MemberIndex m : {1, 0}) range.Scanned(m, {});
    range.Pass(10s);
    merge_all();
  }
  SECTION("after two minutes") {
    for (int i = 0; i < 10; ++i) merge_new();
    range.Pass(10s);
    merge_all();
    CHECK(range.Agree().merged == range.now);
  }
  CHECK(range.keeper.settled());
}

TEST_CASE("a member with something to merge is scanned for each other member",
          "[keeper][sharing]") {
  Range range(Shared(), Long());
  range.keeper.Start(range.now);
  range.Next<range::Serve>();
  Open(range);
  const auto answer = [&](MemberIndex m) {
    const auto read = range.Next<range::Read>();
    CHECK(read.member == m);
    range.keeper.OnRead(read.attempt, {.errc = Errc::kOk, .states = {{true, "", {5, 7}}}},
                        range.now);
  };
  for (const MemberIndex target : {1, 0}) {
    range.Scanned(2, {Put("k", 7)});
    answer(target);
  }
  for (const MemberIndex m : {1, 0}) range.Scanned(m, {});
  CHECK(range.keeper.settled());
}

TEST_CASE("a merge goes on over the end of a page", "[keeper][sharing]") {
  RangeKeeperOptions options = Long();
  options.walk.page_keys = 1;
  Merging range(options);
  const auto first = range.Next<range::Scan>();
  range.keeper.OnScanned(first.attempt, {Errc::kOk, {Put("a", 1), Put("b", 2)}, "b"}, range.now);
  range.Answer(0, {"a"}, {{true, "", {5, 1}}});
  range.Answer(0, {"b"}, {{true, "", {5, 1}}});
  range.Answer(1, {"b"}, {{true, "B", {5, 2}}});
  range.Copied(0, {{"b", "B", WriteKind::kPut, 2}});
  const auto second = range.Next<range::Scan>();
  CHECK(second.request.cursor == "b");
  range.keeper.OnScanned(second.attempt, {Errc::kOk, {Put("c", 3)}, ""}, range.now);
  range.Answer(0, {"c"}, {{}});
  range.Answer(1, {"c"}, {{true, "C", {5, 3}}});
  range.Copied(0, {{"c", "C", WriteKind::kPut, 3}});
  range.Scanned(0, {});
  CHECK(range.keeper.settled());
}

TEST_CASE("a merge leaves out the state that a store refuses", "[keeper][sharing]") {
  Merging range;
  range.Scanned(1, {Put("large", 1)});
  range.Answer(0, {"large"}, {{}});
  range.Answer(1, {"large"}, {{true, "L", {5, 1}}});
  range.keeper.OnCopied(range.Next<range::Copy>().attempt, {.batch = Errc::kTooLarge}, range.now);
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{0, "large", Errc::kTooLarge});
  range.Scanned(0, {});
  CHECK(range.keeper.settled());
}

TEST_CASE("a merge does not wait for a member that is away, which stays in", "[keeper][sharing]") {
  Merging range;
  range.Next<range::Scan>();
  range.Pass(2s);
  CHECK_FALSE(range.keeper.settled());
  range.Pass(200ms);
  CHECK(range.Next<range::Fence>().member == 0);
  CHECK(range.keeper.record().members[0].in);
  SECTION("but the sharing ends before stores forget deletes") {
    range.now = TimePoint(99s) + 15min;
    range.keeper.Tick(range.now);
    while (!std::holds_alternative<range::Commit>(range.Peek())) range.Drop();
    const RangeRecord record = range.Agree();
    CHECK(record.shared == 0);
    CHECK(record.merged == TimePoint(99s));
    CHECK(range.Next<range::GiveUp>().cause == GivenUp::kUnshared);
  }
}

TEST_CASE("a member that lost its states ends the sharing after the others were merged",
          "[keeper][sharing]") {
  Range range(Shared(), Long());
  range.keeper.Start(range.now);
  range.Next<range::Serve>();
  for (MemberIndex m = 0; m < 3; ++m) range.AnswerFence();
  range.AnswerRead();
  const auto emptied = range.Next<range::Read>();
  range.keeper.OnRead(emptied.attempt, {.errc = Errc::kOk, .states = {{}, {}}}, range.now);
  range.AnswerRead();
  for (const MemberIndex m : {2, 0}) range.Scanned(m, {});
  range.keeper.Tick(range.now);
  CHECK(range.Agree().shared == 0);
  CHECK(range.Next<range::GiveUp>().cause == GivenUp::kUnshared);
}

TEST_CASE("a member that loses its states after a merge ends the sharing after another one",
          "[keeper][sharing]") {
  Range range(Shared(), Long());
  range.keeper.Start(range.now);
  range.Next<range::Serve>();
  Open(range);
  for (const MemberIndex m : {2, 1, 0}) range.Scanned(m, {});  // no key for any target
  CHECK(range.keeper.settled());
  range.keeper.OnLost(1, range.now);
  for (int i = 0; i < 2; ++i) range.AnswerFence();
  for (int i = 0; i < 2; ++i) range.AnswerRead();
  for (const MemberIndex m : {2, 0}) range.Scanned(m, {});
  range.keeper.Tick(range.now);
  CHECK(range.Agree().shared == 0);
}

TEST_CASE("a corrupt member ends the sharing, and is reported", "[keeper][sharing]") {
  RangeKeeperOptions options = Long();
  options.walk.final_tries = 1;
  Merging range(options);
  const auto scan = range.Next<range::Scan>();
  range.keeper.OnScanned(scan.attempt, {Errc::kCorrupt, {}, {}}, range.now);
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "", Errc::kCorrupt});
  CHECK(range.Quiet());  // no merge follows at once
  range.Pass(10s);
  range.AnswerFence();
  range.AnswerRead();
  range.keeper.Tick(range.now);
  CHECK(range.Agree().shared == 0);
}

TEST_CASE("another mode ends the sharing at once", "[keeper][sharing]") {
  Merging range;
  range.Next<range::Scan>();
  range.keeper.WantShared(false, range.now);
  CHECK(range.Agree().shared == 0);
  CHECK(range.Next<range::GiveUp>().cause == GivenUp::kUnshared);
}

// The range was shared under epoch 4. The next owner does not reach one of its two members.
struct AfterSharing : Range {
  explicit AfterSharing(MemberIndex unreached = 1) : Range(Former(), Long()), away(unreached) {
    keeper.Want({away == 1 ? "d0" : "d1"}, now);  // the other one is to be removed
    keeper.SetSilent(MaskOf(away), now);
    keeper.Start(now);
    for (int i = 0; i < 2; ++i) {
      const auto sent = Next<range::Fence>();
      if (sent.member != away) keeper.OnFenced(sent.attempt, {}, now);
    }
    AnswerRead();
    const RangeRecord agreed = Agree();
    CHECK_FALSE(agreed.members[away].in);
    CHECK(IsAwaited(agreed, agreed.members[away]));
    Next<range::Open>();
    Next<range::Serve>();
    fence = Next<range::Fence>();
    CHECK(fence.member == away);
    CHECK(Quiet());
    CHECK_FALSE(set.MayRewrite({4, 7}));
    CHECK(set.MayRewrite({5, 1}));
  }
  static RangeRecord Former() {
    RangeRecord record = Record(2);
    record.strong = false;
    record.merged = TimePoint(99s);
    return record;
  }
  MemberIndex away;
  range::Fence fence{};
};

TEST_CASE("the sweep after sharing waits for a member that left, and reads it",
          "[keeper][sharing]") {
  const MemberIndex away = GENERATE(1, 0);
  AfterSharing range(away);
  range.keeper.OnFenced(range.fence.attempt, {Errc::kUnknown}, range.now);
  range.Pass(100ms);
  range.AnswerFence();
  range.AnswerRead();
  CHECK(range.Next<range::Open>().member == away);
  CHECK(range.set.writers() == MaskOf(1 - away));
  CHECK(range.set.MayRewrite({4, 7}));
  if (away == 0) range.Scanned(1, {});  // the walk begins with the last member

  const auto comes_back = [&range, away] {
    CHECK(range.Next<range::Shut>().member == away);
    CHECK_FALSE(range.set.MayRewrite({4, 7}));
    range.Pass(100ms);
    range.AnswerFence();
    range.AnswerRead();
    range.Next<range::Open>();
    for (const MemberIndex m : {1, 0}) range.Scanned(m, {});
  };

  SECTION("and ends once it is read") {
    range.Scanned(away, {});
    if (away == 1) range.Scanned(0, {});
    CHECK(range.PassBarrier().members == MaskOf(1 - away));
    const RangeRecord agreed = range.Agree();
    CHECK(agreed.swept == 4);
    CHECK(agreed.merged == TimePoint());
    CHECK(range.Next<range::Shut>().member == away);
    CHECK(range.keeper.settled());
  }
  SECTION("and begins again after it was silent") {
    CHECK(range.Next<range::Scan>().member == away);
    range.Pass(2s);
    comes_back();
  }
  SECTION("and proves itself again where its store is another one") {
    CHECK(range.Next<range::Scan>().member == away);
    range.keeper.OnLost(away, range.now);
    comes_back();
  }
  SECTION("and ends without it if it cannot be scanned") {
    while (std::holds_alternative<range::Scan>(range.Peek())) {
      range.keeper.OnScanned(range.Next<range::Scan>().attempt, {Errc::kCorrupt, {}, {}},
                             range.now);
      range.Pass(100ms);
    }
    CHECK(range.Next<range::Unfillable>() == range::Unfillable{away, "", Errc::kCorrupt});
    CHECK(range.Agree().members[away].since == AfterSharing::Former().merged - 1us);
    CHECK(range.Next<range::Shut>().member == away);
  }
}

TEST_CASE("the sweep after sharing does not wait for a member that lost its states",
          "[keeper][sharing]") {
  AfterSharing range;
  range.keeper.OnFenced(range.fence.attempt, {}, range.now);
  const auto read = range.Next<range::Read>();
  range.keeper.OnRead(read.attempt, {.errc = Errc::kOk, .states = {{}, {}}}, range.now);
  CHECK(range.Agree().members[1].since == AfterSharing::Former().merged - 1us);
  range.Scanned(0, {});
}

TEST_CASE("the sweep after sharing waits for half of the time that stores remember deletes",
          "[keeper][sharing]") {
  AfterSharing range;
  range.Pass(30min - 2s);
  while (!range.Quiet()) {
    CHECK(std::holds_alternative<range::Fence>(range.Peek()));
    range.Drop();
  }
  range.Pass(1s);
  while (!std::holds_alternative<range::Commit>(range.Peek())) range.Drop();
  CHECK(range.Agree().merged == TimePoint());
  range.Scanned(0, {});
}

TEST_CASE("a node serves once writes have as many members as they need, or all that came in time",
          "[keeper][sharing]") {
  Range range(Shared(2), Long(true), {.min_in = 2});
  range.keeper.Start(range.now);
  for (MemberIndex m = 0; m < 2; ++m) range.AnswerFence();
  range.AnswerRead();
  const auto late = range.Next<range::Read>();
  CHECK(range.Next<range::Open>().member == 0);
  CHECK(range.Quiet());
  CHECK_FALSE(range.keeper.serving());
  SECTION("the second one proves itself") {
    range.keeper.OnRead(late.attempt, Range::Marked(late.member, ""), range.now);
    CHECK(range.Next<range::Open>().member == 1);
  }
  SECTION("the second one stays silent") { range.Pass(2s); }
  SECTION("the second one is known to be silent") {
    range.keeper.SetSilent(MaskOf(1), range.now);
    range.keeper.Tick(range.now);
  }
  range.Next<range::Serve>();
  CHECK(range.keeper.serving());
}

TEST_CASE("a node writes to the members that prove themselves", "[keeper][sharing]") {
  Range range(Shared(2), Long(true));
  range.keeper.Start(range.now);
  for (MemberIndex m = 0; m < 2; ++m) range.AnswerFence();
  CHECK_FALSE(range.keeper.serving());
  range.AnswerRead();
  CHECK(range.Next<range::Read>().member == 1);
  CHECK(range.Next<range::Open>().member == 0);
  range.Next<range::Serve>();
  CHECK(range.keeper.serving());
  CHECK(range.set.in() == 1);

  SECTION("one that is silent is closed, and opened after another proof") {
    (void)range.set.Ask(8, range.set.NeedOfWrite());
    range.keeper.SetDirty(0, true, range.now);
    range.Pass(2s);
    CHECK(range.Next<range::Shut>().member == 0);
    const auto replies = range.set.TakeReplies();
    REQUIRE(replies.size() == 1);  // no member will answer it
    CHECK(replies[0].errc != Errc::kOk);
    range.Pass(200ms);
    range.AnswerFence();
    range.AnswerRead();
    CHECK(range.Next<range::Open>().member == 0);
  }
  SECTION("one that came back empty stays closed") {
    range.keeper.OnLost(0, range.now);
    CHECK(range.Next<range::Shut>().member == 0);
    range.Pass(200ms);
    range.AnswerFence();
    const auto read = range.Next<range::Read>();
    range.keeper.OnRead(read.attempt, {.errc = Errc::kOk, .states = {{}, {}}}, range.now);
    CHECK(range.Quiet());
    CHECK(range.set.in() == 0);
  }
  SECTION("a newer owner ends it") {
    range.keeper.OnFencedOut(0, range.now);
    CHECK(range.Next<range::GiveUp>().cause == GivenUp::kFenced);
    CHECK_FALSE(range.keeper.serving());
  }
}

TEST_CASE("the level all of a shared range is all members of the record", "[keeper][sharing]") {
  Range range(Shared(2), Long(true));
  range.keeper.Start(range.now);
  for (MemberIndex m = 0; m < 2; ++m) range.AnswerFence();
  range.AnswerRead();
  CHECK(range.set.TakesWrites(1));
  CHECK_FALSE(range.set.TakesWrites(0));
  CHECK(range.set.NeedAt(0, true).members == 2);
  CHECK(range.set.NeedAt(0, true).min_in == 2);
}

}  // namespace
}  // namespace stout
