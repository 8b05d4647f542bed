// Ends in the middle of things: interposers, stores and contexts that go while calls wait, and
// stores that break their word.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <thread>

#include "stout/interposer.h"
#include "stout/write_back_map.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using Log = World::Log;

// One of everything that can wait.
void StartEverything(World& world) {
  world.Set("k", "v");
  world.On([&] {
    world.interposer->SafeReply("k", world.Logged("reply"));
    world.interposer->Flush(world.Logged("flush"));
    world.interposer->Fetch("other", [&](ErrorCode ec, StoredState) {
      world.log.push_back("fetch: " + World::Name(ec));
    });
    world.interposer->Drain(world.Logged("drain"));
  });
  REQUIRE(world.store.writes.size() == 1);
  REQUIRE(world.store.reads.size() == 1);
  REQUIRE(world.log.empty());
}

Log AllFailed() {
  const std::string closed = World::Name(Errc::kClosed);
  return {"reply: " + closed, "flush: " + closed, "fetch: " + closed, "drain: " + closed};
}

TEST_CASE("destroying an interposer closes it: every handler that waits runs", "[lifetime]") {
  World world(Patient());
  world.Open();
  StartEverything(world);
  SECTION("on its strand") {
    world.On([&] { world.interposer.reset(); });
    CHECK(world.log == AllFailed());
  }
  SECTION("while the context does not run") {
    world.interposer.reset();
    CHECK(world.log.empty());
    world.Turn();
    CHECK(world.log == AllFailed());
  }
  // Answers that come now find nobody.
  world.store.TakeWrite().handler({});
  world.store.TakeRead().handler({Errc::kOk, {StoredState{}}});
  world.Turn();
  CHECK(world.log == AllFailed());
  CHECK(world.context.stopped());
}

TEST_CASE("nothing of the application is called once its interposer is destroyed", "[lifetime]") {
  // Its captures are gone with it, though a turn may have been scheduled before.
  World world(Patient());
  world.Open();
  const int before = world.serialized;
  std::string fate;
  boost::asio::post(world.interposer->get_executor(), [&] {
    world.state["k"] = "v";
    REQUIRE(world.interposer->MarkDirty("k"));
    world.interposer->SafeReply("k", [&](ErrorCode ec) { fate = World::Name(ec); });
  });
  world.context.restart();
  world.context.run_one();  // the turn that would serialise it is still to come
  world.interposer.reset();
  world.Turn();
  CHECK(world.serialized == before);
  CHECK(world.store.writes.empty());
  CHECK(fate == World::Name(Errc::kClosed));
  CHECK(world.log.empty());
}

TEST_CASE("a refusal that arrives after the interposer is gone reaches nobody", "[lifetime]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  auto write = world.store.TakeWrite();
  write.handler({Errc::kRefused, {}});  // on its way to the strand
  world.interposer.reset();
  world.Turn();
  CHECK(world.log.empty());
}

TEST_CASE("an interposer may be destroyed by what it calls", "[lifetime]") {
  World world(Patient());
  world.Open();
  const auto destroy = [&, witness = std::make_shared<int>(7)] {
    world.interposer.reset();
    CHECK(*witness == 7);  // the function that runs lives on until it returns
  };
  SECTION("a reply") {
    world.Set("k", "v");
    world.On([&] {
      world.interposer->SafeReply("k", [&](ErrorCode) { world.interposer.reset(); });
      world.interposer->SafeReply("k", world.Logged("next"));
    });
    world.store.TakeWrite().handler({});
    world.Turn();
    CHECK(world.log == Log{"next: ok"});  // durable it is
  }
  SECTION("a reply's destructor") {
    std::shared_ptr<void> bomb(nullptr, [&](void*) { world.interposer.reset(); });
    world.On([&] { world.interposer->SafeReply("k", [bomb](ErrorCode) {}); });
    world.On([&] { world.interposer->SafeReply("k", [bomb = std::move(bomb)](ErrorCode) {}); });
    CHECK_FALSE(world.interposer);
  }
  SECTION("a fetch") {
    world.On([&] {
      world.interposer->Fetch("k", [&](ErrorCode, StoredState) { world.interposer.reset(); });
    });
    world.store.TakeRead().handler({Errc::kOk, {StoredState{}}});
    world.Turn();
    CHECK_FALSE(world.interposer);
  }
  SECTION("on_refused") {
    world.on_refused = destroy;
    world.Set("k", "v");
    world.Reply("reply", {"k"});
    world.store.TakeWrite().handler({Errc::kRefused, {}});
    world.Turn();
    CHECK(world.log ==
          Log{World::Entry("refused k", Errc::kRefused), World::Entry("reply", Errc::kRefused)});
  }
  SECTION("on_fenced") {
    world.on_fenced = destroy;
    world.Set("k", "v");
    world.Reply("reply", {"k"});
    world.store.TakeWrite().handler({Errc::kFenced, {}});
    world.Turn();
    CHECK(world.log == Log{"fenced 0", World::Entry("reply", Errc::kFenced)});
  }
  world.Turn();
  CHECK_FALSE(world.interposer);
  CHECK(world.context.stopped());
}

TEST_CASE("the function that destroys its interposer keeps its captures until it returns",
          "[lifetime]") {
  boost::asio::io_context context;
  ScriptedStore store;
  std::unique_ptr<Interposer> interposer;
  std::string seen;
  interposer = std::make_unique<Interposer>(
      context.get_executor(), store,
      Application{
          .serialize =
              [](KeyView, std::string& out) {
                out = "v";
                return Serialized::kValue;
              },
          .on_refused = {},
          .on_fenced =
              [&, text = std::string("long enough to be kept on the heap, and freed")](LaneId) {
                interposer.reset();
                seen = text;
              }});
  boost::asio::post(interposer->get_executor(), [&] {
    interposer->OpenWithEpoch(1);
    REQUIRE(interposer->MarkDirty("k"));
  });
  context.poll();
  store.TakeWrite().handler({Errc::kFenced, {}});
  context.restart();
  context.run();
  CHECK(seen == "long enough to be kept on the heap, and freed");
}

TEST_CASE("a context may be destroyed with everything under way", "[lifetime]") {
  // Only the sanitizers check: leaks, and uses after destruction.
  const bool started = GENERATE(false, true);
  const bool keep_interposer = GENERATE(false, true);
  const bool answer = GENERATE(false, true);
  World world(Patient());
  world.Open();
  if (started) {
    StartEverything(world);
  } else {
    boost::asio::post(world.interposer->get_executor(), [&] { (void)world.interposer->Stats(); });
  }
  if (!keep_interposer) world.interposer.reset();
  if (answer && started) world.store.TakeWrite().handler({});
}

TEST_CASE("a store may drop its handlers uncalled", "[lifetime]") {
  EngineOptions options = Hasty();
  options.lane.attempt_timeout = std::chrono::milliseconds(1);
  World world(options);
  world.Open();
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  world.store.writes.clear();
  world.RunUntil([&] { return !world.store.writes.empty(); });
  world.RunUntil([&] {
    while (!world.store.writes.empty()) world.store.TakeWrite().handler({});
    return !world.log.empty();
  });
  CHECK(world.log == Log{"reply: ok"});
  world.context.restart();
  world.context.run();  // nor do dropped handlers keep the context running
}

TEST_CASE("a store that answers twice does no harm", "[lifetime]") {
  World world(Patient());
  world.store.hold_epochs = true;
  world.interposer->Open(world.Logged("open"));
  world.Turn();
  world.store.epochs.front()({}, 1);
  world.store.epochs.front()({}, 1);
  world.Turn();
  world.store.epochs.front()({}, 2);
  world.Turn();
  CHECK(world.log == Log{"open: ok"});
  CHECK(world.interposer->epoch() == 1);

  world.Set("k", "1");
  world.Reply("first", {"k"});
  auto write = world.store.TakeWrite();
  write.handler({});
  write.handler({});
  world.Turn();
  world.Set("k", "2");
  world.Reply("second", {"k"});
  write.handler({});
  world.Turn();
  CHECK(world.log == Log{"open: ok", "first: ok"});

  world.On([&] {
    world.interposer->Fetch("other", [&](ErrorCode, StoredState) { world.log.push_back("fetch"); });
  });
  auto read = world.store.TakeRead();
  read.handler({Errc::kOk, {StoredState{}}});
  read.handler({Errc::kOk, {StoredState{}}});
  world.Turn();
  CHECK(world.log == Log{"open: ok", "first: ok", "fetch"});
}

TEST_CASE("a context that ends takes along what its interposers would have called", "[lifetime]") {
  // Each handler owns the interposer that keeps it. That none leaks, LeakSanitizer says, too.
  auto context = std::make_unique<boost::asio::io_context>();
  auto store = std::make_unique<ScriptedStore>(1);
  auto interposer = std::make_shared<Interposer>(
      context->get_executor(), *store,
      Application{.serialize = [](KeyView, std::string&) { return Serialized::kAbsent; }},
      Patient());
  const auto owning = [&](auto... what) { return [interposer](ErrorCode, decltype(what)...) {}; };
  const std::weak_ptr<Interposer> fate = interposer;

  SECTION("in the end of opening") {
    store->hold_epochs = true;
    interposer->Open(owning());
    context->poll();
  }
  SECTION("while the store works, and before it is told of more") {
    const bool told = GENERATE(true, false);
    interposer->OpenWithEpoch(1);
    boost::asio::post(interposer->get_executor(), [&] {
      REQUIRE(interposer->MarkDirty("k"));
      interposer->SafeReply("k", owning());
      interposer->Fetch("other", owning(StoredState{}));
      interposer->Flush(owning());
      interposer->Drain(owning());
    });
    told ? context->poll() : context->run_one();
    CHECK(store->writes.size() == (told ? 1 : 0));
  }
  SECTION("in a turn that would run them") {
    boost::asio::post(interposer->get_executor(), [&] { interposer->SafeReply("k", owning()); });
    context->run_one();
  }
  interposer.reset();
  CHECK_FALSE(fate.expired());
  store.reset();
  context.reset();
  CHECK(fate.expired());
}

TEST_CASE("a store may answer inside the call", "[lifetime]") {
  World world(Patient());
  world.store.answer_writes_inline = true;
  world.Open();
  for (int i = 0; i < 3; ++i) {
    world.Set("k", "v");
    world.Reply("reply", {"k"});
  }
  CHECK(world.log == Log{"reply: ok", "reply: ok", "reply: ok"});
}

TEST_CASE("a store may answer from a thread of its own, also after the interposer is gone",
          "[lifetime]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  world.On([&] {
    world.interposer->Fetch("other", [&](ErrorCode ec, StoredState) {
      world.log.push_back("fetch: " + World::Name(ec));
    });
  });
  std::thread answers([write = world.store.TakeWrite(), read = world.store.TakeRead()]() mutable {
    write.handler({});
    read.handler({Errc::kOk, {StoredState{}}});
  });
  SECTION("in time") {
    world.RunUntil([&] { return world.log.size() == 2; });
  }
  SECTION("late") {
    world.On([&] { world.interposer.reset(); });
    world.RunUntil([&] { return world.log.size() == 2; });
  }
  answers.join();
  world.Turn();
  CHECK(world.log.size() == 2);
}

TEST_CASE("a store on another thread opens an interposer on this one", "[lifetime]") {
  World world;
  world.store.hold_epochs = true;
  world.interposer->Open(world.Logged("open"));  // from a thread that is not on the strand
  world.Turn();
  std::thread answers([&] { world.store.epochs.front()({}, 3); });
  world.RunUntil([&] { return !world.log.empty(); });
  answers.join();
  CHECK(world.log == Log{"open: ok"});
  CHECK(world.interposer->epoch() == 3);
}

}  // namespace
}  // namespace stout
