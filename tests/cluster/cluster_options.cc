#include "tests/cluster/cluster_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "stout/sim/random.h"
#include "tests/cluster/datalet_model.h"

namespace stout::sim {
namespace {

using namespace std::chrono_literals;

/// Each fault is absent from about half of the worlds, so that each is seen alone and with others.
ClusterFaults DeriveFaults(Random& random) {
  ClusterFaults faults;
  const auto rate = [&](std::uint64_t most) {
    return random.Chance(500) ? random.Between(1, most) : 0;
  };
  faults.lose = rate(60);
  faults.late = rate(60);
  faults.twice = rate(100);
  faults.pause_node = rate(40);
  faults.crash_node = rate(20);
  faults.crash_datalet = rate(30);
  faults.empty_datalet = rate(20);
  faults.cut_link = rate(40);
  faults.slow_datalet = rate(40);
  faults.full_datalet = rate(20);
  faults.expire = rate(100);
  // A store that forgets is a failure of its own: no other member may seem to fail meanwhile.
  if (faults.empty_datalet > 0) faults.lose = faults.late = 0;
  return faults;
}

/// Few keys, much to read, owners that do not last, and members that are not alike.
void MakeHard(Random& random, ClusterOptions& world) {
  world.keys = static_cast<std::uint32_t>(random.Between(1, 2));
  world.steps = static_cast<std::uint32_t>(random.Between(300, 600));
  world.mean_pause = random.Pick<Duration>({1ms, 2ms});
  world.ttl = random.Between(40ms, 100ms);
  world.cached = 0;
  world.has_local = false;
  world.keeper.member_timeout = random.Between(80ms, 150ms);
  world.faults.pause_node = 0;
  world.faults.crash_node = random.Between(3, 12);
  world.faults.crash_datalet = random.Between(0, 5);
  world.faults.slow_datalet = random.Between(0, 20);
  world.faults.cut_link = random.Between(3, 20);
}

/// Lets a mistake that seldom matters matter more often.
void Expose(Random& random, ClusterOptions& world) {
  switch (world.mistake) {
    case Mistake::kEcJudgedAsSc:
      return MakeHard(random, world);
    case Mistake::kUnsettledShown:
      MakeHard(random, world);
      world.datalets = world.replicas = world.in_at_start = 3;
      world.faults = {.crash_node = 8, .cut_link = 12};
      return;
    case Mistake::kNoFence:
    case Mistake::kOwnsNeverChecked:
      world.faults = {.lose = 10, .pause_node = 40, .cut_link = 10};
      world.cached = 1000;
      world.keeper.mark_interval = 1s;
      return;
    case Mistake::kRevisionUnchecked:
      world.faults = {.late = 60, .twice = 200, .cut_link = 20};
      return;
    case Mistake::kOlderKept:
      world.durable = false;
      [[fallthrough]];
    case Mistake::kEmptyKept:
      world.faults = {.empty_datalet = 20};
      world.cached = 0;
      world.has_local = false;
      return;
    case Mistake::kRelaxedJudgedAsSc:
    case Mistake::kSessionHops:
      world.datalets = world.replicas = world.in_at_start = 3;
      world.has_local = false;
      world.faults = {.cut_link = 20};
      return;
    case Mistake::kStalenessIgnored:
    case Mistake::kCausesIgnored:
    case Mistake::kNewStatesTrusted:
    case Mistake::kMarkDatedLate:
    case Mistake::kLevelIgnored:
      world.synchronized = true;
      world.strong = false;
      world.erases = 0;
      world.faults = {.cut_link = 20, .slow_datalet = 40};
      return;
    case Mistake::kUnsweptTrusted:
      world.synchronized = true;
      world.strong = true;
      world.erases = 0;
      world.datalets = world.replicas = world.in_at_start = 3;
      world.has_local = false;
      world.faults = {.crash_node = 20, .cut_link = 20, .slow_datalet = 40};
      world.keeper.mark_interval = 3ms;
      return;
    case Mistake::kMarkWhileFilling:
      world.synchronized = true;
      world.faults = {.cut_link = 40};
      world.keeper.mark_interval = 3ms;
      return;
    case Mistake::kLazyCountsAsDirty:
      world.has_lazy = true;
      ++world.datalets;
      world.cached = 0;
      world.faults = {.crash_datalet = 20, .cut_link = 20};
      return;
    case Mistake::kMergeAsNew:
    case Mistake::kAnswerAtOnce:
      world.faults = {.crash_node = 10, .cut_link = 30};
      return;
    case Mistake::kClockGoesBack:
    case Mistake::kNoNumber:
      world.keys = 1;
      world.writes = 800;
      world.steps = 500;
      world.mean_pause = 2ms;
      world.faults = {.crash_node = 8};
      return;
    case Mistake::kLateWriters:
      world.steps = 400;
      world.mean_pause = 2ms;
      world.faults = {.change_mode = 8};
      return;
    case Mistake::kMergeUnproved:
    case Mistake::kMergeTooLate:
      world.keys = 12;
      world.writes = 30;
      world.min_latency = world.max_latency = 100us;
      world.steps = 600;
      world.mean_pause = 5ms;
      world.faults = {.expire = 300};
      if (world.mistake == Mistake::kMergeUnproved) world.faults.empty_datalet = 1;
      if (world.mistake == Mistake::kMergeTooLate) world.faults.crash_datalet = 5;
      return;
    case Mistake::kIdentityIgnored:
      world.faults = {.empty_datalet = 20};
      return;
    default:
      return;
  }
}

/// Half of the worlds are always in mode sc. In the others no store comes back empty, and none
/// forgets a delete, so that a write that is lost is known as lost.
void DeriveMode(Random& random, ClusterOptions& world) {
  if (world.mistake != Mistake::kNone && world.mistake != Mistake::kEcJudgedAsSc) return;
  if (world.mistake == Mistake::kNone && random.Chance(500)) return;
  world.strong = false;
  world.faults.empty_datalet = 0;
  if (world.mistake != Mistake::kNone) world.erases = 0;
  if (world.erases > 0) world.keeper.tombstone_ttl = 24h;
  if (world.mistake == Mistake::kNone)
    world.faults.change_mode = random.Pick<std::uint64_t>({0, 30});
  if (random.Chance(500)) world.engine.lane.max_dirty_keys = random.Between(1, 3);
}

/// A third of the worlds are in mode aa+ec, always or at times.
void DeriveShared(Random& random, ClusterOptions& world) {
  const bool mistaken = world.mistake >= Mistake::kClockGoesBack;
  if (world.mistake != Mistake::kNone && !mistaken) return;
  if (!mistaken && !random.Chance(330)) return;
  world.shared = true;
  world.strong = false;
  world.erases = random.Pick<std::uint64_t>({0, 200});
  world.keeper.merge_interval = random.Between(5ms, 60ms);
  world.keeper.tombstone_ttl = 24h;
  if (random.Chance(500) || world.mistake >= Mistake::kMergeUnproved) {
    world.synchronized = true;
    world.erases = mistaken ? 30 : 300;
    // Several merges fit into a quarter of it.
    world.keeper.tombstone_ttl = 500ms + 1500 * world.max_latency;
  }
  if (mistaken) return;
  world.faults.change_mode = random.Pick<std::uint64_t>({0, 3, 20});
  if (random.Chance(300)) world.engine.lane.max_dirty_keys = random.Between(1, 3);
  if (random.Chance(500)) world.faults.split = random.Between(5, 30);
}

/// Datalets join, leave, and are replaced, and drivers refuse changes.
void DeriveMore(Random& random, ClusterOptions& world) {
  if (world.mistake != Mistake::kNone) return;
  if (random.Chance(250)) world.engine.lane.max_dirty_keys = random.Between(1, 3);
  if (random.Chance(500)) world.faults.refuse_change = random.Between(1, 700);
  if (random.Chance(500)) return;
  world.datalets += static_cast<MemberIndex>(random.Between(1, 2));
  world.faults.change_wanted = random.Between(3, 40);
}

}  // namespace

ClusterOptions DeriveCluster(std::uint64_t seed, Mistake mistake) {
  Random random(seed);
  Random shared_random(seed ^ 0xaaec);
  ClusterOptions world;
  world.seed = seed;
  world.synchronized = seed % 2 == 0;
  world.mistake = mistake;
  world.nodes = static_cast<std::uint32_t>(random.Between(2, 3));
  world.datalets = static_cast<MemberIndex>(random.Between(2, 3));
  world.replicas = world.datalets;
  world.in_at_start = static_cast<MemberIndex>(random.Between(1, world.datalets));
  world.keys = static_cast<std::uint32_t>(random.Between(1, 4));
  world.clients = static_cast<std::uint32_t>(random.Between(2, 5));
  world.steps = static_cast<std::uint32_t>(random.Between(100, 400));
  world.mean_pause = random.Pick<Duration>({500us, 2ms, 5ms});
  world.ttl = random.Between(60ms, 300ms);
  world.min_latency = random.Between(100us, 1ms);
  world.max_latency = world.min_latency * static_cast<int>(random.Between(1, 6));
  world.cached = random.Pick<std::uint64_t>({0, 500, 1000});
  world.writes = random.Pick<std::uint64_t>({100, 300, 600});
  world.erases = random.Pick<std::uint64_t>({0, 200});

  LaneOptions& lane = world.engine.lane;
  if (random.Chance(300)) lane.write_policy = Fixed{.interval = random.Between(1ms, 20ms)};
  if (random.Chance(300)) lane.write_policy = Natural{.window = random.Between(2, 4)};
  lane.max_batch_items = random.Chance(300) ? random.Between(1, 3) : 1000;
  lane.attempt_timeout = random.Between(10ms, 60ms);
  lane.retry_first = random.Between(1ms, 10ms);
  lane.retry_cap = lane.retry_first * static_cast<int>(random.Between(1, 4));
  world.engine.reply_deadline = 30s;

  const bool needs_two = world.datalets == 3 && random.Chance(200);
  world.set = {.min_in = needs_two ? 2U : 1U, .ack = 1};
  world.keeper.member_timeout = random.Between(30ms, 150ms);
  world.keeper.mark_interval = random.Between(3ms, 50ms);
  world.keeper.tombstone_ttl = random.Chance(500) ? 24h : 1ms;
  world.keeper.walk.scan_keys = random.Between(1, 4);
  world.keeper.walk.page_keys = random.Between(1, 3);
  world.keeper.walk.copy_bytes = random.Pick<std::size_t>({1, 20, 1000});
  world.keeper.walk.retry = random.Between(2ms, 20ms);
  world.keeper.mark_key = kMarkKey;
  world.keeper.identity_key = kIdentityKey;
  world.faults = DeriveFaults(random);
  world.has_local = random.Chance(300);
  if (random.Chance(500)) MakeHard(random, world);
  Expose(random, world);
  DeriveMode(random, world);
  DeriveShared(shared_random, world);
  DeriveMore(random, world);
  // A member that lags leaves at once, so that another failure could be one too many.
  if (world.shared && world.engine.lane.max_dirty_keys <= 3) world.faults.empty_datalet = 0;
  world.keeper.walk.copy_keys = random.Between(1, 3);
  if (random.Chance(500)) world.durable = false;
  if (mistake == Mistake::kMergeUnproved) world.durable = false;
  if (mistake == Mistake::kNone && random.Chance(300) && !world.shared) {
    world.has_lazy = true;
    ++world.datalets;
  }
  return world;
}

std::string Describe(const ClusterOptions& w) {
  const ClusterFaults& f = w.faults;
  const auto ms = [](Duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  return fmt::format(
      "seed {}, mistake {}, mode {}: {} nodes, {} datalets ({} members, {} in), {} keys, {} "
      "clients, {} steps every {} ms\n"
      "  ttl {} ms, latency {} to {} ms, member_timeout {} ms, mark {} ms, attempt {} ms, min_in "
      "{}, cached {}, writes {}, erases {}\n"
      "  faults (per thousand): lose {}, late {}, twice {}, pause {}, crash node {} datalet {}, "
      "empty {}, cut {}, split {}, slow {}, full {}, expire {}, mode {}, wanted {}, refuse {}\n",
      w.seed, static_cast<int>(w.mistake),
      w.shared   ? "aa+ec"
      : w.strong ? "sc"
                 : "ec",
      w.nodes, w.datalets, w.replicas, w.in_at_start, w.keys, w.clients, w.steps, ms(w.mean_pause),
      ms(w.ttl), ms(w.min_latency), ms(w.max_latency), ms(w.keeper.member_timeout),
      ms(w.keeper.mark_interval), ms(w.engine.lane.attempt_timeout), w.set.min_in, w.cached,
      w.writes, w.erases, f.lose, f.late, f.twice, f.pause_node, f.crash_node, f.crash_datalet,
      f.empty_datalet, f.cut_link, f.split, f.slow_datalet, f.full_datalet, f.expire, f.change_mode,
      f.change_wanted, f.refuse_change);
}

}  // namespace stout::sim
