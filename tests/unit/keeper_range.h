#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stout/core/range_keeper.h"
#include "stout/core/registry_table.h"
#include "tests/support/catch.h"

namespace stout {
using namespace internal;
using namespace std::chrono_literals;

inline const RangeRecord& RecordOf(const range::Commit& commit) {
  return std::get<RangeRecord>(*commit.change.value);
}

/// Three members, of which the first `in` are in, under epoch 5. The test is the driver.
struct Range {
  explicit Range(MemberIndex in = 3) : Range(Record(in)) {}
  explicit Range(RangeRecord record, RangeKeeperOptions options = Options(),
                 ReplicaOptions replicas = {})
      : set(5, replicas), keeper(7, {std::move(record), 10}, set, std::move(options)) {}

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
  const range::Action& Peek() {
    for (range::Action& action : keeper.TakeActions()) actions.push_back(std::move(action));
    REQUIRE_FALSE(actions.empty());
    return actions.front();
  }
  void Drop() { actions.pop_front(); }
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
  void AnswerFence(const range::Fenced& fenced = {}) {
    keeper.OnFenced(Next<range::Fence>().attempt, fenced, now);
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
  /// The first of two members serves, and the second is filled: a scan comes next.
  void BeginFill() {
    Serve(1);
    keeper.Want({"d0", "d1"}, now);
    AnswerFence();
    Next<range::Open>();
    PassBarrier();
  }
  void Scanned(MemberIndex m, std::vector<ScannedKey> keys) {
    const auto scan = Next<range::Scan>();
    CHECK(scan.member == m);
    keeper.OnScanned(scan.attempt, {Errc::kOk, std::move(keys), ""}, now);
  }
  /// Answers a read of stamps, or of values.
  void AnswerStates(MemberIndex m, bool values, std::vector<StoredState> states) {
    const auto read = Next<range::Read>();
    CHECK(read.member == m);
    CHECK(read.values == values);
    CHECK(read.keys.size() == states.size());
    keeper.OnRead(read.attempt, {.errc = Errc::kOk, .states = std::move(states)}, now);
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

  ReplicaSet set;
  RangeKeeper keeper;
  TimePoint now{100s};
  Revision revision = 10;
  std::deque<range::Action> actions;
};

}  // namespace stout
