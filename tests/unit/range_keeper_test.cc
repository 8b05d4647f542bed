// A RangeKeeper takes a range over, and notices that members fail.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/keeper_range.h"

namespace stout {
namespace {

TEST_CASE("a new owner fences all members, closes the marks, and then serves", "[keeper]") {
  Range range;
  range.keeper.Start(range.now);
  for (int m = 0; m < 3; ++m) range.AnswerFence();
  range.AnswerRead("4:7");
  range.AnswerRead("4:9");
  range.AnswerRead("2:5");  // swept long ago
  CHECK_FALSE(range.keeper.serving());
  const RangeRecord record = range.Agree();
  CHECK(record.closed == std::map<Epoch, Version>{{4, 9}});
  for (MemberIndex m = 0; m < 3; ++m) CHECK(range.Next<range::Open>().member == m);
  range.Next<range::Serve>();
  CHECK(range.set.IsSettled({4, 9}));
  CHECK_FALSE(range.set.IsSettled({4, 10}));
}

TEST_CASE("a member that does not answer a new owner leaves after the time-out", "[keeper]") {
  Range range;
  range.keeper.Start(range.now);
  range.AnswerFence();
  range.AnswerFence({Errc::kUnknown});
  range.Next<range::Fence>();
  range.AnswerRead("4:9");
  CHECK(range.Quiet());
  range.Pass(1s);
  range.AnswerFence({Errc::kTransient});  // again
  range.Pass(1s);
  range.Next<range::Fence>();
  const auto commit = range.Next<range::Commit>();
  CHECK(RecordOf(commit).members[0].in);
  CHECK_FALSE(RecordOf(commit).members[1].in);
  CHECK_FALSE(RecordOf(commit).members[2].in);
}

TEST_CASE("a new owner does not wait for a member that is known to be silent", "[keeper]") {
  Range range(2);
  const bool before = GENERATE(true, false);
  if (before) range.keeper.SetSilent(MaskOf(1), range.now);
  range.keeper.Start(range.now);
  range.AnswerFence();
  range.Next<range::Fence>();  // is not answered
  range.AnswerRead();
  if (!before) {
    REQUIRE(range.Quiet());
    range.keeper.SetSilent(MaskOf(1), range.now);
  }
  CHECK_FALSE(range.Agree().members[1].in);
}

TEST_CASE("the only member that is in is waited for although it is silent", "[keeper]") {
  Range range(1);
  range.keeper.SetSilent(MaskOf(0), range.now);
  range.keeper.Start(range.now);
  range.Next<range::Fence>();
  range.Pass(1s);
  CHECK(range.Quiet());
}

TEST_CASE("a member without its identity is not waited for", "[keeper]") {
  Range range(2);
  range.keeper.Start(range.now);
  for (int m = 0; m < 2; ++m) range.AnswerFence();
  range.AnswerRead();
  const auto read = range.Next<range::Read>();
  range.keeper.OnRead(read.attempt, {.errc = Errc::kOk, .states = {{}, {}}}, range.now);
  CHECK_FALSE(range.Agree().members[1].in);
}

TEST_CASE("a member that is lost while a new owner takes over leaves", "[keeper]") {
  Range range(2);
  range.keeper.Start(range.now);
  for (int m = 0; m < 2; ++m) range.AnswerFence();
  SECTION("before it was read") {
    range.keeper.OnLost(1, range.now);
    for (int m = 0; m < 2; ++m) range.AnswerRead();
    CHECK_FALSE(range.Agree().members[1].in);
  }
  SECTION("during the transaction") {
    for (int m = 0; m < 2; ++m) range.AnswerRead();
    range.keeper.OnLost(1, range.now);
    CHECK(range.Agree().members[1].in);
    for (int m = 0; m < 2; ++m) range.Next<range::Open>();
    range.Next<range::Serve>();
    CHECK_FALSE(range.Agree().members[1].in);
  }
}

TEST_CASE("an owner that a store or the coordinator fences gives the range up", "[keeper]") {
  Range range;
  range.keeper.Start(range.now);
  SECTION("at a fence") { range.AnswerFence({Errc::kFenced}); }
  SECTION("at its transaction") {
    for (int m = 0; m < 3; ++m) range.AnswerFence();
    for (int m = 0; m < 3; ++m) range.AnswerRead();
    range.keeper.OnCommitted(range.Next<range::Commit>().attempt, Errc::kFenced, {}, range.now);
  }
  SECTION("if no member answers") {
    for (int m = 0; m < 3; ++m) range.Next<range::Fence>();
    range.Pass(4s);
  }
  range.actions.erase(
      std::remove_if(range.actions.begin(), range.actions.end(),
                     [](const auto& a) { return std::holds_alternative<range::Fence>(a); }),
      range.actions.end());
  range.Next<range::GiveUp>();
  CHECK_FALSE(range.keeper.serving());
}

TEST_CASE("a silent member leaves, after the transaction and not before", "[keeper]") {
  Range range;
  range.Serve();
  range.set.Ask(1, range.set.NeedOfWrite());
  for (MemberIndex m = 0; m < 2; ++m) range.set.OnReply(1, m, Errc::kOk);
  range.keeper.SetBusy(2, true, range.now);
  range.Pass(1s);
  CHECK(range.Quiet());
  range.Pass(1s);
  // The others were idle: do they still have their memory?
  const auto probe = range.Next<range::Read>();
  CHECK(range.Next<range::Read>().member == 1);
  CHECK(range.Quiet());
  range.keeper.OnProgress(probe.member, false, range.now);
  range.keeper.OnRead(probe.attempt, Range::Marked(probe.member, ""), range.now);
  const auto commit = range.Next<range::Commit>();
  CHECK_FALSE(RecordOf(commit).members[2].in);
  CHECK(RecordOf(commit).members[2].since == range.now);
  CHECK(range.set.TakeReplies().empty());
  range.keeper.OnCommitted(commit.attempt, Errc::kOk, {ChangeOutcome::kDone, 19}, range.now);
  CHECK(range.set.TakeReplies() == std::vector<RunReply>{{1, Errc::kOk}});
  CHECK(range.Next<range::Shut>().member == 2);
}

TEST_CASE("a pause of the owner is no silence of its members", "[keeper]") {
  const Duration pause = GENERATE(2s, 3s, 10s);
  CAPTURE(pause.count());
  Range range;
  SECTION("while it serves") {
    range.Serve();
    for (MemberIndex m = 0; m < 3; ++m) range.keeper.SetBusy(m, true, range.now);
    range.Pass(0s);
    range.now += pause;
    range.keeper.OnProgress(0, true, range.now);  // this answer is the first one to be read
    range.Pass(0s);
    CHECK(range.Quiet());
    range.Pass(1s);
    CHECK(range.Quiet());
    range.Pass(500ms);  // the others are silent after the pause as well
    const RangeRecord record = range.Agree();
    CHECK(record.members[0].in);
    CHECK_FALSE(record.members[1].in);
    CHECK_FALSE(record.members[2].in);
  }
  SECTION("while it takes the range over") {
    range.keeper.Start(range.now);
    range.AnswerFence();
    for (int m = 1; m < 3; ++m) range.Next<range::Fence>();
    range.now += pause;
    range.AnswerRead();
    CHECK(range.Quiet());
    range.Pass(1500ms);
    CHECK_FALSE(range.Agree().members[2].in);
  }
  SECTION("while it fills a member") {
    Range filling(1);
    filling.Serve(1);
    filling.keeper.Want({"d0", "d1"}, filling.now);
    filling.AnswerFence();
    filling.Next<range::Open>();
    filling.PassBarrier();
    filling.Next<range::Scan>();
    filling.Pass(0s);
    filling.now += pause;
    filling.Pass(0s);
    CHECK(filling.Quiet());
    filling.Pass(1500ms);
    CHECK(filling.Next<range::Shut>().member == 1);
  }
}

/// Answers all probes.
void Prove(Range& range, int probes) {
  range.now += 1ms;
  for (int i = 0; i < probes; ++i) {
    const auto probe = range.Next<range::Read>();
    range.keeper.OnProgress(probe.member, false, range.now);
    range.keeper.OnRead(probe.attempt, Range::Marked(probe.member, ""), range.now);
  }
}

TEST_CASE("a member whose reads succeed and whose writes fail leaves", "[keeper]") {
  Range range;
  range.Serve();
  range.keeper.SetBusy(2, true, range.now);
  range.keeper.SetDirty(2, true, range.now);
  for (int i = 0; i < 3; ++i) {
    range.Pass(500ms);
    range.keeper.OnProgress(2, false, range.now);
  }
  CHECK(range.Quiet());
  range.Pass(500ms);
  Prove(range, 2);
  CHECK_FALSE(range.Agree().members[2].in);
}

TEST_CASE("a member that refuses a change leaves, except the last one", "[keeper]") {
  Range range(2);
  range.Serve(2);
  range.keeper.OnRefused(1, range.now);
  SECTION("alone") {
    Prove(range, 1);
    const RangeRecord record = range.Agree();
    CHECK(record.members[0].in);
    CHECK_FALSE(record.members[1].in);
  }
  SECTION("with all other members") {
    range.now += 1ms;
    range.keeper.OnProgress(1, true, range.now);
    range.keeper.OnRefused(0, range.now);
    Prove(range, 2);
    const RangeRecord record = range.Agree();
    CHECK_FALSE(record.members[0].in);
    CHECK(record.members[1].in);
  }
}

TEST_CASE("a lagging member stays if all others are silent", "[keeper]") {
  Range range(2);
  range.Serve(2);
  range.keeper.SetBusy(0, true, range.now);
  range.Pass(2s);
  range.Next<range::Read>();
  range.keeper.OnLagging(1, range.now);
  range.now += 1ms;
  range.keeper.OnProgress(1, true, range.now);
  range.keeper.Tick(range.now);
  const RangeRecord record = range.Agree();
  CHECK_FALSE(record.members[0].in);
  CHECK(record.members[1].in);
}

TEST_CASE("a wanted datalet that the record lacks is added and filled", "[keeper]") {
  Range range(2);
  range.Serve(2);
  CHECK(range.keeper.record().members.size() == 2);  // the third one was out, and not wanted
  SECTION("at once") {
    range.keeper.Want({"d0", "new", "d1"}, range.now);
    CHECK_FALSE(range.keeper.settled());
    CHECK(range.Next<range::Fence>().member == 2);
    CHECK(range.keeper.record().members[2] == RangeRecord::Member{.datalet = "new"});
  }
  SECTION("after a transaction") {
    range.keeper.OnLost(1, range.now);
    range.keeper.Want({"d0", "new"}, range.now);
    CHECK(range.Agree().members.size() == 2);
    range.Next<range::Shut>();
    CHECK(range.Next<range::Fence>().member == 2);
  }
  SECTION("unless the record is full, so that no member leaves") {
    std::vector<std::string> many{"d0"};
    for (MemberIndex m = 2; m <= kMaxMembers; ++m) many.push_back("m" + std::to_string(m));
    range.keeper.Want(many, range.now);
    CHECK(range.keeper.record().members.size() == kMaxMembers);
    range.AnswerFence({Errc::kTransient});
    CHECK_FALSE(range.keeper.settled());
    range.Pass(50ms);
    CHECK(range.Quiet());
    SECTION("until fewer are wanted") {
      range.keeper.Want({"d0"}, range.now);
      CHECK(range.Next<range::Read>().member == 0);  // d1 is to leave
    }
    SECTION("and ends with this owner if former members fill it") {
      range.keeper.Want({"d0", "last"}, range.now);
      CHECK(range.keeper.record().members.size() == kMaxMembers);
      range.Pass(50ms);
      CHECK(range.Next<range::GiveUp>().cause == GivenUp::kFull);
    }
  }
}

TEST_CASE("if no datalet is wanted all members stay", "[keeper]") {
  Range range(2);
  range.Serve(2);
  range.keeper.Want({}, range.now);
  range.Pass(1s);
  CHECK(range.Quiet());
  CHECK(range.keeper.settled());
}

TEST_CASE("a member that is not wanted leaves, and stays if it is wanted again", "[keeper]") {
  Range range(2);
  range.Serve(2);
  range.keeper.Want({"d0"}, range.now);
  const auto probe = range.Next<range::Read>();
  CHECK(probe.member == 0);
  SECTION("leaves") {
    range.now += 1ms;
    range.keeper.OnProgress(0, false, range.now);
    range.keeper.Tick(range.now);
    CHECK_FALSE(range.Agree().members[1].in);
  }
  SECTION("stays") {
    range.keeper.Want({"d0", "d1"}, range.now);
    range.now += 1ms;
    range.keeper.OnProgress(0, false, range.now);
    range.keeper.Tick(range.now);
    CHECK(range.Quiet());
  }
}

TEST_CASE("a lost probe does not cost an idle member its place", "[keeper]") {
  Range range(2);
  range.Serve(2);
  range.keeper.SetBusy(1, true, range.now);
  range.Pass(2s);
  CHECK(range.Next<range::Read>().member == 0);
  SECTION("if the silent member answers again") {
    range.keeper.OnProgress(1, true, range.now);
    range.keeper.SetBusy(1, false, range.now);
    range.Pass(0s);
    range.Pass(10s);
    CHECK(range.Quiet());
  }
  SECTION("because it is sent again") {
    range.Pass(500ms);
    Prove(range, 1);
    CHECK_FALSE(range.Agree().members[1].in);
  }
}

TEST_CASE("a fill whose target has a newer owner ends, and the range goes on", "[keeper]") {
  Range range(1);
  range.Serve(1);
  range.keeper.Want({"d0", "d1"}, range.now);
  SECTION("at its fence") { range.AnswerFence({Errc::kFenced}); }
  SECTION("later") {
    range.AnswerFence();
    range.Next<range::Open>();
    range.Next<range::Barrier>();
    range.keeper.OnFencedOut(1, range.now);
    CHECK(range.Next<range::Shut>().member == 1);
  }
  CHECK(range.Quiet());
  CHECK(range.keeper.serving());
  range.keeper.OnFencedOut(0, range.now);
  range.Next<range::GiveUp>();
}

TEST_CASE("a transaction without an answer is repeated until it is judged", "[keeper]") {
  Range range;
  range.Serve();
  range.keeper.OnLost(1, range.now);
  const auto first = range.Next<range::Commit>();
  range.keeper.OnCommitted(first.attempt, Errc::kUnknown, {}, range.now);
  CHECK(range.Quiet());
  range.Pass(1s);
  const auto second = range.Next<range::Commit>();
  CHECK(second.change == first.change);
  range.keeper.OnCommitted(first.attempt, Errc::kTransient, {}, range.now);  // late
  SECTION("and is done") {
    range.keeper.OnCommitted(second.attempt, Errc::kOk, {ChangeOutcome::kDone, 15}, range.now);
    CHECK(range.Next<range::Shut>().member == 1);
    range.keeper.OnLost(2, range.now);
    CHECK(range.Next<range::Commit>().change.read == 15);
  }
  SECTION("and finds another owner") {
    const auto outcome = GENERATE(ChangeOutcome::kChanged, ChangeOutcome::kNotOwner);
    range.keeper.OnCommitted(second.attempt, Errc::kOk, {outcome, 15}, range.now);
    range.Next<range::GiveUp>();
  }
}

TEST_CASE("if all members are silent none leaves, and the owner gives up", "[keeper]") {
  Range range;
  range.Serve();
  for (MemberIndex m = 0; m < 3; ++m) range.keeper.SetBusy(m, true, range.now);
  range.Pass(3s);
  CHECK(range.Quiet());
  SECTION("one makes progress: the others leave") {
    range.keeper.OnProgress(1, false, range.now);
    range.Pass(0s);
    const RangeRecord record = RecordOf(range.Next<range::Commit>());
    CHECK(record.members[1].in);
    CHECK_FALSE(record.members[0].in);
  }
  SECTION("none does") {
    range.Pass(1s);
    CHECK(range.Next<range::GiveUp>().cause == GivenUp::kSilent);
  }
}

}  // namespace
}  // namespace stout
