#include "tests/sim/world_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "stout/sim/random.h"
#include "tests/sim/scripted_policy.h"

namespace stout::sim {
namespace {

using namespace std::chrono_literals;

/// Each rule is absent from half of the decisions, so that each is seen alone and with others.
Decision DeriveDecision(Random& random) {
  Decision decision;
  if (random.Chance(500)) decision.interval = random.Between(1ms, 50ms);
  if (random.Chance(500)) decision.gap = random.Between(1ms, 30ms);
  if (random.Chance(400)) decision.tick = random.Pick<Duration>({3ms, 10ms, 40ms});
  if (random.Chance(500)) decision.window = random.Between(2, 5);
  if (random.Chance(300)) decision.max_items = random.Between(1, 6);
  if (random.Chance(300)) decision.full_window = random.Between(1, 6);
  if (random.Chance(500)) decision.probe = random.Between(1, 3);
  return decision;
}

Policy DerivePolicy(Random& random) {
  switch (random.Below(8)) {
    case 0:
      return Unbatched{};
    case 1:
      return Fixed{.interval = random.Between(1ms, 100ms)};
    case 2:
      return Natural{.window = random.Between(2, 5)};
    case 3:
      return Tick{.interval = random.Between(1ms, 50ms)};
    case 4:
      return Gap{.gap = random.Between(1ms, 50ms)};
    case 5:
    case 6:
      return Scripted{{DeriveDecision(random)}};
    default:
      return Natural{};
  }
}

EngineOptions DeriveEngine(Random& random, std::uint32_t keys) {
  EngineOptions options;
  LaneOptions& lane = options.lane;
  lane.write_policy = DerivePolicy(random);
  lane.read_policy = DerivePolicy(random);
  if (random.Chance(250)) {  // a policy that changes its mind
    lane.write_policy =
        Scripted{{DeriveDecision(random), DeriveDecision(random), DeriveDecision(random)}};
  }
  lane.prefix_ordering = random.Chance(250);
  lane.max_dirty_keys = random.Chance(300) ? random.Between(1, keys) : 1000;
  lane.max_dirty_bytes = random.Chance(300) ? random.Between(20, 200) : 1'000'000;
  lane.max_delay = random.Between(5ms, 500ms);
  lane.max_batch_items = random.Chance(500) ? random.Between(1, 6) : 1000;
  lane.max_batch_bytes = random.Chance(500) ? random.Between(30, 200) : 1'000'000;
  if (lane.prefix_ordering) {
    lane.max_batch_items = std::max(lane.max_batch_items, lane.max_dirty_keys);
    lane.max_batch_bytes = std::max(lane.max_batch_bytes, lane.max_dirty_bytes);
  }
  lane.max_batches_in_flight = random.Chance(300) ? random.Between(1, 3) : 64;
  lane.max_pending_reads = random.Chance(200) ? random.Between(1, keys) : 1000;
  lane.attempt_timeout = random.Between(30ms, 400ms);
  lane.retry_first = random.Between(1ms, 20ms);
  lane.retry_cap = lane.retry_first * static_cast<int>(random.Between(1, 32));
  options.max_replies = random.Chance(200) ? random.Between(1, 6) : 1000;
  options.reply_deadline = random.Chance(500) ? random.Between(20ms, 300ms) : 5s;
  options.seed = random.Below(1000);
  return options;
}

/// Each fault is absent from about half of the worlds, so that each is seen alone and with others.
FaultRates DeriveFaults(Random& random, bool calm) {
  FaultRates faults;
  if (calm) return faults;
  const auto rate = [&](std::uint64_t most) {
    return random.Chance(500) ? random.Between(1, most) : 0;
  };
  faults.lose_request = rate(100);
  faults.lose_answer = rate(100);
  faults.apply_late = rate(150);
  faults.apply_twice = rate(100);
  faults.answer_twice = rate(100);
  faults.transient = rate(200);
  faults.unknown = rate(150);
  faults.partial = rate(200);
  faults.refused = rate(50);
  faults.unserialisable = rate(30);
  faults.crash_server = rate(20);
  faults.crash_store = rate(20);
  faults.other_server = rate(15);
  faults.clock_jump = rate(20);
  return faults;
}

}  // namespace

WorldOptions DeriveWorld(std::uint64_t seed) {
  Random random(seed);
  WorldOptions world;
  world.seed = seed;
  world.keys = static_cast<std::uint32_t>(random.Between(1, 10));
  world.lanes = random.Chance(300) ? static_cast<LaneId>(random.Between(2, 3)) : 1;
  world.max_value_bytes = random.Pick<std::uint64_t>({8, 20, 60});
  world.engine = DeriveEngine(random, world.keys);

  world.steps = static_cast<std::uint32_t>(random.Between(40, 200));
  world.mean_pause = random.Pick<Duration>({200us, 2ms, 10ms});
  world.flush = random.Chance(500) ? random.Between(1, 60) : 0;
  world.drain = random.Chance(300) ? 5 : 0;
  world.close = random.Chance(300) ? 5 : 0;
  world.fetch = random.Chance(700) ? random.Between(10, 300) : 0;
  world.erase = random.Chance(300) ? 100 : 0;

  const bool prefix = world.engine.lane.prefix_ordering;
  world.atomic_batches = prefix || random.Chance(400);
  world.refusal_fails_batch = random.Chance(500);
  world.store_max_items = !prefix && random.Chance(300) ? random.Between(1, 5) : 1'000'000;
  world.store_max_bytes = !prefix && random.Chance(200) ? random.Between(40, 120) : 1'000'000;
  world.min_latency = random.Between(100us, 3ms);
  world.max_latency = world.min_latency * static_cast<int>(random.Between(1, 8));
  world.poison = !prefix && random.Chance(150);
  world.faults = DeriveFaults(random, random.Chance(150));
  return world;
}

std::string Describe(const WorldOptions& world) {
  const LaneOptions& lane = world.engine.lane;
  const FaultRates& f = world.faults;
  return fmt::format(
      "seed {}: {} keys, {} lanes, values to {} bytes, {} steps every {}\n"
      "  write {}, read {}, prefix_ordering {}, deadline {}, max_replies {}\n"
      "  max: dirty {} keys {} bytes, delay {}, batch {} items {} bytes, in flight {}, reads {}\n"
      "  attempt_timeout {}, retry {} to {}\n"
      "  flush {} drain {} close {} fetch {} erase {} (per thousand)\n"
      "  store: atomic {} (refusal fails batch {}), takes {} items {} bytes, {} to {}, poison {}\n"
      "  faults (per thousand): lose request {} answer {}, late {}, twice {} answered {}, "
      "transient {}, unknown {}, partial {}, refused {}, unserialisable {}, crash server {} store "
      "{}, other server {}, clock {}\n",
      world.seed, world.keys, world.lanes, world.max_value_bytes, world.steps,
      FormatDuration(world.mean_pause), lane.write_policy.Name(), lane.read_policy.Name(),
      lane.prefix_ordering, FormatDuration(world.engine.reply_deadline), world.engine.max_replies,
      lane.max_dirty_keys, lane.max_dirty_bytes, FormatDuration(lane.max_delay),
      lane.max_batch_items, lane.max_batch_bytes, lane.max_batches_in_flight,
      lane.max_pending_reads, FormatDuration(lane.attempt_timeout),
      FormatDuration(lane.retry_first), FormatDuration(lane.retry_cap), world.flush, world.drain,
      world.close, world.fetch, world.erase, world.atomic_batches, world.refusal_fails_batch,
      world.store_max_items, world.store_max_bytes, FormatDuration(world.min_latency),
      FormatDuration(world.max_latency), world.poison, f.lose_request, f.lose_answer, f.apply_late,
      f.apply_twice, f.answer_twice, f.transient, f.unknown, f.partial, f.refused, f.unserialisable,
      f.crash_server, f.crash_store, f.other_server, f.clock_jump);
}

}  // namespace stout::sim
