// How a RangeKeeper knows that a member's store has what it had, and members that cannot be read.
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/keeper_range.h"

namespace stout {
namespace {

TEST_CASE("an identity names the datalet and the owner that filled it", "[keeper]") {
  const RangeRecord::Member first{.datalet = "d1"};
  const RangeRecord::Member filled{.datalet = "d1", .entered = {7, 2}};
  CHECK(first.Identity() == "d1");
  CHECK(filled.Identity() == "d1/7:2");
  CHECK(first.IsShownBy("d1"));
  CHECK(first.IsShownBy("d1/7:2"));
  CHECK_FALSE(filled.IsShownBy("d1"));
  CHECK_FALSE(filled.IsShownBy("d1/6:9"));
  CHECK_FALSE(filled.IsShownBy("d1/7:1"));
  CHECK(filled.IsShownBy("d1/7:2"));
  CHECK(filled.IsShownBy("d1/7:3"));
  CHECK(filled.IsShownBy("d1/8:0"));
  for (const char* const other :
       {"", "d", "d10", "d1/", "d1/7", "d1/7:x", "d1/7:2x", "d2", "d2/7:2", "d10/7:2"}) {
    CAPTURE(other);
    CHECK_FALSE(first.IsShownBy(other));
  }
}

TEST_CASE("a store with another incarnation was restarted", "[keeper]") {
  RangeRecord::Member member{.datalet = "d"};
  CHECK_FALSE(member.IsRestarted("a"));  // it was not known
  member.incarnation = "a/b";
  CHECK_FALSE(member.IsRestarted("a/b"));
  CHECK_FALSE(member.IsRestarted("a"));  // it has forgotten the rest
  for (const char* const other : {"", "a/", "a/c", "b", "a/bc"}) {
    CAPTURE(other);
    CHECK(member.IsRestarted(other));
  }
}

/// A range whose members were filled under epoch 3, with stores that do not survive a restart.
struct ProvenRange : Range {
  ProvenRange() : Range(Filled()) {}
  static RangeRecord Filled() {
    RangeRecord record = Record(2);
    for (RangeRecord::Member& member : record.members) {
      member.entered = {3, 0};
      member.incarnation = "first";
    }
    return record;
  }
  /// Both members are fenced, and then read.
  void Answer(const std::vector<std::string>& incarnations,
              const std::vector<std::string>& identities, const std::vector<Mark>& marks) {
    keeper.Start(now);
    for (const std::string& incarnation : incarnations) AnswerFence({Errc::kOk, incarnation});
    for (std::size_t m = 0; m < 2; ++m) {
      keeper.OnRead(Next<range::Read>().attempt,
                    {Errc::kOk, {{true, identities[m], {3, 0}}, {true, EncodeMark(marks[m]), {}}}},
                    now);
    }
  }
};

TEST_CASE("a new owner takes no member whose store is another or an older one", "[keeper]") {
  ProvenRange range;
  SECTION("neither is") {
    range.Answer({"first", "first"}, {"d0/3:0", "d1/3:0"}, {{4, 9}, {4, 9}});
    CHECK(range.Agree().members[1].in);
  }
  SECTION("a fill that no transaction has named shows newer data") {
    range.Answer({"first", "first"}, {"d0/3:0", "d1/4:0"}, {{4, 9}, {4, 9}});
    CHECK(range.Agree().members[1].in);
  }
  SECTION("it was restarted") {
    range.Answer({"first", "second"}, {"d0/3:0", "d1/3:0"}, {{4, 8}, {4, 9}});
    const RangeRecord record = range.Agree();
    CHECK_FALSE(record.members[1].in);
    CHECK(record.closed == std::map<Epoch, Version>{{4, 8}});
  }
  SECTION("it has a copy from before it was filled") {
    range.Answer({"first", "first"}, {"d0/3:0", "d1/2:0"}, {{4, 9}, {4, 9}});
    CHECK_FALSE(range.Agree().members[1].in);
  }
}

TEST_CASE("if all members were restarted, the range goes on with the newest copy", "[keeper]") {
  ProvenRange range;
  SECTION("of all") {
    range.Answer({"second", "second"}, {"d0/3:0", "d1/3:0"}, {{4, 8}, {4, 9}});
    CHECK(range.Next<range::Revert>().member == 1);
    const RangeRecord record = range.Agree();
    CHECK_FALSE(record.members[0].in);
    CHECK(record.members[1].in);
    CHECK(record.members[1].incarnation == "second");
    CHECK(record.closed == std::map<Epoch, Version>{{4, 9}});
  }
  SECTION("that is whole") {
    range.Answer({"second", "second"}, {"d0/3:0", ""}, {{4, 8}, {4, 9}});
    CHECK(range.Next<range::Revert>().member == 0);
  }
  SECTION("and with none without a whole copy") {
    range.Answer({"second", "second"}, {"", "d1/2:0"}, {{4, 8}, {4, 9}});
    range.Pass(4s);
    CHECK(range.Next<range::GiveUp>().cause == GivenUp::kLost);
  }
}

TEST_CASE("the record tells who filled a member, and the life of its store", "[keeper]") {
  Range range(1);
  range.Serve(1);
  range.keeper.Want({"d0", "d1"}, range.now);
  range.AnswerFence({Errc::kOk, "first"});
  range.Next<range::Open>();
  range.PassBarrier();
  range.Scanned(1, {});
  range.Scanned(0, {});
  const auto identity = range.Next<range::Copy>();
  const Version fill = identity.items.front().version;
  CHECK(fill > 0);
  range.keeper.OnCopied(identity.attempt, {}, range.now);
  range.PassBarrier();
  const RangeRecord record = range.Agree();
  CHECK(record.members[1].entered == Stamp{5, fill});
  CHECK(record.members[1].incarnation == "first");
  CHECK(record.members[1].Identity() == identity.items.front().value);
}

TEST_CASE("any answer to a probe that is sent again is looked at", "[keeper]") {
  Range range(2);
  range.Serve(2);
  range.keeper.SetBusy(1, true, range.now);
  range.Pass(2s);
  const auto probe = range.Next<range::Read>();
  CHECK(probe.member == 0);
  range.Pass(500ms);
  CHECK(range.Next<range::Read>().attempt == probe.attempt);
  range.now += 1ms;
  range.keeper.OnProgress(0, false, range.now);
  range.keeper.OnRead(probe.attempt, {.errc = Errc::kOk, .states = {{}, {}}}, range.now);
  const auto commit = range.Next<range::Commit>();
  CHECK_FALSE(RecordOf(commit).members[0].in);  // it came back empty
  CHECK(RecordOf(commit).members[1].in);
}

/// The member answers its scans with an error that lasts.
void FailScans(Range& range, MemberIndex m, Errc errc = Errc::kCorrupt) {
  for (int tries = 0; tries < WalkOptions().final_tries; ++tries) {
    const auto scan = range.Next<range::Scan>();
    REQUIRE(scan.member == m);
    range.keeper.OnProgress(m, true, range.now);  // its other calls succeed
    range.keeper.OnScanned(scan.attempt, {errc, {}, ""}, range.now);
    range.Pass(100ms);
  }
}

TEST_CASE("a member that cannot list its keys leaves", "[keeper]") {
  Range range(2);
  range.keeper.Start(range.now);
  for (int m = 0; m < 2; ++m) range.AnswerFence();
  for (int m = 0; m < 2; ++m) range.AnswerRead();
  range.Agree();
  for (int m = 0; m < 2; ++m) range.Next<range::Open>();
  range.Next<range::Serve>();
  FailScans(range, 1);
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "", Errc::kCorrupt});
  CHECK(range.Next<range::Read>().member == 0);  // has the one that stays its memory?
  range.now += 1ms;
  range.keeper.OnProgress(0, true, range.now);
  range.Pass(0s);
  CHECK_FALSE(range.Agree().members[1].in);
  CHECK(range.Next<range::Shut>().member == 1);
  range.Pass(2s);
  range.Scanned(0, {});
  range.PassBarrier();
  CHECK(range.Agree().swept == 4);
  CHECK(range.Next<range::Fence>().member == 1);  // it is filled as soon as it can be read
}

/// Two of three members are in. The first one's scan is not answered yet.
struct Sweeping : Range {
  explicit Sweeping(std::vector<std::string> wanted, RangeKeeperOptions options = Options())
      : Range(Record(2), std::move(options)) {
    keeper.Want(std::move(wanted), now);
    keeper.Start(now);
    for (int m = 0; m < 2; ++m) AnswerFence();
    for (int m = 0; m < 2; ++m) AnswerRead();
    Agree();
    for (int m = 0; m < 2; ++m) Next<range::Open>();
    Next<range::Serve>();
  }
  /// Another member answers, so that one may leave. A probe may have been sent to it.
  void Prove(MemberIndex m) {
    (void)Quiet();
    std::erase_if(actions, [](const auto& a) { return std::holds_alternative<range::Read>(a); });
    now += 1ms;
    keeper.OnProgress(m, true, now);
    Pass(0s);
  }
};

TEST_CASE("a sweep rests as long as each scan took, but not for ever", "[keeper]") {
  RangeKeeperOptions options = Range::Options();
  options.tombstone_ttl = 80s;  // it rests for 10 s
  Sweeping range({"d0", "d1"}, options);
  const auto scanned = [&](Duration took) {
    const auto scan = range.Next<range::Scan>();
    range.now += took;
    range.keeper.OnScanned(scan.attempt, {Errc::kOk, {}, "more"}, range.now);
  };
  scanned(30ms);
  range.Pass(29ms);
  CHECK(range.Quiet());
  range.Pass(1ms);
  scanned(5s);
  range.Pass(1999ms);
  CHECK(range.Quiet());
  range.Pass(1ms);
  scanned(0ms);
  scanned(3s);
  scanned(3s);
  (void)range.Next<range::Scan>();
}

TEST_CASE("members stay although a sweep fails because of a key or a right", "[keeper]") {
  Sweeping range({"d0", "d1", "d2"});
  SECTION("a key that no member can read") {
    range.Scanned(1, {{"k", {true, "", {4, 1}}}});
    for (int tries = 0; tries < WalkOptions().final_tries; ++tries) {
      const auto settle = range.Next<range::Settle>();
      range.keeper.OnSettled(settle.id, Errc::kCorrupt, false, {}, range.now);
      if (tries + 1 < WalkOptions().final_tries) range.Pass(100ms);
    }
    CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "k", Errc::kCorrupt});
  }
  SECTION("scans that are refused") {
    FailScans(range, 1, Errc::kRefused);
    CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "", Errc::kRefused});
  }
  range.Prove(0);
  range.Pass(100ms);
  range.AnswerFence({Errc::kTransient});  // a fill has its turn
  CHECK(range.set.in() == 3);
  range.Pass(1900ms);
  CHECK(range.Next<range::Scan>().member == 0);  // the next sweep begins at another member
}

TEST_CASE("a member that refuses scans leaves if it is not wanted", "[keeper]") {
  Sweeping range({"d0"});
  FailScans(range, 1, Errc::kRefused);
  range.Next<range::Unfillable>();
  range.Prove(0);
  CHECK_FALSE(range.Agree().members[1].in);
}

TEST_CASE("the only member that is in stays although it cannot list its keys", "[keeper]") {
  Range range(1);
  range.BeginFill();
  range.Scanned(1, {});
  FailScans(range, 0);
  CHECK(range.Next<range::Shut>().member == 1);
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{0, "", Errc::kCorrupt});
  range.Pass(1800ms);
  CHECK(range.Quiet());
  CHECK(range.set.in() == 1);
  range.Pass(200ms);
  CHECK(range.Next<range::Fence>().member == 1);
}

TEST_CASE("a fill that takes long brings no deleted key back", "[keeper]") {
  RangeKeeperOptions options = Range::Options();
  options.tombstone_ttl = 1h;
  RangeRecord record = Range::Record(1);
  record.strong = false;
  const bool late = GENERATE(false, true);
  CAPTURE(late);
  record.members[1].since = Range().now - 29min;
  Range range(record, options);
  range.keeper.Want({"d0", "d1"}, range.now);
  range.keeper.Start(range.now);
  range.AnswerFence();
  range.AnswerRead();
  range.Agree();
  range.Next<range::Open>();
  range.Next<range::Serve>();
  range.Scanned(0, {});
  range.PassBarrier();
  range.Agree();
  range.AnswerFence();
  range.Next<range::Open>();
  range.PassBarrier();
  range.Scanned(1, {{"old", {true, "", {4, 1}}}});
  range.AnswerStates(0, false, {{}});
  range.AnswerStates(1, true, {{true, "v", {4, 1}}});
  const auto settle = range.Next<range::Settle>();
  if (late) range.now += 24min;  // the delete may be forgotten by now
  range.keeper.OnSettled(settle.id, Errc::kOk, false, {}, range.now);
  const auto change = range.Next<range::Change>();
  CHECK(change.state.found == !late);
}

}  // namespace
}  // namespace stout
