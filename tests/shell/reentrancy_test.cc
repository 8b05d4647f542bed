// Handlers that call back, and handlers that throw.

#include <functional>
#include <stdexcept>

#include "stout/interposer.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using Log = World::Log;

void AnswerAll(World& world) {
  while (!world.store.writes.empty()) {
    world.store.TakeWrite().handler({});
    world.Turn();
  }
}

TEST_CASE("a reply may mark, reply, fetch, flush, drain and close", "[reentrancy]") {
  World world(Patient());
  world.Open();
  world.Set("k", "1");
  world.On([&] {
    world.interposer->SafeReply("k", [&](ErrorCode) {
      world.state["k"] = "2";
      CHECK(world.interposer->MarkDirty("k"));
      world.interposer->SafeReply("k", world.Logged("reply"));
      world.interposer->SafeReply("clean", world.Logged("clean"));
      world.interposer->Fetch("k", [&](ErrorCode ec, StoredState state) {
        world.log.push_back("fetch: " + World::Name(ec) + " " + state.value);
      });
      world.interposer->Flush(world.Logged("flush"));
      world.interposer->Drain([&](ErrorCode ec) {
        world.log.push_back("drain: " + World::Name(ec));
        world.interposer->Close();
        world.interposer->SafeReply("k", world.Logged("late"));
      });
      CHECK(world.log.empty());
    });
  });
  AnswerAll(world);
  CHECK(world.log == Log{"clean: ok", "fetch: ok 2", "reply: ok", "flush: ok", "drain: ok",
                         World::Entry("late", Errc::kClosed)});
}

TEST_CASE("a reply that replies again for ever leaves room for others", "[reentrancy]") {
  // Each reply has a turn of its own, also where it can only fail.
  World world;
  const bool open = GENERATE(true, false);
  if (open) world.Open();
  int rounds = 0;
  std::function<void(ErrorCode)> again = [&](ErrorCode) {
    if (++rounds < 100) world.interposer->SafeReply("k", again);
  };
  boost::asio::post(world.interposer->get_executor(),
                    [&] { world.interposer->SafeReply("k", again); });
  int other = 0;
  boost::asio::post(world.context, [&] {
    boost::asio::post(world.context,
                      [&] { boost::asio::post(world.context, [&] { other = rounds; }); });
  });
  world.Turn();
  CHECK(rounds == 100);
  CHECK(other < 100);
}

TEST_CASE("on_refused may restore and change the key again", "[reentrancy]") {
  World world(Patient());
  world.Open();
  world.on_refused = [&] {
    world.state["k"] = "restored";
    CHECK(world.interposer->MarkDirty("k"));
    world.interposer->SafeReply("k", world.Logged("restored"));
  };
  world.Set("k", "bad");
  world.Reply("reply", {"k"});
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  world.Turn();
  REQUIRE(world.store.writes.size() == 1);
  CHECK(world.store.writes[0].batch.items[0].value == "restored");
  AnswerAll(world);
  CHECK(world.log == Log{World::Entry("refused k", Errc::kRefused),
                         World::Entry("reply", Errc::kRefused), "restored: ok"});
}

TEST_CASE("a handler that throws does not cost the others their turn", "[reentrancy]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  const auto boom = [](ErrorCode) { throw std::runtime_error("boom"); };
  world.On([&] {
    world.interposer->SafeReply("k", world.Logged("first"));
    world.interposer->SafeReply("k", boom);
    world.interposer->SafeReply("k", world.Logged("second"));
    world.interposer->SafeReply("k", boom);  // the last of the turn
  });
  world.store.TakeWrite().handler({});
  CHECK_THROWS_WITH(world.Turn(), "boom");
  CHECK(world.log == Log{"first: ok"});
  CHECK_THROWS_WITH(world.Turn(), "boom");
  CHECK(world.log == Log{"first: ok", "second: ok"});

  world.Set("k", "w");  // and all goes on
  world.Reply("third", {"k"});
  AnswerAll(world);
  CHECK(world.log.back() == "third: ok");
  world.Turn();
  CHECK(world.log.size() == 3);
  CHECK(world.context.stopped());
}

TEST_CASE("a callback of the application that throws is not called again, its replies run",
          "[reentrancy]") {
  World world(Patient());
  world.Open();
  world.on_refused = [] { throw std::runtime_error("boom"); };
  world.Set("k", "v");
  world.Reply("reply", {"k"});
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  CHECK_THROWS_WITH(world.Turn(), "boom");
  world.Turn();
  CHECK(world.log ==
        Log{World::Entry("refused k", Errc::kRefused), World::Entry("reply", Errc::kRefused)});
}

}  // namespace
}  // namespace stout
