// Members of a ReplicatedMap that lose their data.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/shell/replica_world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

/// No member leaves because it is slow, and transactions wait for Release.
ReplicatedMap& OpenPatient(ReplicaWorld& world, bool strong) {
  ReplicatedMapOptions options = ReplicaWorld::Quick();
  options.member_timeout = std::chrono::hours(1);
  options.engine.lane.attempt_timeout = std::chrono::hours(1);
  options.strong = strong;
  ReplicatedMap& map = world.Open(options);
  world.RunUntil([&] { return world.IsSettled(map) && map.Stats().strong == strong; });
  world.registry.holds = true;
  return map;
}

/// Waits until the owner asks for the leave of member 1.
void AwaitLeave(ReplicaWorld& world) {
  world.RunUntil([&] { return !world.registry.held.empty(); });
  CHECK_FALSE(world.registry.held.front().record().members[1].in);
}

TEST_CASE("writes wait until a member that lost its data has left, and succeed", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = OpenPatient(world, true);
  world.Lose(1);
  std::vector<std::optional<ErrorCode>> answers(2);
  world.Begin(map, "before", "v", answers[0]);
  AwaitLeave(world);
  world.Begin(map, "after", "v", answers[1]);
  std::optional<ErrorCode> read;  // not at the member that lost its data
  world.On(map, [&] {
    map.Get("other", [&](ErrorCode ec, const ReplicatedMap::Entry&) { read = ec; });
  });
  world.RunUntil([&] { return read.has_value(); });
  CHECK_FALSE(*read);
  CHECK_FALSE(answers[0]);
  CHECK_FALSE(answers[1]);
  world.registry.Release();
  world.RunUntil([&] { return answers[0] && answers[1]; });
  CHECK_FALSE(*answers[0]);
  CHECK_FALSE(*answers[1]);
  CHECK(world.StatesOf(0).at("after").value == "v");
  CHECK(world.StatesOf(2) == world.StatesOf(0));
}

TEST_CASE("reads under way at a member that lost its data are answered by others", "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = OpenPatient(world, true);
  for (const auto& store : world.stores) store->Shut();
  std::vector<std::string> found;
  world.On(map, [&] {
    for (const char* key : {"a", "b", "c"}) {  // one at each member
      map.Get(key, [&](ErrorCode ec, const ReplicatedMap::Entry&) {
        found.push_back(ec ? ec.message() : "-");
      });
    }
  });
  world.RunUntil([&] { return world.stores[1]->waiting() > 0; });
  world.Lose(1);
  for (const auto& store : world.stores) store->Open();
  AwaitLeave(world);
  world.registry.Release();
  world.RunUntil([&] { return found.size() == 3; });
  CHECK(found == std::vector<std::string>(3, "-"));
}

TEST_CASE("in mode ec a member that lost its data has nothing that an answer reveals",
          "[replicated]") {
  ReplicaWorld world;
  ReplicatedMap& map = OpenPatient(world, false);
  for (const MemberIndex m : {0, 2}) world.stores[m]->HoldWrites();
  world.Lose(1);
  std::optional<ErrorCode> answer;
  world.On(map, [&] { CHECK(map.Put("k", "v").has_value()); });
  AwaitLeave(world);
  const KeyView key = "k";
  world.On(map, [&] { map.SafeReply({&key, 1}, [&](ErrorCode ec) { answer = ec; }); });
  world.Turn();
  CHECK_FALSE(answer);
  world.stores[0]->Open();
  world.RunUntil([&] { return answer.has_value(); });
  CHECK_FALSE(*answer);
  CHECK(world.StatesOf(0).at("k").value == "v");
}

TEST_CASE("the last member that loses its data ends the range", "[replicated]") {
  ReplicaWorld world(1);
  world.want = {"store-0"};
  ReplicatedMap& map = OpenPatient(world, true);
  world.Lose(0);
  CHECK(world.Put(map, "k", "v") == Errc::kFenced);
  CHECK(world.why == GivenUp::kLost);
}

}  // namespace
}  // namespace stout
