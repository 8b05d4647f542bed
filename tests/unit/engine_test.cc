// Replies, flushes, drain, close, fence and time: what spans the lanes of an engine.
#include "stout/core/engine.h"

#include <chrono>
#include <string>
#include <vector>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

// --- Replies
// ---------------------------------------------------------------------------------------

TEST_CASE("a reply over clean keys runs at once", "[engine]") {
  EngineDriver server;
  server.SafeReply({"never", "changed"}, 1);
  server.SafeReply({}, 2);
  CHECK(server.Take().replies == Replies{{1, Errc::kOk}, {2, Errc::kOk}});
}

TEST_CASE("a reply waits for every key that it names, written or read", "[engine]") {
  EngineOptions options;
  options.lane.write_policy = Unbatched{};
  EngineDriver server(options);
  server.Put("a", "1");
  server.Put("b", "2");
  server.SafeReply({"a", "clean", "b", "a"}, 1);
  const Effects effects = server.Poll();
  CHECK(effects.replies.empty());
  CHECK(server.Done(effects.writes.at(1)).replies.empty());
  CHECK(server.Done(effects.writes.at(0)).replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("a reply waits for the change in flight that it reveals", "[engine]") {
  EngineDriver server;
  server.Put("k", "v");
  const Effects effects = server.Poll();
  server.SafeReply({"k"}, 1);
  CHECK(server.Poll().replies.empty());
  CHECK(server.Done(effects.writes.at(0)).replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("a reply does not wait for changes made after it", "[engine]") {
  EngineDriver server;
  server.Put("k", "v1");
  server.SafeReply({"k"}, 1);
  const Effects first = server.Poll();
  server.Put("k", "v2");
  server.SafeReply({"k"}, 2);
  const Effects second = server.Done(first.writes.at(0));
  CHECK(second.replies == Replies{{1, Errc::kOk}});
  CHECK(server.Done(second.writes.at(0)).replies == Replies{{2, Errc::kOk}});
}

TEST_CASE("a reply over keys of several lanes waits for all", "[engine]") {
  EngineDriver server(Plain(), 2);
  server.Put("a", "1", 0);
  server.Put("b", "2", 1);
  const std::vector<KeyRef> keys{{0, "a"}, {1, "b"}};
  server.engine.SafeReply(keys, 1, server.now);
  const Effects effects = server.Poll();
  CHECK(effects.writes == Writes{Batch(1, {Put("a", "1", 1)}, 0), Batch(2, {Put("b", "2", 1)}, 1)});
  CHECK(server.Done(effects.writes.at(0)).replies.empty());
  CHECK(server.Done(effects.writes.at(1)).replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("a reply fails at its deadline, once, and its keys are still written", "[engine]") {
  EngineOptions options = Plain();
  options.reply_deadline = 50ms;
  EngineDriver server(options);
  server.Put("k", "v");
  server.SafeReply({"k"}, 1);
  const Effects effects = server.Poll();
  CHECK(server.next == TimePoint(50ms));
  CHECK(server.PollAfter(50ms - 1ns).replies.empty());
  CHECK(server.PollAfter(1ns).replies == Replies{{1, Errc::kDeadline}});
  CHECK(server.Done(effects.writes.at(0)).replies.empty());
  CHECK_FALSE(server.engine.IsDirty({0, "k"}));
}

TEST_CASE("beyond max_replies a reply is pushed back", "[engine]") {
  EngineOptions options = Plain();
  options.max_replies = 1;
  EngineDriver server(options);
  server.Put("k", "v");
  server.SafeReply({"k"}, 1);
  server.SafeReply({"k"}, 2);
  CHECK(server.Take().replies == Replies{{2, Errc::kPushedBack}});
  const Effects effects = server.Poll();
  CHECK(server.Done(effects.writes.at(0)).replies == Replies{{1, Errc::kOk}});
  server.SafeReply({"k"}, 3);
  CHECK(server.Take().replies == Replies{{3, Errc::kOk}});
}

// --- Flush
// -----------------------------------------------------------------------------------------

EngineOptions Unhurried() {
  EngineOptions options;
  options.lane.write_policy = Fixed{.interval = 1s};
  options.lane.attempt_timeout = 1h;
  return options;
}

TEST_CASE("a flush of nothing is done", "[engine]") {
  EngineDriver server;
  server.engine.Flush(1, server.now);
  CHECK(server.Take().replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("a flush cancels the interval and waits for what is dirty, not for more", "[engine]") {
  EngineDriver server(Unhurried());
  server.Put("a", "1");
  const Effects first = server.Poll();
  server.Put("b", "2");
  server.engine.Flush(9, server.now);
  const Effects second = server.Poll();
  CHECK(second.writes == Writes{Batch(2, {Put("b", "2", 2)})});
  server.Put("c", "3");
  CHECK(server.Poll().writes.empty());
  CHECK(server.Done(second.writes.at(0)).replies.empty());
  CHECK(server.Done(first.writes.at(0)).replies == Replies{{9, Errc::kOk}});
  CHECK(server.engine.IsDirty({0, "c"}));
}

TEST_CASE("a barrier waits for what is dirty and sends nothing earlier", "[engine]") {
  EngineDriver server(Unhurried());
  server.Put("a", "1");
  const Effects first = server.Poll();
  server.Put("b", "2");
  server.engine.Barrier(9, server.now);
  CHECK(server.Poll().writes.empty());
  CHECK(server.Done(first.writes.at(0)).replies.empty());
  const Effects second = server.NextSend();
  server.Put("c", "3");
  CHECK(server.Done(second.writes.at(0)).replies == Replies{{9, Errc::kOk}});
}

TEST_CASE("a barrier of nothing is done", "[engine]") {
  EngineDriver server;
  server.engine.Barrier(1, server.now);
  CHECK(server.Take().replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("a change takes the version that its caller gives", "[engine]") {
  EngineDriver server;
  server.state = {{"a", "1"}, {"b", "2"}};
  CHECK(server.engine.MarkDirty({0, "a"}, 1, 7, server.now) == MarkResult{.version = 7});
  const Effects first = server.Poll();
  CHECK(first.writes == Writes{Batch(1, {Put("a", "1", 7)})});
  CHECK(server.engine.MarkDirty({0, "b"}, 1, 12, server.now) == MarkResult{.version = 12});
  CHECK(server.Put("a", "3") == MarkResult{.version = 13});
}

TEST_CASE("an engine says beforehand whether it takes a change", "[engine]") {
  EngineOptions options;
  options.lane.max_dirty_keys = 1;
  EngineDriver server(options);
  CHECK(server.engine.Admits({0, "a"}, 1) == Errc::kOk);
  CHECK(server.engine.IsIdle());
  server.Put("a", "1");
  CHECK_FALSE(server.engine.IsIdle());
  CHECK(server.engine.Admits({0, "a"}, 1) == Errc::kOk);
  CHECK(server.engine.Admits({0, "b"}, 1) == Errc::kPushedBack);
  CHECK(server.Stats().marks_pushed_back == 0);
  server.engine.Drain();
  CHECK(server.engine.Admits({0, "a"}, 1) == Errc::kDraining);
  server.engine.Close(server.now);
  CHECK(server.engine.Admits({0, "a"}, 1) == Errc::kClosed);
}

TEST_CASE("a flush covers keys in retry and cancels their pause", "[engine]") {
  EngineDriver server(Unhurried());
  server.Put("a", "1");
  server.Put("b", "2");
  const Effects first = server.Poll();
  const WriteResult failure = GENERATE(WriteResult{.batch = Errc::kTransient, .items = {}},
                                       WriteResult{.items = {{0, Errc::kUnknown}}});
  CHECK(server.Done(first.writes.at(0), failure).writes.empty());
  server.engine.Flush(9, server.now);
  Effects effects = server.Poll();
  CHECK(KeysOf(effects.writes.at(0)).at(0) == "a");
  Replies replies;
  while (!effects.writes.empty()) {
    const WriteBatch batch = effects.writes.back();
    effects.writes.pop_back();
    for (WriteBatch& more : server.Done(batch).writes) effects.writes.push_back(more);
  }
  CHECK(server.engine.Stats().replies_held == 0);
  CHECK(server.Stats().dirty_keys == 0);
}

TEST_CASE("a flush that fails on its way is repeated without waiting for the interval",
          "[engine]") {
  EngineDriver server(Unhurried());
  server.Put("k", "v");
  Effects effects = server.Poll();
  const bool while_in_flight = GENERATE(true, false);
  if (!while_in_flight) {
    server.Done(effects.writes.at(0));
    server.Put("k", "w");
  }
  server.engine.Flush(9, server.now);
  if (!while_in_flight) effects = server.Poll();
  server.Done(effects.writes.at(0), Whole(Errc::kTransient));
  const TimePoint failed = server.now;
  effects = server.NextSend();
  CHECK(server.now - failed <= 10ms);  // the back-off, not the interval
  CHECK(server.Done(effects.writes.at(0)).replies == Replies{{9, Errc::kOk}});
}

TEST_CASE("a flush that waits for one key does not hurry others", "[engine]") {
  EngineDriver server(Unhurried());
  server.Put("k", "v");
  server.Poll();
  server.Put("k", "w");  // cannot be sent before its first write ends
  server.engine.Flush(9, server.now);
  server.Poll();
  server.Put("other", "x");
  CHECK(server.Poll().writes.empty());
  CHECK(server.next == TimePoint(1s));
}

TEST_CASE("a flush tells of a refused key once all has ended", "[engine]") {
  EngineDriver server;
  server.Put("a", "1");
  server.Put("b", "2");
  server.engine.Flush(9, server.now);
  const Effects effects = server.Poll();
  const Effects partial =
      server.Done(effects.writes.at(0), {.items = {{0, Errc::kRefused}, {1, Errc::kTransient}}});
  CHECK(partial.replies.empty());
  CHECK(server.Done(server.NextSend().writes.at(0)).replies == Replies{{9, Errc::kRefused}});
}

TEST_CASE("a flush has no deadline", "[engine]") {
  EngineOptions options = Unhurried();
  options.reply_deadline = 10ms;
  EngineDriver server(options);
  server.Put("k", "v");
  server.engine.Flush(9, server.now);
  const Effects effects = server.Poll();
  CHECK(server.PollAfter(1min).replies.empty());
  CHECK(server.Done(effects.writes.at(0)).replies == Replies{{9, Errc::kOk}});
}

// --- Drain, close, fence
// ---------------------------------------------------------------------------

TEST_CASE("a drain takes no new change, sends at once and ends when all is answered", "[engine]") {
  EngineDriver server(Unhurried());
  server.Put("a", "1");
  const Effects first = server.Poll();
  server.Put("b", "2");
  server.SafeReply({"b"}, 1);
  server.engine.Drain();
  CHECK(server.Put("c", "3") == MarkResult{.errc = Errc::kDraining});
  const Effects second = server.Poll();
  CHECK(second.writes == Writes{Batch(2, {Put("b", "2", 2)})});
  CHECK_FALSE(second.drained.has_value());
  CHECK_FALSE(server.Done(first.writes.at(0)).drained.has_value());
  const Effects last = server.Done(second.writes.at(0));
  CHECK(last.replies == Replies{{1, Errc::kOk}});
  CHECK(last.drained == Errc::kOk);
}

TEST_CASE("a drain of nothing ends at once", "[engine]") {
  EngineDriver server;
  server.engine.Drain();
  CHECK(server.Poll().drained == Errc::kOk);
}

TEST_CASE("a drain reports a lane or a store that was lost meanwhile", "[engine]") {
  const Errc errc = GENERATE(Errc::kFenced, Errc::kLost);
  EngineDriver server;
  server.Put("a", "1");
  const WriteBatch batch = server.Poll().writes.at(0);
  server.engine.Drain();
  CHECK(server.Done(batch, Whole(errc)).drained == errc);
  CHECK(server.Poll().drained == errc);
}

TEST_CASE("close fails what waits and sends nothing more", "[engine]") {
  EngineDriver server(Unhurried());
  server.Put("in flight", "1");
  const Effects effects = server.Poll();
  server.Put("unsent", "2");
  server.SafeReply({"in flight"}, 1);
  server.SafeReply({"unsent"}, 2);
  server.engine.Flush(3, server.now);
  server.engine.Fetch({0, "elsewhere"}, 4, server.now);
  server.engine.Close(server.now);
  Effects closed = server.Take();
  std::sort(closed.replies.begin(), closed.replies.end(),
            [](const RunReply& a, const RunReply& b) { return a.id < b.id; });
  CHECK(closed.replies == Replies{{1, Errc::kClosed}, {2, Errc::kClosed}, {3, Errc::kClosed}});
  CHECK(closed.fetched == std::vector<FetchDone>{{4, Errc::kClosed, {}}});

  CHECK(server.Put("late", "5") == MarkResult{.errc = Errc::kClosed});
  server.SafeReply({"unsent"}, 6);
  server.engine.Fetch({0, "k"}, 7, server.now);
  const Effects late = server.Done(effects.writes.at(0));
  CHECK(late.writes.empty());
  CHECK(late.replies == Replies{{6, Errc::kClosed}});
  CHECK(late.fetched == std::vector<FetchDone>{{7, Errc::kClosed, {}}});
  CHECK(server.next == kNever);
  server.engine.Close(server.now);
  CHECK(server.Take().empty());
}

TEST_CASE("a fenced lane stops for good and the others go on", "[engine]") {
  const WriteResult fenced = GENERATE(WriteResult{.batch = Errc::kFenced, .items = {}},
                                      WriteResult{.items = {{0, Errc::kFenced}}});
  EngineDriver server(Plain(), 2);
  server.Put("a", "1", 0);
  server.Put("b", "2", 1);
  const std::vector<KeyRef> both{{0, "a"}, {1, "b"}};
  server.engine.SafeReply(both, 1, server.now);
  const Effects effects = server.Poll();
  const Effects after = server.Done(effects.writes.at(0), fenced);
  CHECK(after.fenced == std::vector<LaneId>{0});
  CHECK(after.replies == Replies{{1, Errc::kFenced}});
  CHECK(server.Put("a", "3", 0) == MarkResult{.errc = Errc::kFenced});
  CHECK(server.Put("b", "4", 1).errc == Errc::kOk);
  CHECK(server.Done(effects.writes.at(1)).writes == Writes{Batch(3, {Put("b", "4", 2)}, 1)});
  CHECK(server.Stats(0).fenced);
  CHECK_FALSE(server.Stats(1).fenced);
}

TEST_CASE("what was done in the batch that was fenced is acknowledged", "[engine]") {
  EngineDriver server;
  server.Put("a", "1");
  server.Put("b", "2");
  server.SafeReply({"a"}, 1);
  server.SafeReply({"b"}, 2);
  const Effects effects = server.Poll();
  CHECK(server.Done(effects.writes.at(0), {.items = {{1, Errc::kFenced}}}).replies ==
        Replies{{1, Errc::kOk}, {2, Errc::kFenced}});
}

TEST_CASE("a late answer still fences", "[engine]") {
  EngineOptions options = Plain();
  options.lane.attempt_timeout = 10ms;
  EngineDriver server(options);
  server.Put("k", "v");
  const Effects effects = server.Poll();
  server.PollAfter(10ms);
  CHECK(server.Done(effects.writes.at(0), Whole(Errc::kFenced)).fenced == std::vector<LaneId>{0});
}

TEST_CASE("an answer of kLost stops every lane, once and for good", "[engine]") {
  EngineDriver server(Plain(), 2);
  server.Put("a", "1", 0);
  server.Put("b", "2", 1);
  const std::vector<KeyRef> other{{1, "b"}};
  server.engine.SafeReply(other, 1, server.now);
  server.engine.Fetch({0, "c"}, 2, server.now);
  const Effects effects = server.Poll();
  Effects after;
  SECTION("to a batch") { after = server.Done(effects.writes.at(0), Whole(Errc::kLost)); }
  SECTION("to an item") {
    after = server.Done(effects.writes.at(0), {.items = {{0, Errc::kLost}}});
  }
  SECTION("to a read") {
    after = server.ReadDone(effects.reads.at(0), {.errc = Errc::kLost, .states = {}});
  }
  CHECK(after.lost);
  CHECK(after.fenced.empty());
  CHECK(after.replies == Replies{{1, Errc::kLost}});
  CHECK(after.fetched == std::vector<FetchDone>{{2, Errc::kLost, {}}});
  CHECK(server.Put("b", "3", 1) == MarkResult{.errc = Errc::kLost});
  CHECK(server.engine.Stats().lost);
  CHECK_FALSE(server.Done(effects.writes.at(1), Whole(Errc::kLost)).lost);
  CHECK(server.next == kNever);
}

TEST_CASE("a late answer of kLost still counts", "[engine]") {
  EngineOptions options = Plain();
  options.lane.attempt_timeout = 10ms;
  EngineDriver server(options);
  server.Put("k", "v");
  const Effects effects = server.Poll();
  server.PollAfter(10ms);
  CHECK(server.Done(effects.writes.at(0), Whole(Errc::kLost)).lost);
}

// --- Time and memory
// -------------------------------------------------------------------------------

TEST_CASE("time never runs backwards in an engine", "[engine]") {
  EngineOptions options = Plain();
  options.reply_deadline = 50ms;
  EngineDriver server(options);
  server.now = TimePoint(1s);
  server.Put("k", "v");
  const Effects effects = server.Poll();
  server.now = TimePoint(0s);
  server.SafeReply({"k"}, 1);
  CHECK(server.Poll().replies.empty());
  CHECK(server.next == TimePoint(1s + 50ms));
  server.Done(effects.writes.at(0));
  CHECK(server.Stats().store_latency.max() == 0);
}

TEST_CASE("each lane has its own versions, window and statistics", "[engine]") {
  EngineDriver server(Plain(), 2);
  CHECK(server.Put("a", "1", 0).version == 1);
  CHECK(server.Put("b", "1", 1).version == 1);
  CHECK(server.Poll().writes.size() == 2);
  server.Put("c", "1", 0);
  CHECK(server.Poll().writes.empty());
  CHECK(server.Stats(0).keys_marked == 2);
  CHECK(server.Stats(1).keys_marked == 1);
}

}  // namespace
}  // namespace stout
