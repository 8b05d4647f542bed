// The interposer against a store that answers when the test says so: what each call promises.

#include "stout/interposer.h"

#include <boost/asio/bind_executor.hpp>
#include <optional>

#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using Log = World::Log;

TEST_CASE("a reply runs once its key is durable, and not inside the call", "[interposer]") {
  World world;
  world.Open();
  std::optional<Result<Stamp>> stamp;
  bool inside = true;
  bool ran_inside = false;
  world.On([&] {
    world.state["k"] = "v";
    stamp = world.interposer->MarkDirty("k", 1);
    world.interposer->SafeReply("k", [&](ErrorCode ec) {
      ran_inside = inside;
      world.log.push_back("reply: " + World::Name(ec));
    });
    inside = false;
  });
  CHECK(stamp->value() == Stamp{1, 1});
  CHECK(world.log.empty());
  REQUIRE(world.store.writes.size() == 1);
  auto write = world.store.TakeWrite();
  CHECK(write.batch.epoch == 1);
  CHECK(write.batch.items == std::vector<WriteItem>{{"k", "v", WriteKind::kPut, 1}});

  write.handler({});
  CHECK(world.log.empty());  // nor inside the store's call
  world.Turn();
  CHECK(world.log == Log{"reply: ok"});
  CHECK_FALSE(ran_inside);
}

// Keeps when the newest batch was sent.
struct Watch {
  TimePoint* sent;
  [[nodiscard]] Decision Start() const { return {}; }
  Decision Observe(const BatchSample& sample) {
    *sent = sample.sent;
    return {};
  }
  [[nodiscard]] std::string Name() const { return "watch"; }
};

TEST_CASE("policies see Unix time, which servers share", "[interposer]") {
  using SystemTime = std::chrono::system_clock::time_point;
  const auto now = [] { return SystemTime::clock::now().time_since_epoch(); };
  TimePoint sent;
  EngineOptions options = Plain();
  options.lane.write_policy = Watch{&sent};
  World world(options);
  world.Open();
  world.Set("k", "v");
  world.store.TakeWrite().handler({});
  world.Turn();
  // The system's clock may be set while the test runs; a steady clock is years behind.
  CHECK(std::chrono::abs(sent.time_since_epoch() - now()) < std::chrono::hours(1));
}

TEST_CASE("a reply about a clean key runs at once, but not inside the call", "[interposer]") {
  World world;
  world.Open();
  bool inside = true;
  std::optional<bool> ran_inside;
  world.On([&] {
    world.interposer->SafeReply("clean", [&](ErrorCode ec) {
      CHECK_FALSE(ec);
      ran_inside = inside;
    });
    inside = false;
  });
  CHECK(ran_inside == false);
  world.Reply("none", {});
  CHECK(world.log == Log{"none: ok"});
}

TEST_CASE("changes made in one turn are written once, as they are when the batch is formed",
          "[interposer]") {
  World world;
  world.Open();
  world.On([&] {
    for (const char* value : {"1", "2", "3"}) {
      world.state["k"] = value;
      REQUIRE(world.interposer->MarkDirty("k"));
    }
    REQUIRE(world.interposer->MarkDirty("gone"));
  });
  CHECK(world.serialized == 2);
  REQUIRE(world.store.writes.size() == 1);
  CHECK(
      world.store.TakeWrite().batch.items ==
      std::vector<WriteItem>{{"k", "3", WriteKind::kPut, 3}, {"gone", "", WriteKind::kDelete, 4}});
}

TEST_CASE("a reply waits for every key that it names, at the version that each had",
          "[interposer]") {
  World world;
  world.Open();
  world.Set("a", "1");
  world.Set("b", "1");  // waits behind the first batch
  world.Reply("both", {"a", "b"});
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log.empty());
  world.Set("b", "2");  // later changes do not matter to it
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log == Log{"both: ok"});
  CHECK(world.interposer->Stats().replies_held == 0);
}

TEST_CASE("limits push back, and nothing is recorded", "[interposer]") {
  EngineOptions options = Patient();
  options.lane.max_dirty_keys = 1;
  options.max_replies = 1;
  World world(options);
  world.Open();
  world.Set("a", "1");
  world.On([&] {
    CHECK(world.interposer->MarkDirty("b").error() == Errc::kPushedBack);
    CHECK_FALSE(world.interposer->IsDirty("b"));
    CHECK(world.interposer->MarkDirty("a"));
    CHECK(world.interposer->HasReplyRoom());
  });
  world.Reply("first", {"a"});
  world.On([&] { CHECK_FALSE(world.interposer->HasReplyRoom()); });
  world.Reply("second", {"a"});
  CHECK(world.log == Log{World::Entry("second", Errc::kPushedBack)});
}

TEST_CASE("a refused key is reported before its replies fail, and harms no other", "[interposer]") {
  World world;
  world.Open();
  world.On([&] {
    for (const char* key : {"bad", "good"}) {
      world.state[key] = "v";
      REQUIRE(world.interposer->MarkDirty(key));
    }
    world.interposer->SafeReply("good", world.Logged("good"));
    world.interposer->SafeReply("bad", world.Logged("bad"));
  });
  world.store.TakeWrite().handler({Errc::kOk, {{0, Errc::kRefused}}});
  world.Turn();
  CHECK(world.log.size() == 3);
  CHECK(world.log.front() == World::Entry("refused bad", Errc::kRefused));
  CHECK(std::count(world.log.begin(), world.log.end(), "good: ok") == 1);
  CHECK(std::count(world.log.begin(), world.log.end(), World::Entry("bad", Errc::kRefused)) == 1);
  CHECK(world.store.writes.empty());
}

TEST_CASE("a refusal is known before any handler that runs after it", "[interposer]") {
  // A handler that was due already and looks at the application's state must not see, and reveal
  // through SafeReply, a state that the store has refused.
  World world;
  world.Open();
  world.Set("k", "v");
  auto write = world.store.TakeWrite();
  world.On([&] {
    write.handler({Errc::kRefused, {}});
    world.interposer->Open(world.Logged("was due"));  // open already: answered by the next turn
  });
  CHECK(world.log == Log{World::Entry("refused k", Errc::kRefused), "was due: ok"});
}

TEST_CASE("a state that cannot be serialised is refused by itself", "[interposer]") {
  World world;
  world.Open();
  world.On([&] {
    for (const auto& [key, value] : {std::pair("bad", "throw"), std::pair("good", "v")}) {
      world.state[key] = value;
      REQUIRE(world.interposer->MarkDirty(key));
      world.interposer->SafeReply(key, world.Logged(key));
    }
  });
  CHECK(world.log == Log{World::Entry("refused bad", Errc::kNotSerialized),
                         World::Entry("bad", Errc::kNotSerialized)});
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log.back() == "good: ok");
}

TEST_CASE("a fenced lane tells the application first, then fails its replies", "[interposer]") {
  World world(Patient(), 2);
  world.Open();
  world.Set("0", "v");
  world.Set("1", "v");
  world.Reply("mine", {"1"});
  world.Reply("lost", {"0"});
  auto lost = world.store.TakeWrite();
  REQUIRE(lost.batch.lane == 0);
  lost.handler({Errc::kFenced, {}});
  world.Turn();
  CHECK(world.log == Log{"fenced 0", World::Entry("lost", Errc::kFenced)});
  world.On([&] { CHECK(world.interposer->MarkDirty("0").error() == Errc::kFenced); });
  world.store.TakeWrite().handler({});  // the other lane lives on
  world.Turn();
  CHECK(world.log.back() == "mine: ok");
}

TEST_CASE("fencing the interposer fences every lane", "[interposer]") {
  World world(Patient(), 2);
  world.Open();
  world.Set("0", "v");
  world.Reply("reply", {"0"});
  world.On([&] { world.interposer->Fence(); });
  CHECK(world.log == Log{"fenced 0", "fenced 1", World::Entry("reply", Errc::kFenced)});
  world.On([&] { CHECK(world.interposer->MarkDirty("1").error() == Errc::kFenced); });
}

TEST_CASE("a lost store stops the interposer, which tells the application first", "[interposer]") {
  World world(Patient(), 2);
  world.Open();
  world.Set("0", "v");
  world.Set("1", "v");
  world.Reply("reply", {"1"});
  auto lost = world.store.TakeWrite();
  REQUIRE(lost.batch.lane == 0);
  lost.handler({Errc::kLost, {}});
  world.Turn();
  CHECK(world.log == Log{"lost", World::Entry("reply", Errc::kLost)});
  world.On([&] { CHECK(world.interposer->MarkDirty("1").error() == Errc::kLost); });
  world.store.TakeWrite().handler({Errc::kLost, {}});
  world.Turn();
  CHECK(world.log.size() == 2);
  CHECK(world.store.writes.empty());
}

TEST_CASE("what failed for now is sent again, and the reply waits for that", "[interposer]") {
  const Errc trouble = GENERATE(Errc::kTransient, Errc::kUnknown);
  World world(Hasty());
  world.Open();
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  world.store.TakeWrite().handler({trouble, {}});
  world.RunUntil([&] { return !world.store.writes.empty(); });
  CHECK(world.log.empty());
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log == Log{"reply: ok"});
}

TEST_CASE("an attempt without an answer is repeated, and its late answer ignored", "[interposer]") {
  EngineOptions options = Hasty();
  options.lane.attempt_timeout = std::chrono::milliseconds(1);
  World world(options);
  world.Open();
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  world.RunUntil([&] { return world.store.writes.size() >= 2; });
  world.store.TakeWrite().handler({});  // the first attempt: too late
  world.Turn();
  CHECK(world.log.empty());
  world.RunUntil([&] {
    while (!world.store.writes.empty()) world.store.TakeWrite().handler({});
    return !world.log.empty();
  });
  CHECK(world.log == Log{"reply: ok"});
  CHECK(world.interposer->Stats().lanes[0].late_answers >= 1);
}

TEST_CASE("a reply whose deadline passes says so, the change is kept", "[interposer]") {
  EngineOptions options = Patient();
  options.reply_deadline = std::chrono::milliseconds(1);
  World world(options);
  world.Open();
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  world.RunUntil([&] { return !world.log.empty(); });
  CHECK(world.log == Log{World::Entry("reply", Errc::kDeadline)});
  world.On([&] { CHECK(world.interposer->IsDirty("k")); });
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log.size() == 1);  // exactly once
}

// --- Fetches -----------------------------------------------------------------------------------

TEST_CASE("fetches of one key share a read and each get the stored state", "[interposer][fetch]") {
  World world;
  world.Open();
  std::vector<StoredState> states;
  world.On([&] {
    for (int i = 0; i < 3; ++i) {
      world.interposer->Fetch("k", [&](ErrorCode ec, StoredState state) {
        CHECK_FALSE(ec);
        states.push_back(std::move(state));
      });
    }
    CHECK(states.empty());
  });
  REQUIRE(world.store.reads.size() == 1);
  auto read = world.store.TakeRead();
  CHECK(read.batch.keys == std::vector<std::string>{"k"});
  const StoredState stored{.found = true, .value = "v", .stamp = {1, 7}, .errc = Errc::kOk};
  read.handler({Errc::kOk, {stored}});
  CHECK(states.empty());
  world.Turn();
  CHECK(states == std::vector<StoredState>(3, stored));
}

TEST_CASE("a fetch of a dirty key shows what the application has", "[interposer][fetch]") {
  World world;
  world.Open();
  std::optional<StoredState> state;
  world.On([&] {
    world.state["k"] = "mine";
    REQUIRE(world.interposer->MarkDirty("k"));
    world.interposer->Fetch("k", [&](ErrorCode, StoredState s) { state = std::move(s); });
    CHECK_FALSE(state);
  });
  CHECK(state == StoredState{.found = true, .value = "mine", .stamp = {1, 1}, .errc = Errc::kOk});
  CHECK(world.store.reads.empty());
}

TEST_CASE("a fetch that cannot be answered says why", "[interposer][fetch]") {
  std::vector<ErrorCode> fates;
  const auto fetch = [&](World& world) {
    world.Open();
    world.On([&] {
      world.interposer->Fetch("k", [&](ErrorCode ec, StoredState) { fates.push_back(ec); });
    });
  };
  World broken;
  fetch(broken);
  broken.store.TakeRead().handler({Errc::kCorrupt, {}});
  broken.Turn();
  CHECK(fates == std::vector<ErrorCode>{Errc::kCorrupt});

  EngineOptions options = Patient();
  options.reply_deadline = std::chrono::milliseconds(1);
  World silent(options);
  fetch(silent);
  silent.RunUntil([&] { return fates.size() == 2; });
  CHECK(fates.back() == Errc::kDeadline);
}

// --- The end -----------------------------------------------------------------------------------

TEST_CASE("a flush does not wait for the policy's interval", "[interposer]") {
  EngineOptions options = Patient();
  options.lane.write_policy = Fixed{.interval = std::chrono::hours(1)};
  options.lane.max_delay = std::chrono::hours(1);
  World world(options);
  world.Open();
  world.Set("first", "v");  // an idle lane sends at once
  REQUIRE(world.store.writes.size() == 1);
  world.store.TakeWrite().handler({});
  world.Turn();
  world.Set("second", "v");
  REQUIRE(world.store.writes.empty());
  world.On([&] { world.interposer->Flush(world.Logged("flush")); });
  REQUIRE(world.store.writes.size() == 1);
  CHECK(world.log.empty());
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log == Log{"flush: ok"});
}

TEST_CASE("a drain takes no new change and ends after the last reply", "[interposer]") {
  World world;
  world.Open();
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  world.On([&] {
    world.interposer->Drain(world.Logged("drain"));
    world.interposer->Drain(world.Logged("again"));
    CHECK(world.interposer->MarkDirty("new").error() == Errc::kDraining);
  });
  CHECK(world.log.empty());
  world.store.TakeWrite().handler({});
  world.context.restart();
  world.context.run();  // ends by itself: nothing is left to wait for
  CHECK(world.log == Log{"reply: ok", "drain: ok", "again: ok"});
}

TEST_CASE("closing fails what waits, the drain last", "[interposer]") {
  World world;
  world.Open();
  world.Set("k", "v");
  world.On([&] {
    world.interposer->Drain(world.Logged("drain"));
    world.interposer->SafeReply("k", world.Logged("reply"));
    world.interposer->Flush(world.Logged("flush"));
    world.interposer->Fetch("other", [&](ErrorCode ec, StoredState) {
      world.log.push_back("fetch: " + World::Name(ec));
    });
  });
  CHECK(world.log.empty());
  world.On([&] {
    world.interposer->Close();
    world.interposer->Close();
    CHECK(world.log.empty());
  });
  const std::string closed = World::Name(Errc::kClosed);
  CHECK(world.log ==
        Log{"reply: " + closed, "flush: " + closed, "fetch: " + closed, "drain: " + closed});
  world.On([&] { CHECK_FALSE(world.interposer->IsDirty("k")); });
}

TEST_CASE("a closed interposer says so to every call", "[interposer]") {
  World world;
  world.Open();
  world.On([&] { world.interposer->Close(); });
  world.On([&] {
    CHECK(world.interposer->MarkDirty("k").error() == Errc::kClosed);
    world.interposer->SafeReply("k", world.Logged("reply"));
    world.interposer->Flush(world.Logged("flush"));
    world.interposer->Drain(world.Logged("drain"));
    world.interposer->Open(world.Logged("open"));
    world.interposer->Fetch(
        "k", [&](ErrorCode ec, StoredState) { world.log.push_back("fetch: " + World::Name(ec)); });
  });
  CHECK(world.log.size() == 5);
  for (const std::string& line : world.log) {
    CHECK(line.find(World::Name(Errc::kClosed)) != std::string::npos);
  }
  CHECK(world.store.writes.empty());
}

// --- What keeps the context running ------------------------------------------------------------

TEST_CASE("the context runs until nothing is left to wait for, and no longer", "[interposer]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  world.Turn();
  CHECK_FALSE(world.context.stopped());  // a write is in flight
  world.store.TakeWrite().handler({});
  world.context.restart();
  world.context.run();
  CHECK(world.context.stopped());  // the interposer is idle, open, and in nobody's way
}

TEST_CASE("the context also waits for a store that has no time-out", "[interposer]") {
  EngineOptions options = Patient();
  options.lane.attempt_timeout = options.reply_deadline = Duration::max();
  World world(options);
  world.Open();
  world.Set("k", "v");
  world.Turn();
  CHECK_FALSE(world.context.stopped());
  world.store.TakeWrite().handler({});
  world.context.restart();
  world.context.run();
  CHECK(world.context.stopped());
}

TEST_CASE("once closed, the context does not wait for a store that never answers", "[interposer]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  world.On([&] { world.interposer->Fetch("other", [](ErrorCode, StoredState) {}); });
  world.On([&] { world.interposer->Close(); });
  CHECK(world.store.writes.size() == 1);
  CHECK(world.context.stopped());
}

TEST_CASE("times near the end of the clock mean never", "[interposer]") {
  EngineOptions options = Plain();
  options.lane.attempt_timeout = options.reply_deadline =
      Duration::max() - std::chrono::seconds(10);
  World world(options);
  world.Open();
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  CHECK(world.log.empty());
  CHECK(world.interposer->Stats().lanes[0].attempts_timed_out == 0);
  world.context.restart();
  CHECK(world.context.poll() == 0);  // no timer that is always due
}

TEST_CASE("statistics count what was done", "[interposer]") {
  World world;
  world.Open();
  for (int i = 0; i < 3; ++i) world.Set("k", "v");
  world.Reply("reply", {"k"});
  while (!world.store.writes.empty()) {
    world.store.TakeWrite().handler({});
    world.Turn();
  }
  const EngineStats stats = world.interposer->Stats();
  CHECK(stats.replies == 1);
  CHECK(stats.lanes[0].keys_marked == 3);
  CHECK(stats.lanes[0].writes_done == 2);
  CHECK(stats.lanes[0].dirty_keys == 0);
}

}  // namespace
}  // namespace stout
