// Changes that a member of a ReplicatedMap refuses.
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

TEST_CASE("a change that one member refuses is undone at all members", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  // Longer than a busy machine stops this thread: a refusal that comes late is none.
  options.member_timeout = std::chrono::seconds(1);
  options.engine.lane.attempt_timeout = std::chrono::seconds(1);
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  const bool always = GENERATE(false, true);
  int refused = 0;
  world.refuse = [&](MemberIndex m, KeyView key) {
    return m == 1 && key == "k" && (always || refused == 0) && ++refused > 0;
  };
  CHECK(world.Put(map, "k", "2") == Errc::kRefused);
  // It leaves if it refuses even what it has.
  if (always) world.RunUntil([&] { return !world.IsIn(1) && !map.Stats().members[1].in; });
  CHECK(world.Get(map, "k") == "1");
  CHECK(world.IsIn(1) != always);
  CHECK(world.StatesOf(0).at("k").value == "1");
  CHECK(world.StatesOf(1).at("k").value == "1");
  world.refuse = {};
  CHECK_FALSE(world.Put(map, "k", "3"));
  world.RunUntil([&] { return world.IsSettled(map); });
  CHECK(world.StatesOf(1) == world.StatesOf(0));
}

/// Waits until a mark is durable. Then nothing is under way.
void AwaitMark(ReplicaWorld& world, ReplicatedMap& map) {
  world.RunUntil([&] { return map.Stats().mark > 0; });
  CHECK_FALSE(world.Await([&](auto done) {
    boost::asio::post(map.get_executor(),
                      [&, done = std::move(done)]() mutable { map.Flush(std::move(done)); });
  }));
}

TEST_CASE("a refused value is not shown if it cannot be undone", "[replicated]") {
  ReplicaWorld world(1);
  world.want = {"store-0"};
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::hours(1);
  options.engine.lane.attempt_timeout = std::chrono::hours(1);
  options.engine.lane.max_dirty_bytes = 1000;
  ReplicatedMap& map = world.Open(options);
  const std::string former(600, '1');
  CHECK_FALSE(world.Put(map, "k", former));
  AwaitMark(world, map);
  world.refuse = [&](MemberIndex, KeyView key) {
    if (key != "k") return false;
    world.stores[0]->HoldWrites();
    return true;
  };
  world.stores[0]->HoldWrites();
  std::optional<ErrorCode> answer;
  std::optional<ErrorCode> other;
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return world.stores[0]->waiting() > 0; });
  world.Begin(map, "j", std::string(600, '3'), other);  // no room is left for what was there
  world.stores[0]->Open();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kRefused);
  CHECK(world.Get(map, "k") == former);
  CHECK_FALSE(other);
  world.stores[0]->Open();
  world.RunUntil([&] { return other.has_value(); });
  CHECK_FALSE(*other);
  CHECK(world.StatesOf(0).at("k").value == former);
}

TEST_CASE("no mark covers a change that one member has and another one refused", "[replicated]") {
  ReplicaWorld world(2);
  world.want = {"store-0", "store-1"};
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::hours(1);
  options.engine.lane.attempt_timeout = std::chrono::hours(1);
  ReplicatedMap& map = world.Open(options);
  CHECK_FALSE(world.Put(map, "k", "1"));
  AwaitMark(world, map);
  world.refuse = [&](MemberIndex m, KeyView key) {
    if (m != 1 || key != "k" || world.StatesOf(0).at("k").value != "2") return false;
    world.stores[1]->Shut();  // the read of the former state waits
    return true;
  };
  const Version before = map.Stats().version;
  std::optional<ErrorCode> answer;
  world.stores[1]->Shut();
  world.Begin(map, "k", "2", answer);
  world.RunUntil([&] { return world.StatesOf(0).at("k").value == "2"; });
  world.stores[1]->Open();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK(*answer == Errc::kRefused);
  bool waited = false;  // for longer than two intervals of marks
  boost::asio::steady_timer timer(world.context, std::chrono::milliseconds(300));
  timer.async_wait([&](ErrorCode) { waited = true; });
  world.RunUntil([&] { return waited; });
  CHECK(map.Stats().mark <= before);
  world.refuse = {};
  world.stores[1]->Open();
  world.RunUntil([&] { return map.Stats().mark > before; });
  CHECK(world.Get(map, "k") == "1");
  CHECK(world.StatesOf(0) == world.StatesOf(1));
}

}  // namespace
}  // namespace stout
