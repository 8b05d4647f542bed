// Chain replication and parallel members: latencies without load, what an acknowledgement and a
// read promise (against a model that sees each state become durable), and determinism.

#include "stout/sim/replication.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <vector>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"

namespace stout::sim {
namespace {

using Design = ReplicationSpec::Design;

/// Hot keys and noise, at a load under which batches form.
ReplicationSpec BusyMembers(Design design, std::uint64_t seed) {
  ReplicationSpec spec;
  spec.design = design;
  spec.store = {.kind = StoreSpec::Kind::kGroupCommit,
                .per_batch_us = 20,
                .per_item_us = 10,
                .sync_us = 500,
                .rtt_us = 200,
                .jitter_us = 50,
                .noise_sigma = 0.5};
  spec.rate_per_s = 20'000;
  spec.keys = 200;
  spec.duration_s = 0.4;
  spec.warmup_s = 0.1;
  spec.seed = seed;
  return spec;
}

/// One request at a time, and exact service times.
ReplicationSpec IdleMembers(Design design, std::uint32_t members) {
  ReplicationSpec spec;
  spec.design = design;
  spec.members = members;
  spec.store = {.per_batch_us = 900, .per_item_us = 100, .rtt_us = 200};
  spec.rate_per_s = 10;
  spec.duration_s = 20;
  return spec;
}

/// Follows a run, and counts the promises that it breaks.
class PromiseModel {
 public:
  explicit PromiseModel(std::uint32_t members) : applied_(members) {}

  void See(const ReplicationEvent& event) {
    using Kind = ReplicationEvent::Kind;
    switch (event.kind) {
      case Kind::kApplied:
        applied_[event.member][event.key] = event.version;
        return;
      case Kind::kWritten:
        ++writes_;
        broken_ += AllHave(event) ? 0 : 1;
        acknowledged_[event.key] = std::max(acknowledged_[event.key], event.version);
        return;
      case Kind::kReadBegins:
        at_least_[event.request] = acknowledged_[event.key];
        return;
      case Kind::kRead:
        ++reads_;
        broken_ += AllHave(event) && event.version >= at_least_[event.request] ? 0 : 1;
        // A later read must not go back behind this one.
        acknowledged_[event.key] = std::max(acknowledged_[event.key], event.version);
        return;
    }
  }

  [[nodiscard]] int writes() const { return writes_; }
  [[nodiscard]] int reads() const { return reads_; }
  [[nodiscard]] int broken() const { return broken_; }

 private:
  bool AllHave(const ReplicationEvent& event) {
    return std::all_of(applied_.begin(), applied_.end(),
                       [&](auto& states) { return states[event.key] >= event.version; });
  }

  std::vector<std::map<std::uint64_t, std::uint64_t>> applied_;
  std::map<std::uint64_t, std::uint64_t> acknowledged_;
  std::map<std::uint64_t, std::uint64_t> at_least_;  // by read
  int writes_ = 0, reads_ = 0, broken_ = 0;
};

TEST_CASE("an idle chain writes in the sum of its hops, parallel members in the slowest's time",
          "[replication]") {
  const std::uint32_t members = GENERATE(1U, 2U, 3U, 5U);
  CAPTURE(members);
  const ReplicationResult chain =
      SimulateReplication(IdleMembers(Design::kChain, members), Natural{});
  // To the head and from the tail 0.1 ms each; a store takes 1 ms, a hop 0.1 ms.
  CHECK(chain.write_latency_ms.p50 == Approx(0.2 + members + 0.1 * (members - 1)).epsilon(0.005));
  CHECK(chain.read_latency_ms.p50 == Approx(0.21).epsilon(0.005));
  CHECK(chain.sent_per_write == Approx(members > 1 ? 1 : 0).epsilon(0.05));

  const ReplicationResult parallel =
      SimulateReplication(IdleMembers(Design::kParallel, members), Natural{});
  CHECK(parallel.write_latency_ms.p50 == Approx(members > 1 ? 1.4 : 1.2).epsilon(0.005));
  CHECK(parallel.read_latency_ms.p50 == Approx(0.21).epsilon(0.005));
  CHECK(parallel.sent_per_write == Approx(members - 1).epsilon(0.05));
}

TEST_CASE("all members have what an acknowledgement or a read reveals, under any load",
          "[replication]") {
  const Design design = GENERATE(Design::kChain, Design::kParallel);
  const bool batched = GENERATE(true, false);
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(design, batched, seed);
  const ReplicationSpec spec = BusyMembers(design, seed);
  PromiseModel model(spec.members);
  const ReplicationResult result =
      SimulateReplication(spec, batched ? Policy(Natural{}) : Policy(Unbatched{}),
                          [&](const ReplicationEvent& event) { model.See(event); });
  CHECK(result.stable);
  CHECK(model.writes() > 3000);
  CHECK(model.reads() > 3000);
  CHECK(model.broken() == 0);
}

TEST_CASE("a run of replication ends once it is told to", "[replication]") {
  ReplicationSpec spec = BusyMembers(Design::kParallel, 1);
  spec.duration_s = 1e6;
  std::atomic<bool> stop = false;
  std::uint64_t largest = 0;
  int written = 0;
  const auto watch = [&](const ReplicationEvent& event) {
    if (event.kind != ReplicationEvent::Kind::kWritten) return;
    largest = std::max(largest, event.request);
    if (++written == 10'000) stop = true;
  };
  (void)SimulateReplication(spec, Natural{}, watch, &stop);
  CHECK(written < 11'000);  // the batch that was under way ends
  CHECK(largest < 1'000);   // those that are complete take no memory
}

TEST_CASE("the model of promises sees a member that lags, and a read that goes back",
          "[replication]") {
  using Kind = ReplicationEvent::Kind;
  PromiseModel lagging(2);
  lagging.See({Kind::kApplied, 0, 0, 7, 1});
  lagging.See({Kind::kWritten, 0, 1, 7, 1});
  CHECK(lagging.broken() == 1);

  PromiseModel stale(1);
  stale.See({Kind::kApplied, 0, 0, 7, 2});
  stale.See({Kind::kWritten, 0, 1, 7, 2});
  stale.See({Kind::kReadBegins, 0, 2, 7, 0});
  stale.See({Kind::kRead, 0, 2, 7, 1});
  CHECK(stale.broken() == 1);

  // A run whose second member loses its states does not pass either.
  const ReplicationSpec spec = BusyMembers(Design::kParallel, 1);
  PromiseModel model(spec.members);
  (void)SimulateReplication(spec, Natural{}, [&](const ReplicationEvent& event) {
    if (event.kind != Kind::kApplied || event.member != 1) model.See(event);
  });
  CHECK(model.broken() > 1000);
}

TEST_CASE("a run depends on its seed alone", "[replication]") {
  const Design design = GENERATE(Design::kChain, Design::kParallel);
  const ReplicationResult first = SimulateReplication(BusyMembers(design, 1), Natural{});
  CHECK(first == SimulateReplication(BusyMembers(design, 1), Natural{}));
  CHECK(first.digest != SimulateReplication(BusyMembers(design, 2), Natural{}).digest);
}

TEST_CASE("members that cannot keep up are unstable", "[replication]") {
  ReplicationSpec spec = IdleMembers(GENERATE(Design::kChain, Design::kParallel), 3);
  spec.duration_s = 2;
  spec.read_fraction = 0;
  spec.rate_per_s = 900;  // of 1,000 without batches
  CHECK(SimulateReplication(spec, Unbatched{}).stable);
  spec.rate_per_s = 1500;
  CHECK_FALSE(SimulateReplication(spec, Unbatched{}).stable);
  CHECK(SimulateReplication(spec, Natural{}).stable);  // batches share the cost of a batch
}

TEST_CASE("idle members are stable, however few requests happen to arrive", "[replication]") {
  ReplicationSpec spec = IdleMembers(GENERATE(Design::kChain, Design::kParallel), 3);
  spec.keys = 100;
  spec.duration_s = GENERATE(0.6, 2.0);
  spec.seed = static_cast<std::uint64_t>(GENERATE(range(1, 21)));
  CAPTURE(spec.design, spec.duration_s, spec.seed);
  CHECK(SimulateReplication(spec, Natural{}).stable);
}

TEST_CASE("only what happens after the warm-up counts", "[replication]") {
  ReplicationSpec spec = IdleMembers(GENERATE(Design::kChain, Design::kParallel), 3);
  spec.warmup_s = spec.duration_s - 1e-6;
  const ReplicationResult result = SimulateReplication(spec, Natural{});
  CHECK(result.completed_per_s == 0);
  CHECK(result.sent_per_write == 0);
  CHECK(result.stable);
}

}  // namespace
}  // namespace stout::sim
