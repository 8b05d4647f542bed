// The navigation against the three patterns of Figure 5, and against shards whose speed follows
// their layers.

#include "blowfish/server/navigator.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "navigator_world.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

using namespace std::chrono_literals;
using World = NavigatorWorld;

using Move = Navigation::Move;

// The reports of an idle shard and of an overloaded one.
ShardState IdleShard(std::uint64_t finest) {
  return {.layers = 1, .bytes = finest, .next_bytes = {finest}, .finest_bytes = finest};
}
ShardState Overloaded(std::uint64_t next, std::uint64_t queue = 1000) {
  return {.reads = 1, .queue = queue, .answered = 100, .next_bytes = {next}};
}

TEST_CASE("a short spike moves nothing", "[navigator]") {
  World world({.budget = 1000}, 1);
  world.Run(5s);
  for (int i = 0; i < 10; ++i) {
    world.Spike(0, 50);  // half a second of work
    world.Run(5s);
  }
  CHECK(world.moves().empty());
}

TEST_CASE("a longer spike and a plateau are answered with layers until they are served",
          "[navigator]") {
  World world({.budget = 1000}, 1);
  world.Load(0, 2.9);  // times what it serves without layers
  world.Run(60s);
  CHECK(world.layers(0) == 2);
  CHECK(world.queue(0) == 0);
  CHECK(world.moves().size() == 1);
  // It keeps its layers, because no other shard needs the memory.
  world.Load(0, 0);
  world.Run(60s);
  CHECK(world.layers(0) == 2);
}

TEST_CASE(
    "a load of many times what a shard serves is followed soon, by as many layers as it takes",
    "[navigator]") {
  const auto [load, layers] =
      GENERATE(table<double, std::size_t>({{1.4, 1}, {2.8, 2}, {5.6, 3}, {11.2, 4}}));
  CAPTURE(load);
  World world({.budget = 1000}, 1);
  world.Load(0, 0.4);
  world.Run(30s);
  REQUIRE(world.moves().empty());
  world.Load(0, load);
  world.Run(700ms);
  // The moves come before any layer serves. So none is ordered twice for what the first will do.
  CHECK(world.moves().size() == 1);
  CHECK(world.layers(0) == layers);
  world.Run(60s);
  CHECK(world.moves().size() == 1);
  CHECK(world.queue(0) == 0);
}

TEST_CASE("layers that turn out to be too few get more after they have served for a dwell",
          "[navigator]") {
  World world({.budget = 1000}, 1);
  world.Load(0, 1.4);
  world.Run(900ms);
  REQUIRE(world.layers(0) == 1);
  world.Load(0, 5.6);
  world.Run(1s);  // It is filled, and serves for less than a second.
  CHECK(world.layers(0) == 1);
  world.Run(500ms);
  CHECK(world.layers(0) == 3);
}

TEST_CASE("an overloaded shard gets the layers of one that is idle, also between bursts",
          "[navigator]") {
  const double burst = GENERATE(0, 1000);
  World world({.budget = 2 * World::kLayerBytes}, 2);
  world.Load(0, 2.9);
  world.Run(60s);
  REQUIRE(world.layers(0) == 2);
  world.Load(0, burst > 0 ? 0.1 : 0);
  world.Burst(0, burst);
  world.Load(1, 2.9);
  world.Run(60s);
  CHECK(world.layers(0) == 0);
  CHECK(world.layers(1) == 2);
  CHECK(world.queue(1) == 0);
}

TEST_CASE("clients that wait for each answer get layers though the queue stays short",
          "[navigator]") {
  World world({.budget = 1000}, 1);
  world.Clients(0, 16, 6);
  world.Run(60s);
  CHECK(world.queue(0) == 0);
  // They ask 2 to 3 times an interval. A shard with one layer serves 2 reads then, with two 4.
  CHECK(world.layers(0) == 2);
  CHECK(world.moves().size() == 2);
}

TEST_CASE("writes get no layer, however long their queue is", "[navigator]") {
  World world({.budget = 1000}, 1);
  world.Writes(0, 10'000);
  world.Run(60s);
  CHECK(world.moves().empty());
  // Negative control: reads do.
  world.Writes(0, 0);
  world.Load(0, 3);
  world.Run(10s);
  CHECK_FALSE(world.moves().empty());
}

TEST_CASE("a shard that waits for something else than its worker gets no layer", "[navigator]") {
  World world({.budget = World::kLayerBytes}, 1);
  world.Load(0, 0.1);
  world.Burst(0, 1000);
  world.Run(60s);
  CHECK(world.moves().empty());
}

TEST_CASE("two shards that need the same layer do not take it from each other", "[navigator]") {
  World world({.budget = World::kLayerBytes}, 2);
  world.Load(0, 1.5);
  world.Load(1, 1.5);
  world.Run(600s);
  CHECK(world.layers(0) + world.layers(1) == 1);
  const auto removals = std::ranges::count(world.moves(), Move::kRemove, &Navigation::move);
  CHECK(removals == 0);
  CHECK(std::ranges::count(world.moves(), Move::kNoBudget, &Navigation::move) > 0);
}

TEST_CASE("a shard gives a layer up only while reads take little of its time", "[navigator]") {
  Navigator navigator({.budget = 100, .beta = 0.5}, 2, TimePoint());
  TimePoint now;
  const auto move = [&](double reads) {
    std::vector<ShardState> shards = {IdleShard(100), Overloaded(100, 0)};
    shards[0].reads = reads;
    now += 10ms;
    const auto moves = navigator.Observe(now, shards);
    return moves.empty() ? std::nullopt : std::optional(moves.front());
  };
  // Its load is 0.5, 0.5, 0.3, 0.2; the other's 0.5, 0.75, 0.875, 0.9375.
  CHECK(move(1) == std::nullopt);
  CHECK(move(0.5) == std::nullopt);
  CHECK(move(0.1) == Navigation{Move::kNoBudget, 1, 0.875});
  CHECK(move(0.1) == Navigation{Move::kRemove, 0, 0.2});
}

TEST_CASE("whatever the load, the budget holds and moves are rare", "[navigator][long]") {
  const auto seeds = std::min<std::uint64_t>(stout::test::Rounds("STOUT_SEEDS", 12), 1000);
  const auto seed = GENERATE_COPY(range<std::uint64_t>(1, 1 + seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::size_t shards = 1 + random.Below(6);
  const NavigationOptions options{.budget = random.Below(10) * World::kLayerBytes};
  World world(options, shards);
  for (std::size_t s = 0; s < shards; ++s) world.Late(s, random.Below(random.Below(2) ? 5 : 500));
  const int changes = 20;
  for (int i = 0; i < changes; ++i) {
    world.Load(random.Below(shards), static_cast<double>(random.Below(20)));
    world.Run(10s);
  }
  CHECK(world.within_budget());
  // A shard changes once a dwell at most.
  std::vector<std::size_t> changes_of(shards);
  for (const Navigation& n : world.moves()) changes_of[n.shard] += n.move != Move::kNoBudget;
  for (const std::size_t count : changes_of) {
    CHECK(count <= static_cast<std::size_t>(changes * 10s / options.dwell) + 1);
  }
}

TEST_CASE("layers that a merge has made larger go until the budget holds again", "[navigator]") {
  World world({.budget = 4 * World::kLayerBytes}, 2);
  world.Load(0, 0.7 * 2);
  world.Load(1, 0.7 * 4);
  world.Run(60s);
  REQUIRE(world.layers(0) == 1);
  REQUIRE(world.layers(1) == 2);
  // None of the shards is idle.
  world.Merge(0, 2 * World::kLayerBytes);
  world.Merge(1, 2 * World::kLayerBytes);
  world.Run(1s);
  CHECK(world.bytes() <= 4 * World::kLayerBytes);
  CHECK(world.layers(0) + world.layers(1) == 2);
  world.Merge(0, 20 * World::kLayerBytes);
  world.Merge(1, 20 * World::kLayerBytes);
  world.Run(1s);
  CHECK(world.bytes() == 0);
}

TEST_CASE("steady load comes to rest", "[navigator][long]") {
  const auto seeds = std::min<std::uint64_t>(stout::test::Rounds("STOUT_SEEDS", 5), 300);
  const auto seed = GENERATE_COPY(range<std::uint64_t>(0, seeds));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::size_t shards = 1 + random.Below(6);
  World world({.budget = (1 + random.Below(12)) * World::kLayerBytes}, shards);
  for (std::size_t s = 0; s < shards; ++s)
    world.Load(s, 0.9 * static_cast<double>(random.Below(20)));
  world.Run(300s);
  const auto changed = [&] {
    return std::ranges::count_if(world.moves(),
                                 [](const Navigation& n) { return n.move != Move::kNoBudget; });
  };
  const auto before = changed();
  world.Run(600s);
  CHECK(changed() == before);
}

using Expected = std::vector<std::pair<Move, std::size_t>>;

// The moves of a first look; with a beta of 1 all that is seen is its own average.
Expected Moves(NavigationOptions options, const std::vector<ShardState>& shards) {
  options.beta = 1;
  Navigator navigator(options, shards.size(), TimePoint());
  Expected moves;
  for (const Navigation& n : navigator.Observe(TimePoint() + 10ms, shards)) {
    moves.emplace_back(n.move, n.shard);
  }
  return moves;
}

TEST_CASE("no shard loses a layer in vain", "[navigator]") {
  // All that can be spared, 200, is not enough.
  CHECK(Moves({.budget = 200}, {IdleShard(100), IdleShard(100), Overloaded(201)}) ==
        Expected{{Move::kNoBudget, 2}});
  // The large one alone is enough.
  CHECK(Moves({.budget = 1100}, {IdleShard(100), IdleShard(1000), Overloaded(1000)}) ==
        Expected{{Move::kRemove, 1}});
}

TEST_CASE("a layer comes when the one that it replaces has gone", "[navigator]") {
  Navigator navigator({.budget = 100, .beta = 1}, 2, TimePoint());
  TimePoint now;
  std::vector<ShardState> shards = {IdleShard(100), Overloaded(100)};
  const auto look = [&] {
    Expected moves;
    for (const Navigation& n : navigator.Observe(now += 10ms, shards))
      moves.emplace_back(n.move, n.shard);
    return moves;
  };
  CHECK(look() == Expected{{Move::kRemove, 0}});
  shards[0].moving = true;
  CHECK(look().empty());
  shards[0] = {.next_bytes = {100}};
  CHECK(look() == Expected{{Move::kAdd, 1}});
  // The shard does not say yet that it has the layer, and the other one needs it, too.
  shards[1].moving = true;
  shards[0] = Overloaded(100);
  now += 1h;
  CHECK(look() == Expected{{Move::kNoBudget, 0}});
}

TEST_CASE("the shards with the smallest loads lose layers that the budget has no room for",
          "[navigator]") {
  ShardState busy{
      .reads = 0.9, .layers = 2, .bytes = 200, .next_bytes = {100}, .finest_bytes = 100};
  ShardState half = busy;
  half.reads = 0.5;
  CHECK(Moves({.budget = 400}, {busy, half}) == Expected{{Move::kNoBudget, 0}});
  CHECK(Moves({.budget = 399}, {busy, half}) == Expected{{Move::kRemove, 1}, {Move::kNoBudget, 0}});
  CHECK(Moves({.budget = 200}, {busy, half}) == Expected{{Move::kRemove, 1}, {Move::kRemove, 0}});
  // A layer that is about to go is no reason to remove another one.
  Navigator navigator({.budget = 300, .beta = 1}, 2, TimePoint());
  CHECK(navigator.Observe(TimePoint() + 10ms, std::vector{half, half}).size() == 1);
  half.moving = true;
  CHECK(navigator.Observe(TimePoint() + 1h, std::vector{half, half}).empty());
}

TEST_CASE("a layer that is too large for the budget keeps no shard from a smaller one",
          "[navigator]") {
  CHECK(Moves({.budget = 100}, {Overloaded(101, 2000), Overloaded(100, 1000)}) ==
        Expected{{Move::kNoBudget, 0}, {Move::kAdd, 1}});
  CHECK(Moves({.budget = 100}, {IdleShard(100), Overloaded(101, 2000), Overloaded(100, 1000)}) ==
        Expected{{Move::kNoBudget, 1}, {Move::kRemove, 0}});
  // If several shards are refused, the refusal of the neediest shard is reported.
  CHECK(Moves({.budget = 10}, {Overloaded(100, 1000), Overloaded(100, 2000)}) ==
        Expected{{Move::kNoBudget, 1}});
}

TEST_CASE("a shard gets as many layers as the budget has room for", "[navigator]") {
  ShardState shard = Overloaded(0, 700);  // eight times what it answers
  shard.next_bytes = {100, 300, 400, 700};
  const auto layers_for = [&](std::uint64_t budget) {
    Navigator navigator({.budget = budget, .beta = 1}, 1, TimePoint());
    const auto moves = navigator.Observe(TimePoint() + 10ms, std::span(&shard, 1));
    REQUIRE(moves.size() == 1);
    return moves.front().move == Move::kAdd ? moves.front().layers : 0;
  };
  CHECK(layers_for(1000) == 4);
  CHECK(layers_for(699) == 3);
  CHECK(layers_for(300) == 2);
  CHECK(layers_for(299) == 1);
  CHECK(layers_for(99) == 0);
  shard.next_bytes = {100, 300, 300, 300};  // There are no more.
  CHECK(layers_for(1000) == 2);
}

TEST_CASE("a request that takes long is no load of several shards", "[navigator]") {
  Navigator navigator({.budget = 1000}, 1, TimePoint());
  TimePoint now;
  std::uint64_t waiting = 0;
  std::size_t moves = 0;
  // It takes 0.4 s of each second.
  for (int look = 0; look < 6000; ++look) {
    const bool answered = look % 100 == 39;
    if (look % 100 == 0) ++waiting;
    if (answered) --waiting;
    const ShardState state{.reads = look % 100 < 40 ? 1.0 : 0.0,
                           .queue = waiting,
                           .answered = answered,
                           .next_bytes = {100, 200, 300, 400}};
    moves += navigator.Observe(now += 10ms, std::span(&state, 1)).size();
  }
  CHECK(moves == 0);
}

TEST_CASE("a shard gets no layer while layers are being filled", "[navigator]") {
  ShardState shard = Overloaded(100);
  shard.filling = true;
  CHECK(Moves({.budget = 1000}, {shard}).empty());
  shard.filling = false;
  CHECK(Moves({.budget = 1000}, {shard}) == Expected{{Move::kAdd, 0}});
}

TEST_CASE("without a dwell a shard moves once a look, too", "[navigator]") {
  CHECK(Moves({.budget = 300, .dwell = 0s},
              {{.layers = 3, .bytes = 300, .next_bytes = {100}, .finest_bytes = 100},
               Overloaded(200)}) == Expected{{Move::kNoBudget, 1}});
  CHECK(Moves({.budget = 100, .dwell = 0s}, {IdleShard(100), Overloaded(100), Overloaded(100)}) ==
        Expected{{Move::kRemove, 0}, {Move::kNoBudget, 2}});
}

TEST_CASE("options that make no sense are told by name", "[navigator]") {
  CHECK_FALSE(Validate(NavigationOptions()));
  CHECK_FALSE(Validate({.beta = 1, .lower = 0, .dwell = 0s}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto told = [](const NavigationOptions& options, const std::string& name) {
    const auto error = Validate(options);
    return error && error->find(name) != std::string::npos;
  };
  CHECK(told({.interval = 0s}, "interval"));
  CHECK(told({.beta = 0}, "beta"));
  CHECK(told({.beta = 1.1}, "beta"));
  CHECK(told({.beta = nan}, "beta"));
  CHECK(told({.upper = 0}, "upper"));
  CHECK(told({.upper = 1}, "upper"));
  CHECK(told({.upper = nan}, "upper"));
  CHECK(told({.upper = 0.5, .lower = 0.5}, "lower"));
  CHECK(told({.lower = -0.1}, "lower"));
  CHECK(told({.lower = nan}, "lower"));
  CHECK(told({.dwell = -1s}, "dwell"));
}

}  // namespace
}  // namespace stout::blowfish
