// A RangeKeeper at work: fills, marks, changes of the mode, sweeps.
#include <algorithm>
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

TEST_CASE("a member is filled, counts, and then is in", "[keeper]") {
  Range range(1);
  range.Serve(1);
  range.keeper.Want({"d0", "d1"}, range.now);
  range.AnswerFence();
  CHECK(range.Next<range::Open>().member == 1);
  CHECK(range.set.state(1) == MemberState::kFilling);
  CHECK(range.PassBarrier().members == 3);
  const auto stamped = [](const char* key, Stamp stamp) {
    return ScannedKey{key, {.found = true, .value = "", .stamp = stamp}};
  };
  range.Scanned(
      1, {stamped("kept", {2, 2}), stamped("gone", {2, 1}), stamped("stout:mark:0", {2, 2})});
  range.AnswerStates(0, false, {{.found = true, .value = "", .stamp = {2, 2}}, {}});
  const auto gone = range.Next<range::Settle>();
  CHECK(gone.key == "gone");
  range.keeper.OnSettled(gone.id, Errc::kOk, false, {}, range.now);
  const auto refused = range.Next<range::Change>();
  CHECK(refused == range::Change{refused.attempt, "gone", {}});
  range.keeper.OnChanged(refused.attempt, Errc::kPushedBack, range.now);
  CHECK(range.Quiet());
  range.Pass(100ms);
  const auto again = range.Next<range::Settle>();
  CHECK(again.key == "gone");
  range.keeper.OnSettled(again.id, Errc::kOk, false, {}, range.now);
  range.keeper.OnChanged(range.Next<range::Change>().attempt, Errc::kOk, range.now);
  range.Scanned(0, {stamped("equal", {4, 1}), stamped("new", {4, 2}), stamped("ours", {5, 3}),
                    stamped("dirty", {4, 3})});
  range.AnswerStates(1, false, {{.found = true, .value = "", .stamp = {4, 1}}, {}, {}, {}});
  range.AnswerStates(1, true, {{}, {}, {}});
  for (int i = 0; i < 3; ++i) {
    const auto settle = range.Next<range::Settle>();
    const bool dirty = settle.key == "dirty";
    const Stamp stamp = settle.key == "ours" ? Stamp{5, 3} : Stamp{4, 2};
    range.keeper.OnSettled(settle.id, Errc::kOk, dirty, {true, settle.key, stamp}, range.now);
  }
  const auto copy = range.Next<range::Copy>();
  CHECK(copy.items == std::vector<WriteItem>{{"new", "new", WriteKind::kPut, 0},
                                             {"ours", "ours", WriteKind::kPut, 3}});
  range.keeper.OnCopied(copy.attempt, {}, range.now);
  const auto identity = range.Next<range::Copy>();
  const Version fill = identity.items.front().version;
  const std::string value = "d1/5:" + std::to_string(fill);
  CHECK(identity.items ==
        std::vector<WriteItem>{{"stout:datalet:0", value, WriteKind::kPut, fill}});
  range.keeper.OnCopied(identity.attempt, {}, range.now);
  CHECK(range.set.state(1) == MemberState::kEntering);
  CHECK(range.PassBarrier().members == 2);
  CHECK(range.Agree().members[1].in);
  CHECK(range.set.in() == 3);
  CHECK(range.keeper.settled());
}

TEST_CASE("a fill that lacks only its barrier asks for it again", "[keeper]") {
  Range range(1);
  range.BeginFill();
  range.Scanned(1, {});
  range.Scanned(0, {});
  range.keeper.OnCopied(range.Next<range::Copy>().attempt, {}, range.now);
  const auto fail = [&] {
    range.set.OnReply(range.Next<range::Barrier>().id, 1, Errc::kTransient);
    for (const RunReply& reply : range.set.TakeReplies()) {
      CHECK(range.keeper.OnReply(reply, range.now));
    }
    CHECK(range.Quiet());
  };
  for (int i = 0; i < 3; ++i) {
    fail();
    range.Pass(WalkOptions().retry);
  }
  SECTION("which ends it") {
    range.PassBarrier();
    CHECK(range.Agree().members[1].in);
    CHECK(range.keeper.settled());
  }
  SECTION("unless the mode shall change") {
    fail();
    range.keeper.WantStrong(false, range.now);
    CHECK(range.Next<range::Shut>().member == 1);
    range.Pass(WalkOptions().retry);
    CHECK_FALSE(range.Agree().strong);
  }
}

// The target has something that no member has.
void ScanTarget(Range& range) {
  range.Scanned(1, {{"old", {true, "", {4, 1}}}});
  range.AnswerStates(0, false, {{}});
  const auto settle = range.Next<range::Settle>();
  range.keeper.OnSettled(settle.id, Errc::kOk, false, {true, "v", {4, 1}}, range.now);
}

/// Begins to fill the second of two members, up to its copy of these keys.
range::Copy CopyOf(Range& range, const std::vector<std::string>& keys) {
  range.BeginFill();
  ScanTarget(range);
  std::vector<ScannedKey> scanned;
  for (const std::string& key : keys) scanned.push_back({key, {true, "", {4, 1}}});
  range.Scanned(0, scanned);
  for (const bool values : {false, true})
    range.AnswerStates(1, values, std::vector<StoredState>(keys.size()));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto settle = range.Next<range::Settle>();
    range.keeper.OnSettled(settle.id, Errc::kOk, false, {true, "v", {4, 1}}, range.now);
  }
  return range.Next<range::Copy>();
}

TEST_CASE("a state that a target will never take ends its fill for a while that grows",
          "[keeper]") {
  Range range(1);
  const Errc errc = GENERATE(Errc::kRefused, Errc::kTooLarge);
  const auto all = CopyOf(range, {"a", "b", "c"});
  CHECK(all.items.size() == 3);
  range.keeper.OnCopied(all.attempt, {Errc::kOk, {{1, errc}}}, range.now);
  const auto first = range.Next<range::Copy>();
  CHECK(first.items == std::vector<WriteItem>{{"a", "v", WriteKind::kPut, 0}});
  range.keeper.OnCopied(first.attempt, {}, range.now);
  const auto rest = range.Next<range::Copy>();
  CHECK(rest.items.size() == 2);
  range.keeper.OnCopied(rest.attempt, {errc, {}}, range.now);
  const auto refused = range.Next<range::Copy>();
  CHECK(refused.items.size() == 1);
  range.keeper.OnCopied(refused.attempt, {errc, {}}, range.now);
  CHECK(range.Next<range::Shut>().member == 1);
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "b", errc});
  range.Pass(1900ms);
  CHECK(range.Quiet());
  range.Pass(100ms);
  range.AnswerFence();
  range.Next<range::Open>();
  range.PassBarrier();
  range.Scanned(1, {});
  range.Scanned(0, {});
  const auto identity = range.Next<range::Copy>();
  range.keeper.OnCopied(identity.attempt, {errc, {}}, range.now);
  range.Next<range::Shut>();
  CHECK(range.Next<range::Unfillable>().key == "stout:datalet:0");
  range.Pass(3900ms);
  CHECK(range.Quiet());
  range.Pass(100ms);
  CHECK(range.Next<range::Fence>().member == 1);
}

TEST_CASE("a new member gets what a scan of another finds, without further reads", "[keeper]") {
  Range range(1);
  range.BeginFill();
  range.Scanned(1, {{"ours", {true, "", {5, 2}}}});  // written since the fill began
  range.AnswerStates(0, false, {{true, "", {5, 3}}});
  const auto settle = range.Next<range::Settle>();
  range.keeper.OnSettled(settle.id, Errc::kOk, false, {true, "v", {5, 2}}, range.now);
  const auto scan = range.Next<range::Scan>();
  CHECK(scan.request.values);
  const StoredState damaged{.errc = Errc::kCorrupt};
  range.keeper.OnScanned(scan.attempt,
                         {Errc::kOk,
                          {{"old", {true, "a", {4, 1}}},
                           {"damaged", damaged},
                           {"ours", {true, "b", {5, 3}}},
                           {"gone", {false, "", {4, 2}}}},
                          ""},
                         range.now);
  const auto read = range.Next<range::Settle>();
  CHECK(read.key == "damaged");
  range.keeper.OnSettled(read.id, Errc::kOk, false, {true, "c", {4, 3}}, range.now);
  const auto copy = range.Next<range::Copy>();
  CHECK(copy.items == std::vector<WriteItem>{{"old", "a", WriteKind::kPut, 0},
                                             {"ours", "b", WriteKind::kPut, 3},
                                             {"gone", "", WriteKind::kDelete, 0},
                                             {"damaged", "c", WriteKind::kPut, 0}});
  range.Pass(10ms);
  range.keeper.OnCopied(copy.attempt, {}, range.now);
  range.Pass(10ms * WalkOptions().rest - 1ms);
  CHECK(range.Quiet());
  range.Pass(1ms);
  CHECK(range.Next<range::Copy>().items.front().key == "stout:datalet:0");
}

TEST_CASE("the sweep comes before a fill", "[keeper]") {
  Range range(1);
  range.keeper.Start(range.now);
  range.AnswerFence();
  range.AnswerRead("4:7");
  range.keeper.Want({"d0", "d1"}, range.now);
  range.Agree();
  range.Next<range::Open>();
  range.Next<range::Serve>();
  range.Scanned(0, {{"settled", {true, "a", {4, 7}}}, {"unsettled", {true, "b", {4, 8}}}});
  CHECK(range.Next<range::Settle>().key == "unsettled");
  CHECK(range.Quiet());
}

TEST_CASE("a member that returns under its owner gets only what it lacks", "[keeper]") {
  Range range(1);
  range.BeginFill();
  for (const MemberIndex m : {1, 0}) {
    range.Scanned(m, {{"same", {true, "", {5, 0}}}});
    range.AnswerStates(1 - m, false, {{true, "", {5, 0}}});
  }
  CHECK(range.Next<range::Copy>().items.front().key == "stout:datalet:0");
}

// A fill gives states of older epochs the stamp of its own epoch and version 0.
TEST_CASE("a member that was filled before gets no copy of what it has", "[keeper]") {
  const Stamp filled = GENERATE(Stamp{5, 0}, Stamp{4, 0});
  const Stamp stored{filled.epoch - 1, 7};
  const bool went_back = GENERATE(false, true);  // to older data, for example by STOUT.FORCE
  Range range(1);
  range.BeginFill();
  range.Scanned(1, {{"same", {true, "", filled}}});
  range.AnswerStates(0, false, {{true, "", stored}});
  range.Scanned(0, {{"same", {true, "", stored}}});
  range.AnswerStates(1, false, {{true, "", filled}});
  range.AnswerStates(1, true, {{true, went_back ? "newer" : "v", filled}});
  const auto settle = range.Next<range::Settle>();
  range.keeper.OnSettled(settle.id, Errc::kOk, false, {true, "v", stored}, range.now);
  if (went_back && filled.epoch == 5) {
    CHECK(range.Next<range::Change>().state.value == "v");
    return;
  }
  if (went_back) CHECK(range.Next<range::Copy>().items.front().value == "v");
  if (went_back) return;
  CHECK(range.Next<range::Copy>().items.front().key == "stout:datalet:0");
}

// Such as a change that another member refused, of which only this one missed that it was undone.
TEST_CASE("a target's own newer state of this epoch is overwritten, at all members", "[keeper]") {
  Range range(1);
  range.BeginFill();
  range.Scanned(1, {{"undone", {true, "", {5, 4}}}});
  range.AnswerStates(0, false, {{true, "", {5, 1}}});
  const auto settle = range.Next<range::Settle>();
  range.keeper.OnSettled(settle.id, Errc::kOk, false, {true, "v", {5, 1}}, range.now);
  const auto change = range.Next<range::Change>();
  CHECK(change == range::Change{change.attempt, "undone", {true, "v", {5, 1}}});
}

TEST_CASE("a copy has each key once, although a scan may find it twice", "[keeper]") {
  Range range(1);
  range.BeginFill();
  range.Scanned(1, {});
  range.Scanned(0, {{"a", {true, "old", {4, 1}}}, {"a", {true, "new", {5, 3}}}});
  for (const char* const value : {"old", "new"}) {
    const auto copy = range.Next<range::Copy>();
    REQUIRE(copy.items.size() == 1);
    CHECK(copy.items.front().value == value);
    range.keeper.OnCopied(copy.attempt, {}, range.now);
  }
}

TEST_CASE("a fill holds few large values at a time", "[keeper]") {
  Range range(1);
  range.BeginFill();
  ScanTarget(range);
  const bool large = GENERATE(true, false);
  const std::string value(large ? WalkOptions().copy_bytes : 1, 'v');
  constexpr std::size_t kKeys = 256;
  std::vector<ScannedKey> scanned;
  for (std::size_t i = 0; i < kKeys; ++i)
    scanned.push_back({std::to_string(i), {true, "", {4, 1}}});
  range.Scanned(0, std::move(scanned));
  for (const bool values : {false, true})
    range.AnswerStates(1, values, std::vector<StoredState>(kKeys));
  std::size_t settled = 0;
  std::size_t held = 0;
  std::size_t most = 0;
  std::size_t copies = 0;
  for (std::size_t copied = 0; copied < kKeys;) {
    REQUIRE_FALSE(range.Quiet());
    if (std::holds_alternative<range::Settle>(range.actions.front())) {
      const auto settle = range.Next<range::Settle>();
      range.keeper.OnSettled(settle.id, Errc::kOk, false, {true, value, {4, 1}}, range.now);
      ++settled;
      most = std::max(most, ++held);
    } else {
      const auto copy = range.Next<range::Copy>();
      ++copies;
      copied += copy.items.size();
      held -= copy.items.size();
      range.keeper.OnCopied(copy.attempt, {}, range.now);
    }
  }
  CHECK(settled == kKeys);
  CHECK(most == (large ? 32 : kKeys));  // 16 at first, and more after small values
  CHECK(copies == (large ? kKeys : 1));
}

TEST_CASE("a key that no member can read ends a fill", "[keeper]") {
  Range range(1);
  const auto copy = CopyOf(range, {"a"});
  range.keeper.OnCopied(copy.attempt, {Errc::kTransient, {}}, range.now);
  range.Pass(100ms);
  const auto again = range.Next<range::Copy>();
  CHECK(again.items == copy.items);
  range.keeper.OnFencedOut(1, range.now);
  range.Next<range::Shut>();
  range.Pass(2s);
  range.AnswerFence();
  range.Next<range::Open>();
  range.PassBarrier();
  range.Scanned(1, {{"a", {true, "", {4, 1}}}});
  range.AnswerStates(0, false, {{.errc = Errc::kCorrupt}});
  int tries = 0;
  for (; tries < WalkOptions().final_tries; ++tries) {
    const auto settle = range.Next<range::Settle>();
    range.keeper.OnProgress(1, true, range.now);
    range.keeper.OnSettled(settle.id, Errc::kCorrupt, false, {}, range.now);
    range.Pass(100ms);
  }
  CHECK(range.Next<range::Shut>().member == 1);
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "a", Errc::kCorrupt});
}

TEST_CASE("a member that fails while it is filled is shut and tried again later", "[keeper]") {
  Range range(1);
  range.BeginFill();
  range.Next<range::Scan>();  // never answered
  range.Pass(2s);
  CHECK(range.Next<range::Shut>().member == 1);
  CHECK(range.set.state(1) == MemberState::kOut);
  CHECK(range.Quiet());
  SECTION("by itself") { range.Pass(2s); }
  SECTION("or at once, when it has a store again") {
    range.Pass(100ms);
    REQUIRE(range.Quiet());
    range.keeper.OnReachable(1, range.now);
  }
  CHECK(range.Next<range::Fence>().member == 1);
}

TEST_CASE("a fill stops when its target is no longer wanted", "[keeper]") {
  Range range(1);
  range.BeginFill();
  range.Next<range::Scan>();
  range.keeper.Want({"d0", "d2"}, range.now);
  CHECK(range.Next<range::Shut>().member == 1);
  range.Pass(100ms);
  CHECK(range.Next<range::Fence>().member == 2);
}

TEST_CASE("a mark is written when all members have passed its barrier", "[keeper]") {
  Range range;
  range.Serve();
  range.Pass(0s);
  CHECK(range.Quiet());
  for (int i = 0; i < 3; ++i) range.set.NextVersion();
  range.Pass(300us);
  const auto at = [&] { return std::chrono::floor<std::chrono::milliseconds>(range.now); };
  const auto barrier = range.Next<range::Barrier>();
  range.set.NextVersion();  // after the start of the barrier
  for (MemberIndex m = 0; m < 3; ++m) {
    CHECK(range.Quiet());
    range.set.OnReply(barrier.id, m, Errc::kOk);
    for (const RunReply& reply : range.set.TakeReplies()) range.keeper.OnReply(reply, range.now);
  }
  const auto refused = range.Next<range::Change>();
  CHECK(refused.key == "stout:mark:0");
  CHECK(ParseMark(refused.state.value) == Mark{5, 3, at()});
  CHECK(refused.members == 7);
  range.keeper.OnChanged(refused.attempt, Errc::kPushedBack, range.now);
  CHECK(range.keeper.mark().version == 0);
  CHECK(range.Quiet());
  range.Pass(100ms);
  range.PassBarrier();
  const auto change = range.Next<range::Change>();
  CHECK(ParseMark(change.state.value) == Mark{5, 4, at()});
  range.set.NextVersion();  // of the mark itself
  range.keeper.OnChanged(change.attempt, Errc::kOk, range.now);
  CHECK(range.keeper.mark().version == 4);
  range.set.NextVersion();
  range.Pass(50ms);
  CHECK(range.Quiet());
  range.Pass(50ms);
  CHECK(range.PassBarrier().members == 7);
  const auto last = range.Next<range::Change>();
  CHECK(ParseMark(last.state.value) == Mark{5, 6, at()});
  range.set.NextVersion();
  range.keeper.OnChanged(last.attempt, Errc::kOk, range.now);
  range.Pass(1s);
  CHECK(range.Quiet());  // nothing but the mark has changed
  range.keeper.RefreshMark(range.now);
  CHECK(range.PassBarrier().members == 7);
  CHECK(ParseMark(range.Next<range::Change>().state.value) == Mark{5, 7, at()});
}

TEST_CASE("no mark is begun while a member lacks a change that it refused", "[keeper]") {
  Range range;
  range.Serve();
  range.set.NextVersion();
  range.keeper.OnRefused(2, range.now);
  range.now += 1ms;
  range.keeper.OnProgress(0, true, range.now);
  range.Pass(1s);
  while (!range.Quiet() && std::holds_alternative<range::Read>(range.actions.front())) {
    range.Next<range::Read>();  // a probe
  }
  CHECK_FALSE(range.Agree().members[2].in);
  CHECK(range.Next<range::Shut>().member == 2);
  CHECK(range.PassBarrier().members == 3);
}

TEST_CASE("mode sc begins with a transaction after a barrier, and waits for all before",
          "[keeper]") {
  Range range;
  range.Serve();
  range.keeper.WantStrong(false, range.now);
  CHECK(range.set.strong());
  CHECK_FALSE(range.Agree().strong);
  CHECK_FALSE(range.set.strong());
  range.keeper.WantStrong(true, range.now);
  CHECK(range.set.strong());
  CHECK_FALSE(range.keeper.record().strong);
  SECTION("unless the wish changes") {
    range.keeper.WantStrong(false, range.now);
    CHECK_FALSE(range.set.strong());
    range.PassBarrier();
    CHECK(range.Quiet());
  }
  SECTION("which waits for the barrier") {
    range.PassBarrier();
    range.keeper.WantStrong(false, range.now);
    CHECK(range.set.strong());  // the transaction may be in force
    CHECK(range.Agree().strong);
    CHECK_FALSE(range.Agree().strong);
  }
}

TEST_CASE("a sweep settles what no mark covers, and records its end", "[keeper]") {
  Range range(1);
  range.keeper.Start(range.now);
  range.AnswerFence();
  range.AnswerRead("4:7");
  range.Agree();
  range.Next<range::Open>();
  range.Next<range::Serve>();
  range.Scanned(0, {{"settled", {true, "", {4, 7}}}, {"unsettled", {false, "", {4, 8}}}});
  const auto settle = range.Next<range::Settle>();
  CHECK(settle.key == "unsettled");
  CHECK(range.Quiet());
  range.keeper.OnSettled(settle.id, Errc::kOk, true, {}, range.now);
  range.PassBarrier();
  const RangeRecord record = range.Agree();
  CHECK(record.swept == 4);
  CHECK(record.closed.empty());
  CHECK(range.set.IsSettled({4, 8}));
}

}  // namespace
}  // namespace stout
