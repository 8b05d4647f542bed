#include "stout/core/replica_set.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
using namespace std::chrono_literals;

namespace {

using State = MemberState;
using Answers = std::vector<RunReply>;

/// Three members under epoch 5, of which the first `in` are in.
ReplicaSet Three(MemberIndex in = 3, ReplicaOptions options = {}) {
  ReplicaSet set(5, options);
  RangeRecord record;
  for (MemberIndex m = 0; m < 3; ++m) record.members.push_back({.datalet = "d", .in = m < in});
  set.Adopt(record);
  return set;
}

TEST_CASE("an answer waits for all members that are in", "[replicas]") {
  ReplicaSet set = Three();
  set.Ask(1, set.NeedOfWrite());
  set.OnReply(1, 0, Errc::kOk);
  set.OnReply(1, 0, Errc::kOk);  // twice counts once
  set.OnReply(1, 2, Errc::kOk);
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 1, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
  set.OnReply(1, 1, Errc::kOk);
  CHECK(set.TakeReplies().empty());
}

TEST_CASE("a member that leaves releases the answers that wait for it alone", "[replicas]") {
  ReplicaSet set = Three();
  set.Ask(1, set.NeedOfWrite());
  set.Ask(2, set.NeedOfWrite());
  for (const ReplyId id : {1, 2}) set.OnReply(id, 0, Errc::kOk);
  set.OnReply(1, 1, Errc::kOk);
  set.SetState(2, State::kOut);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
}

TEST_CASE("in mode ec an answer waits for some members", "[replicas]") {
  ReplicaSet set = Three(3, {.min_in = 1, .ack = 2});
  set.SetStrong(false);
  set.Ask(1, set.NeedOfWrite());
  set.OnReply(1, 1, Errc::kDeadline);
  set.OnReply(1, 2, Errc::kOk);
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 0, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
}

TEST_CASE("a write at a level needs this number of members", "[replicas]") {
  ReplicaSet set = Three();
  CHECK(set.TakesWrites(3));
  CHECK_FALSE(set.TakesWrites(4));
  set.Ask(1, {.members = 2, .write = true, .min_in = 2});
  set.OnReply(1, 0, Errc::kOk);
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 2, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
  set.Ask(2, {.members = 2, .write = true, .min_in = 2});
  set.OnReply(2, 0, Errc::kOk);
  set.SetState(1, State::kOut);
  CHECK(set.TakeReplies().empty());
  set.SetState(2, State::kOut);
  CHECK(set.TakeReplies() == Answers{{2, Errc::kUnknown}});
}

TEST_CASE("a level of more members than there are waits for all of them", "[replicas]") {
  const std::uint32_t members = GENERATE(3U, 4U, 1U << 31, ~0U);
  CAPTURE(members);
  ReplicaSet set = Three();
  set.Ask(1, {.members = members});
  set.OnReply(1, 0, Errc::kOk);
  set.OnReply(1, 1, Errc::kOk);
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 2, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
}

TEST_CASE("the members that have what was asked for are counted", "[replicas]") {
  ReplicaSet set = Three();
  for (const ReplyId id : {1, 2, 3}) {
    set.Ask(id, {.members = 3, .counts = true});
    set.OnReply(id, 1, Errc::kOk);
  }
  CHECK(set.Withdraw(1) == 1);
  CHECK(set.Withdraw(1) == 0);
  for (const MemberIndex m : {0, 2}) set.OnReply(2, m, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{2, Errc::kOk, 3}});
  for (const MemberIndex m : {0, 2}) set.SetState(m, State::kOut);
  CHECK(set.TakeReplies() == Answers{{3, Errc::kOk, 1}});  // no other is in
}

TEST_CASE("an answer fails once a member that it needs has failed", "[replicas]") {
  ReplicaSet set = Three(2);
  set.SetState(2, State::kFilling);
  set.Ask(1, set.NeedOfWrite());
  set.OnReply(1, 2, Errc::kRefused);  // counts for nothing
  set.OnReply(1, 0, Errc::kClosed);   // an engine that was shut
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 1, Errc::kDeadline);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kDeadline}});
}

// Another member may take what one refuses, and keeps it.
TEST_CASE("in mode ec a write is refused only if all members refuse it", "[replicas]") {
  const bool taken = GENERATE(false, true);
  CAPTURE(taken);
  ReplicaSet set = Three();
  set.SetStrong(false);
  set.Ask(1, {.members = 3, .write = true});
  set.OnReply(1, 0, Errc::kRefused);
  set.OnReply(1, 1, Errc::kTooLarge);
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 2, taken ? Errc::kOk : Errc::kRefused);
  CHECK(set.TakeReplies() == Answers{{1, taken ? Errc::kUnknown : Errc::kRefused}});
}

TEST_CASE("a filling member counts for no level, an entering one for all", "[replicas]") {
  ReplicaSet set = Three(2);
  set.SetState(2, State::kFilling);
  CHECK(set.writers() == 7);
  set.Ask(1, set.NeedOfWrite());
  set.Ask(2, set.NeedOfWrite());
  for (const MemberIndex m : {0, 1}) set.OnReply(1, m, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
  set.SetState(2, State::kEntering);
  for (const MemberIndex m : {0, 1}) set.OnReply(2, m, Errc::kOk);
  CHECK(set.TakeReplies().empty());
  CHECK(set.in() == 3);
  set.OnReply(2, 2, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{2, Errc::kOk}});
}

TEST_CASE("an entering member has what was asked before its engine was opened", "[replicas]") {
  ReplicaSet set = Three(2, {.min_in = 3, .ack = 1});
  set.Ask(1, set.NeedOfWrite());
  set.OnReply(1, 0, Errc::kOk);
  CHECK_FALSE(set.takes_writes());
  set.SetState(2, State::kFilling);
  set.SetState(2, State::kEntering);
  set.OnReply(1, 1, Errc::kOk);
  CHECK(set.TakeReplies().empty());  // min_in counts what the record names
  set.SetState(2, State::kIn);
  CHECK(set.takes_writes());
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
}

TEST_CASE("a member that returns does not count for what its former engine had", "[replicas]") {
  ReplicaSet set = Three(3, {.min_in = 2, .ack = 1});
  set.Ask(1, set.NeedOfWrite());
  set.OnReply(1, 2, Errc::kOk);
  set.SetState(2, State::kOut);
  set.SetState(2, State::kFilling);
  set.OnReply(1, 2, Errc::kOk);  // late
  set.SetState(1, State::kOut);
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 0, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kUnknown}});
}

TEST_CASE("a write fails as unknown once too few members are left that could have it",
          "[replicas]") {
  ReplicaSet set = Three(3, {.min_in = 3, .ack = 1});
  set.Ask(1, set.NeedOfWrite());
  set.OnReply(1, 0, Errc::kOk);
  set.SetState(2, State::kOut);
  CHECK(set.TakeReplies().empty());
  set.OnReply(1, 1, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kUnknown}});
}

TEST_CASE("a failure of a filling member counts no more once it enters", "[replicas]") {
  ReplicaSet set = Three(2);
  set.SetState(2, State::kFilling);
  set.Ask(1, set.NeedOfWrite());
  set.OnReply(1, 2, Errc::kDeadline);
  set.SetState(2, State::kEntering);
  for (const MemberIndex m : {0, 1}) set.OnReply(1, m, Errc::kOk);
  CHECK(set.TakeReplies().empty());
  set.SetState(2, State::kIn);  // after a barrier
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
}

TEST_CASE("a new owner removes the members that were replaced", "[replicas]") {
  RangeRecord record;
  for (int m = 0; m < 70; ++m) {
    record.members.push_back({.datalet = "d" + std::to_string(m), .in = m == 2});
  }
  ReplicaSet set(5, {});
  set.Adopt(record);
  CHECK(set.in() == MaskOf(2));
  CHECK(MaskOf(64) == 0);
  RemoveFormerMembers(record, {"d69", "new"});
  REQUIRE(record.members.size() == 2);
  CHECK(record.members[0].datalet == "d2");
  CHECK(record.members[1].datalet == "d69");
}

TEST_CASE("a barrier of one member ends with its answer or its leave", "[replicas]") {
  ReplicaSet set = Three(1);
  set.SetState(1, State::kFilling);
  const Need need{.only = MaskOf(1)};
  CHECK(set.Ask(1, need) == MaskOf(1));
  set.Ask(2, need);
  set.OnReply(1, 1, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
  set.SetState(1, State::kOut);
  CHECK(set.TakeReplies() == Answers{{2, Errc::kClosed}});
}

TEST_CASE("answers wait until a member that lost its data is out", "[replicas]") {
  ReplicaSet set = Three(2, {.min_in = 1, .ack = 1});
  const bool strong = GENERATE(false, true);
  set.SetStrong(strong);
  set.Ask(1, {.members = 2});
  set.OnReply(1, 1, Errc::kOk);
  set.SetLost(1);
  CHECK_FALSE(set.TakesWrites(2));
  CHECK(set.ChooseReader(3, 1) == 0);
  set.Ask(2, set.NeedOfWrite());
  for (const ReplyId id : {1, 2}) set.OnReply(id, 1, Errc::kLost);
  set.OnReply(1, 0, Errc::kOk);
  set.OnReply(2, 1, Errc::kOk);  // late
  CHECK(set.TakeReplies().empty());
  set.SetState(1, State::kOut);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
  set.OnReply(2, 0, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{2, Errc::kOk}});
  set.SetState(1, State::kFilling);
  CHECK(set.lost() == 0);
}

TEST_CASE("a member that lost its data as it entered has no earlier change", "[replicas]") {
  ReplicaSet set = Three(1, {.min_in = 1, .ack = 1});
  set.SetStrong(false);
  set.Ask(1, set.NeedOfWrite());
  set.SetState(1, State::kFilling);
  set.SetState(1, State::kEntering);
  set.SetLost(1);
  set.SetState(1, State::kIn);
  CHECK(set.TakeReplies().empty());
}

TEST_CASE("reads are answered while too few members are in for writes", "[replicas]") {
  ReplicaSet set = Three(1, {.min_in = 2, .ack = 1});
  set.Ask(1, set.NeedOfRead());
  set.OnReply(1, 0, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk}});
}

TEST_CASE("a lost range fails all answers", "[replicas]") {
  ReplicaSet set = Three();
  set.Ask(1, set.NeedOfRead());
  set.Ask(2, set.NeedOfWrite());
  set.Withdraw(2);
  set.FailAll(Errc::kFenced);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kFenced}});
}

TEST_CASE("a state is settled by its epoch, its version, a mark or a sweep", "[replicas]") {
  ReplicaSet set = Three();
  RangeRecord record;
  record.members = {{.datalet = "d", .in = true}};
  record.swept = 2;
  record.closed = {{3, 10}};
  set.Adopt(record);
  CHECK(set.IsSettled({}));
  CHECK(set.IsSettled({5, 99}));
  CHECK(set.IsSettled({4, 0}));
  CHECK(set.IsSettled({3, 10}));
  CHECK(set.IsSettled({2, 99}));
  CHECK_FALSE(set.IsSettled({3, 11}));
  CHECK_FALSE(set.IsSettled({4, 1}));
}

TEST_CASE("a read joins the shortest queue among the members that are clean", "[replicas]") {
  ReplicaSet set = Three();
  set.OnReadSent(0);
  set.OnQueueLength(1, 2);
  CHECK(set.ChooseReader(7, 0) == 2);
  CHECK(set.ChooseReader(3, 0) == 0);
  CHECK(set.ChooseReader(2, 0) == 1);
  set.OnReadAnswered(0);
  CHECK(set.ChooseReader(7, 0) == 0);  // a tie
  CHECK(set.ChooseReader(7, 1) == 2);
  set.SetLocal(2);
  CHECK(set.ChooseReader(7, 0) == 2);
}

TEST_CASE("a member that has refused a change is read and counted last", "[replicas]") {
  ReplicaSet set = Three(2);
  set.SetLacking(0, true);
  for (std::uint64_t random = 0; random < 4; ++random) {
    CHECK(set.ChooseReader(set.in(), random) == 1);
    CHECK(set.ChooseReader(1, random) == 0);
  }
  set.Ask(1, {.counts = true});
  for (const MemberIndex m : {0, 1}) set.OnReply(1, m, Errc::kOk);
  CHECK(set.TakeReplies() == Answers{{1, Errc::kOk, 1}});
  set.SetState(0, State::kOut);
  set.SetState(0, State::kIn);
  CHECK(set.ChooseReader(1 | 2, 0) == 0);
}

TEST_CASE("a member that had a long queue is asked again", "[replicas]") {
  ReplicaSet set = Three();
  set.OnQueueLength(1, 4);
  for (int elsewhere = 0; elsewhere < 4; ++elsewhere) {
    CHECK(set.ChooseReader(3, 1) == 0);
    set.OnReadSent(0);
    set.OnReadAnswered(0);
  }
  CHECK(set.ChooseReader(3, 1) == 1);  // a tie
}

TEST_CASE("a read that ends after its member left does not count", "[replicas]") {
  ReplicaSet set = Three();
  set.OnReadSent(2);
  set.SetState(2, MemberState::kOut);
  set.OnReadAnswered(2);
  set.SetState(2, MemberState::kIn);
  for (const MemberIndex m : {0, 0, 1, 1}) set.OnReadSent(m);
  CHECK(set.ChooseReader(7, 0) == 2);
}

TEST_CASE("a mark is read back as it was written", "[replicas]") {
  CHECK(ParseMark(EncodeMark({7, 1234})) == Mark{7, 1234});
  CHECK(EncodeMark({7, 1234}) == "7:1234");  // as earlier versions write it
  const Mark timed{7, 1234, TimePoint(5s)};
  CHECK(ParseMark(EncodeMark(timed)) == timed);
  for (const char* text : {"", "7", "7:", ":7", "7:x", "7:1 ", "x7:1", "7:1:", "7:1:x",
                           "7:1:2:", "99999999999999999999:1"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseMark(text));
  }
}

}  // namespace
}  // namespace stout
