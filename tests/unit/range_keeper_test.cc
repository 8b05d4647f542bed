#include "stout/core/range_keeper.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "stout/core/registry_table.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace internal;
using namespace std::chrono_literals;

const RangeRecord& RecordOf(const range::Commit& commit) {
  return std::get<RangeRecord>(*commit.change.value);
}

/// Three members, of which the first `in` are in, under epoch 5. The test is the driver.
struct Range {
  explicit Range(MemberIndex in = 3) : keeper(7, {Record(in), 10}, set, Options()) {}

  static RangeRecord Record(MemberIndex in) {
    RangeRecord record;
    for (MemberIndex m = 0; m < 3; ++m) {
      record.members.push_back({.datalet = "d" + std::to_string(m), .in = m < in});
    }
    record.swept = 3;
    return record;
  }
  static RangeKeeperOptions Options() {
    RangeKeeperOptions options;
    options.tombstone_ttl = 1ns;
    options.mark_key = "stout:mark:0";
    options.identity_key = "stout:datalet:0";
    return options;
  }

  /// The next action, which must be of this kind.
  template <typename Kind>
  Kind Next() {
    for (range::Action& action : keeper.TakeActions()) actions.push_back(std::move(action));
    INFO("of kind " << (actions.empty() ? 99 : actions.front().index()));
    REQUIRE_FALSE(actions.empty());
    REQUIRE(std::holds_alternative<Kind>(actions.front()));
    const Kind kind = std::get<Kind>(actions.front());
    actions.pop_front();
    return kind;
  }
  [[nodiscard]] bool Quiet() {
    for (range::Action& action : keeper.TakeActions()) actions.push_back(std::move(action));
    return actions.empty();
  }
  void Pass(Duration time) {
    const TimePoint end = now + time;
    while (keeper.NextTick() < end) keeper.Tick(now = std::max(now, keeper.NextTick()));
    keeper.Tick(now = end);
  }

  static ReadResult Marked(MemberIndex m, const std::string& mark) {
    return {.errc = Errc::kOk,
            .states = {{.found = true, .value = "d" + std::to_string(m), .stamp = {4, 0}},
                       {.found = !mark.empty(), .value = mark, .stamp = {4, 9}}}};
  }
  void AnswerFence(Errc errc = Errc::kOk) {
    keeper.OnFenced(Next<range::Fence>().attempt, errc, now);
  }
  void AnswerRead(const std::string& mark = "") {
    const auto read = Next<range::Read>();
    keeper.OnRead(read.attempt, Marked(read.member, mark), now);
  }
  RangeRecord Agree() {
    const auto commit = Next<range::Commit>();
    CHECK(commit.change == ChangeSet(7, 5, RecordOf(commit), revision));
    keeper.OnCommitted(commit.attempt, Errc::kOk, {ChangeOutcome::kDone, revision += 2}, now);
    return RecordOf(commit);
  }
  /// All engines pass the barrier.
  range::Barrier PassBarrier() {
    const auto barrier = Next<range::Barrier>();
    for (MemberIndex m = 0; m < 3; ++m) set.OnReply(barrier.id, m, Errc::kOk);
    for (const RunReply& reply : set.TakeReplies()) CHECK(keeper.OnReply(reply, now));
    return barrier;
  }
  void Scanned(MemberIndex m, std::vector<ScannedKey> keys) {
    const auto scan = Next<range::Scan>();
    CHECK(scan.member == m);
    keeper.OnScanned(scan.attempt, {Errc::kOk, std::move(keys), ""}, now);
  }
  /// Takes the range over and ends the sweep that is due.
  void Serve(MemberIndex in = 3) {
    keeper.Start(now);
    for (MemberIndex m = 0; m < in; ++m) AnswerFence();
    for (MemberIndex m = 0; m < in; ++m) AnswerRead();
    Agree();
    for (MemberIndex m = 0; m < in; ++m) Next<range::Open>();
    Next<range::Serve>();
    for (MemberIndex m = in; m > 0; --m) Scanned(m - 1, {});
    PassBarrier();
    Agree();
    REQUIRE(Quiet());
    REQUIRE(keeper.settled());
  }

  ReplicaSet set{5, {}};
  RangeKeeper keeper;
  TimePoint now{100s};
  Revision revision = 10;
  std::deque<range::Action> actions;
};

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
  range.AnswerFence(Errc::kUnknown);
  range.Next<range::Fence>();
  range.AnswerRead("4:9");
  CHECK(range.Quiet());
  range.Pass(1s);
  range.AnswerFence(Errc::kTransient);  // again
  range.Pass(1s);
  range.Next<range::Fence>();
  const auto commit = range.Next<range::Commit>();
  CHECK(RecordOf(commit).members[0].in);
  CHECK_FALSE(RecordOf(commit).members[1].in);
  CHECK_FALSE(RecordOf(commit).members[2].in);
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
  SECTION("at a fence") { range.AnswerFence(Errc::kFenced); }
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
    range.AnswerFence(Errc::kTransient);
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
  SECTION("at its fence") { range.AnswerFence(Errc::kFenced); }
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
  range.Scanned(1, {stamped("gone", {2, 1}), stamped("stout:mark:0", {2, 2})});
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
  const auto read = range.Next<range::Read>();
  CHECK(read.member == 1);
  CHECK(read.keys.size() == 4);
  range.keeper.OnRead(
      read.attempt,
      {.errc = Errc::kOk, .states = {{.found = true, .value = "", .stamp = {4, 1}}, {}, {}, {}}},
      range.now);
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
  CHECK(identity.items == std::vector<WriteItem>{{"stout:datalet:0", "d1", WriteKind::kPut, 0}});
  range.keeper.OnCopied(identity.attempt, {}, range.now);
  CHECK(range.set.state(1) == MemberState::kEntering);
  CHECK(range.PassBarrier().members == 2);
  CHECK(range.Agree().members[1].in);
  CHECK(range.set.in() == 3);
  CHECK(range.keeper.settled());
}

/// Begins to fill the second of two members, up to its copy of these keys.
range::Copy CopyOf(Range& range, const std::vector<std::string>& keys) {
  range.Serve(1);
  range.keeper.Want({"d0", "d1"}, range.now);
  range.AnswerFence();
  range.Next<range::Open>();
  range.PassBarrier();
  range.Scanned(1, {});
  std::vector<ScannedKey> scanned;
  for (const std::string& key : keys) scanned.push_back({key, {true, "", {4, 1}}});
  range.Scanned(0, scanned);
  const auto read = range.Next<range::Read>();
  range.keeper.OnRead(read.attempt, {Errc::kOk, std::vector<StoredState>(keys.size())}, range.now);
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
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "b", errc});
  CHECK(range.Next<range::Shut>().member == 1);
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
  CHECK(range.Next<range::Unfillable>().key == "stout:datalet:0");
  range.Next<range::Shut>();
  range.Pass(3900ms);
  CHECK(range.Quiet());
  range.Pass(100ms);
  CHECK(range.Next<range::Fence>().member == 1);
}

TEST_CASE("a fill holds few large values at a time", "[keeper]") {
  Range range(1);
  range.Serve(1);
  range.keeper.Want({"d0", "d1"}, range.now);
  range.AnswerFence();
  range.Next<range::Open>();
  range.PassBarrier();
  range.Scanned(1, {});
  const bool large = GENERATE(true, false);
  const std::string value(large ? WalkOptions().copy_bytes : 1, 'v');
  constexpr std::size_t kKeys = 256;
  std::vector<ScannedKey> scanned;
  for (std::size_t i = 0; i < kKeys; ++i)
    scanned.push_back({std::to_string(i), {true, "", {4, 1}}});
  range.Scanned(0, std::move(scanned));
  const auto read = range.Next<range::Read>();
  range.keeper.OnRead(read.attempt, {Errc::kOk, std::vector<StoredState>(kKeys)}, range.now);
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
  CHECK(most == (large ? 16 : kKeys));
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
  int tries = 0;
  for (; tries < WalkOptions().settle_tries; ++tries) {
    const auto settle = range.Next<range::Settle>();
    range.keeper.OnProgress(1, true, range.now);
    range.keeper.OnSettled(settle.id, Errc::kCorrupt, false, {}, range.now);
    range.Pass(100ms);
  }
  CHECK(range.Next<range::Unfillable>() == range::Unfillable{1, "a", Errc::kCorrupt});
  CHECK(range.Next<range::Shut>().member == 1);
}

TEST_CASE("a member that fails while it is filled is shut and tried again later", "[keeper]") {
  Range range(1);
  range.Serve(1);
  range.keeper.Want({"d0", "d1"}, range.now);
  range.AnswerFence();
  range.Next<range::Open>();
  range.PassBarrier();
  range.Next<range::Scan>();  // never answered
  range.Pass(2s);
  CHECK(range.Next<range::Shut>().member == 1);
  CHECK(range.set.state(1) == MemberState::kOut);
  CHECK(range.Quiet());
  range.Pass(2s);
  CHECK(range.Next<range::Fence>().member == 1);
}

TEST_CASE("a mark is written when all members have passed its barrier", "[keeper]") {
  Range range;
  range.Serve();
  range.Pass(0s);
  CHECK(range.Quiet());
  for (int i = 0; i < 3; ++i) range.set.NextVersion();
  range.Pass(0s);
  const auto barrier = range.Next<range::Barrier>();
  range.set.NextVersion();  // after the start of the barrier
  for (MemberIndex m = 0; m < 3; ++m) {
    CHECK(range.Quiet());
    range.set.OnReply(barrier.id, m, Errc::kOk);
    for (const RunReply& reply : range.set.TakeReplies()) range.keeper.OnReply(reply, range.now);
  }
  const auto refused = range.Next<range::Change>();
  CHECK(refused.key == "stout:mark:0");
  CHECK(refused.state.value == "5:3");
  range.keeper.OnChanged(refused.attempt, Errc::kPushedBack, range.now);
  CHECK(range.keeper.mark() == 0);
  CHECK(range.Quiet());
  range.Pass(100ms);
  range.PassBarrier();
  const auto change = range.Next<range::Change>();
  CHECK(change.state.value == "5:4");
  range.set.NextVersion();  // of the mark itself
  range.keeper.OnChanged(change.attempt, Errc::kOk, range.now);
  CHECK(range.keeper.mark() == 4);
  range.set.NextVersion();
  range.Pass(50ms);
  CHECK(range.Quiet());
  range.Pass(50ms);
  CHECK(range.PassBarrier().members == 7);
  const auto last = range.Next<range::Change>();
  CHECK(last.state.value == "5:6");
  range.set.NextVersion();
  range.keeper.OnChanged(last.attempt, Errc::kOk, range.now);
  range.Pass(1s);
  CHECK(range.Quiet());  // nothing but the mark has changed
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
  CHECK(settle.gather);
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
