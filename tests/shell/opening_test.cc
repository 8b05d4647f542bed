// How an interposer is opened: by itself, or as the owner of a scope.

#include <chrono>

#include "stout/interposer.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using Log = World::Log;

TEST_CASE("an interposer that is not open takes nothing", "[interposer][open]") {
  World world;
  world.On([&] {
    CHECK(world.interposer->MarkDirty("k").error() == Errc::kClosed);
    CHECK_FALSE(world.interposer->IsDirty("k"));
    world.interposer->SafeReply("k", world.Logged("reply"));
    world.interposer->Drain(world.Logged("drain"));
    CHECK(world.log.empty());
  });
  CHECK(world.log ==
        Log{World::Entry("reply", Errc::kClosed), World::Entry("drain", Errc::kClosed)});
}

TEST_CASE("opening takes a fresh epoch, and may be tried again", "[interposer][open]") {
  World world;
  world.store.hold_epochs = true;
  world.interposer->Open(world.Logged("open"));
  world.Turn();
  REQUIRE(world.store.epochs.size() == 1);
  world.store.epochs.front()(Errc::kTransient, 0);
  CHECK(world.log.empty());
  world.Turn();
  CHECK(world.log == Log{World::Entry("open", Errc::kTransient)});
  world.On([&] { CHECK(world.interposer->MarkDirty("k").error() == Errc::kClosed); });

  world.interposer->Open(world.Logged("open"));
  world.Turn();
  world.store.epochs.back()({}, 5);
  world.Turn();
  CHECK(world.log.back() == "open: ok");
  CHECK(world.interposer->epoch() == 5);
}

TEST_CASE("opening ends when the store does not answer, or the interposer is closed",
          "[interposer][open]") {
  EngineOptions options = Plain();
  options.lane.attempt_timeout = std::chrono::milliseconds(1);
  World world(options);
  world.store.hold_epochs = true;
  world.interposer->Open(world.Logged("open"));
  SECTION("no answer") {
    world.RunUntil([&] { return !world.log.empty(); });
    CHECK(world.log == Log{World::Entry("open", Errc::kUnknown)});
  }
  SECTION("closed") {
    world.On([&] { world.interposer->Close(); });
    CHECK(world.log == Log{World::Entry("open", Errc::kClosed)});
  }
  world.store.epochs.front()({}, 1);  // late
  world.Turn();
  CHECK(world.log.size() == 1);
}

TEST_CASE("bad options are reported, not guessed", "[interposer][open]") {
  EngineOptions options = Plain();
  options.lane.max_batch_items = 0;
  World world(options);
  world.interposer->Open(world.Logged("open"));
  world.Turn();
  CHECK(world.log == Log{World::Entry("open", Errc::kBadOptions)});
  CHECK(Interposer::Check(options, world.store.traits()));

  options = {};
  options.lane.prefix_ordering = true;
  options.lane.max_dirty_keys = options.lane.max_batch_items;
  options.lane.max_dirty_bytes = options.lane.max_batch_bytes;
  CHECK(Interposer::Check(options, world.store.traits())->find("atomic") != std::string::npos);
  CHECK_FALSE(Interposer::Check({}, world.store.traits()));
}

TEST_CASE("an owner shuts out the former one before it opens, and names its scope in each write",
          "[interposer][open]") {
  World world;
  world.On([&] { world.interposer->AsyncOpenOwned("range/7", 12, world.Logged("open")); });
  CHECK(world.log.empty());
  REQUIRE(world.store.fences.size() == 1);
  CHECK(world.store.fences.front().scope == "range/7");
  CHECK(world.store.fences.front().epoch == 12);
  world.store.fences.front().handler({});
  world.Turn();
  CHECK(world.log == Log{"open: ok"});
  world.Set("k", "v");
  const auto write = world.store.TakeWrite();
  CHECK(write.batch.scope == "range/7");
  CHECK(write.batch.epoch == 12);
}

TEST_CASE("opening a scope takes a fresh epoch, fences, and names the scope in each write",
          "[interposer][open]") {
  World world;
  world.store.last_epoch = 4;
  world.On([&] { world.interposer->OpenScope("all", world.Logged("open")); });
  REQUIRE(world.store.fences.size() == 1);
  CHECK(world.store.fences.front().scope == "all");
  CHECK(world.store.fences.front().epoch == 5);
  CHECK(world.log.empty());
  SECTION("the fence holds") {
    world.store.fences.front().handler({});
    world.Turn();
    CHECK(world.log == Log{"open: ok"});
    world.Set("k", "v");
    CHECK(world.store.TakeWrite().batch.scope == "all");
  }
  SECTION("another server was quicker") {
    world.store.fences.front().handler(Errc::kFenced);
    world.Turn();
    CHECK(world.log == Log{World::Entry("open", Errc::kFenced)});
  }
}

TEST_CASE("an epoch that comes too late fences nothing", "[interposer][open]") {
  EngineOptions options = Plain();
  options.lane.attempt_timeout = std::chrono::milliseconds(50);
  World world(options);
  world.store.hold_epochs = true;
  world.On([&] { world.interposer->OpenScope("all", world.Logged("first")); });
  world.RunUntil([&] { return !world.log.empty(); });
  CHECK(world.log == Log{World::Entry("first", Errc::kUnknown)});
  world.On([&] { world.interposer->OpenScope("all", world.Logged("second")); });
  REQUIRE(world.store.epochs.size() == 2);
  world.store.epochs[1]({}, 6);
  world.Turn();
  REQUIRE(world.store.fences.size() == 1);
  world.store.epochs[0]({}, 7);
  world.Turn();
  CHECK(world.store.fences.size() == 1);
  world.store.fences.front().handler({});
  world.Turn();
  CHECK(world.log.back() == "second: ok");
  CHECK(world.interposer->epoch() == 6);
}

TEST_CASE("an owner that has a successor does not open", "[interposer][open]") {
  World world;
  world.On([&] { world.interposer->OpenOwned("range/7", 12, world.Logged("open")); });
  world.store.fences.front().handler(Errc::kFenced);
  world.Turn();
  CHECK(world.log == Log{World::Entry("open", Errc::kFenced)});
  world.On([&] { CHECK_FALSE(world.interposer->MarkDirty("k", 1)); });
}

TEST_CASE("a fence that is not answered ends the attempt to open", "[interposer][open]") {
  EngineOptions options = Plain();
  options.lane.attempt_timeout = std::chrono::milliseconds(1);
  World world(options);
  world.On([&] { world.interposer->OpenOwned("range/7", 12, world.Logged("open")); });
  world.RunUntil([&] { return !world.log.empty(); });
  CHECK(world.log == Log{World::Entry("open", Errc::kUnknown)});
  world.store.fences.front().handler({});  // too late
  world.Turn();
  world.On([&] { CHECK_FALSE(world.interposer->MarkDirty("k", 1)); });
}

TEST_CASE("a fence that is answered late does not open what is asked for by then",
          "[interposer][open]") {
  EngineOptions options = Plain();
  options.lane.attempt_timeout = std::chrono::milliseconds(50);
  World world(options);
  world.On([&] { world.interposer->OpenOwned("range/7", 12, world.Logged("first")); });
  world.RunUntil([&] { return !world.log.empty(); });
  world.On([&] { world.interposer->OpenOwned("range/7", 14, world.Logged("second")); });
  world.store.fences.front().handler({});
  world.Turn();
  CHECK(world.log == Log{World::Entry("first", Errc::kUnknown)});
  world.store.fences.back().handler({});
  world.Turn();
  CHECK(world.log.back() == "second: ok");
  CHECK(world.interposer->epoch() == 14);
}

TEST_CASE("an interposer is opened in one way", "[interposer][open]") {
  World world;
  world.On([&] {
    world.interposer->OpenOwned("", 12, world.Logged("no scope"));
    world.interposer->OpenOwned("range/7", 12, world.Logged("first"));
    world.interposer->OpenOwned("range/7", 12, world.Logged("again"));
    world.interposer->OpenOwned("range/8", 12, world.Logged("another scope"));
    world.interposer->Open(world.Logged("no owner"));
  });
  CHECK(world.log == Log{World::Entry("no scope", Errc::kBadOptions),
                         World::Entry("another scope", Errc::kBadOptions),
                         World::Entry("no owner", Errc::kBadOptions)});
  REQUIRE(world.store.fences.size() == 1);
  world.store.fences.front().handler({});
  world.Turn();
  CHECK(Log(world.log.end() - 2, world.log.end()) == Log{"first: ok", "again: ok"});
}

}  // namespace
}  // namespace stout
