// Lazy members in a RangeKeeper.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/keeper_range.h"

namespace stout {
namespace {

/// The first member serves, and the last is filled as a lazy one: a scan comes next.
void BeginLazyFill(Range& range, MemberIndex in = 1) {
  range.Serve(in);
  range.keeper.Follow({"d2"}, range.now);
  range.AnswerFence();
  CHECK(range.Next<range::Open>().member == range.keeper.record().members.size() - 1);
  range.PassBarrier();
}

/// Answers all calls of a fill of an empty member from an empty one.
void EndFill(Range& range, MemberIndex source, MemberIndex target) {
  range.Scanned(target, {});
  range.Scanned(source, {});
  range.keeper.OnCopied(range.Next<range::Copy>().attempt, {}, range.now);
}

TEST_CASE("a lazy member that becomes an ordinary one is filled anew", "[keeper]") {
  Range range(1);
  BeginLazyFill(range);
  range.Scanned(1, {});
  range.Scanned(0, {{"bad", {true, "v", {4, 1}}}});
  const auto copy = range.Next<range::Copy>();
  range.keeper.OnCopied(copy.attempt, {Errc::kOk, {{0, Errc::kRefused}}}, range.now);
  CHECK(range.Next<range::Unfillable>().key == "bad");
  range.Next<range::Copy>();  // of the identity
  range.keeper.Want({"d0", "d2"}, range.now);
  range.keeper.Follow({}, range.now);
  CHECK(range.Next<range::Shut>().member == 1);
  range.Pass(2s);
  range.AnswerFence();
}

TEST_CASE("a lazy member that refuses a change is filled on", "[keeper]") {
  Range range(1);
  BeginLazyFill(range);
  range.keeper.OnRefused(1, range.now);
  EndFill(range, 0, 1);
  CHECK(range.Quiet());
  CHECK(range.set.state(1) == MemberState::kLazy);
}

/// The second of two members leaves, because it is not wanted.
RangeRecord WithoutSecond(Range& range) {
  range.keeper.Want({"d0"}, range.now);
  range.Next<range::Read>();  // whether the first one answers
  range.keeper.OnProgress(0, false, range.now += 1ms);
  range.keeper.Tick(range.now);
  return range.Agree();
}

TEST_CASE("no record names a lazy member that is removed", "[keeper]") {
  Range range(2);
  BeginLazyFill(range, 2);
  EndFill(range, 0, 2);
  range.keeper.Follow({}, range.now);
  CHECK(range.Next<range::Shut>().member == 2);
  const RangeRecord record = WithoutSecond(range);
  CHECK(record.members.size() == 2);
  CHECK_FALSE(record.members[1].in);
}

TEST_CASE("all other work comes before the fill of a lazy member", "[keeper]") {
  Range range(1);
  BeginLazyFill(range);
  range.Next<range::Scan>();
  SECTION("the mode") {
    range.keeper.WantStrong(false, range.now);
    CHECK(range.Next<range::Shut>().member == 1);
    range.Pass(100ms);
    CHECK_FALSE(range.Agree().strong);
  }
  SECTION("another member, until its fill fails") {
    range.keeper.Want({"d0", "d1"}, range.now);
    CHECK(range.Next<range::Shut>().member == 1);
    range.Pass(100ms);
    const auto fence = range.Next<range::Fence>();
    CHECK(fence.member == 2);
    range.keeper.OnFenced(fence.attempt, {Errc::kTransient}, range.now);
    range.Pass(1900ms);
    CHECK(range.Next<range::Fence>().member == 1);
    range.Pass(500ms);
    CHECK(range.Quiet());
    range.keeper.OnReachable(2, range.now);
    range.Pass(100ms);
    CHECK(range.Next<range::Fence>().member == 2);
  }
}

TEST_CASE("a member may leave while a lazy one is filled", "[keeper]") {
  Range range(2);
  BeginLazyFill(range, 2);
  range.Next<range::Scan>();
  CHECK_FALSE(WithoutSecond(range).members[1].in);
}

}  // namespace
}  // namespace stout
