// Goal: whatever samples a policy sees, it decides what a lane can follow. Method: random
// histories, sane and absurd, for every policy under random options.
#include "stout/core/policy.h"

#include <chrono>
#include <cmath>
#include <string>

#include "stout/core/policy/basic.h"
#include "stout/core/policy/stout.h"
#include "stout/sim/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout {
namespace {

using namespace std::chrono_literals;
using sim::Random;

constexpr Duration kLongest = 24h;  // what was no number, or overflowed, lies far beyond

bool IsSane(const Decision& decision) {
  const auto in_range = [](Duration d) { return d >= Duration::zero() && d <= kLongest; };
  return decision.window >= 1 && decision.max_items >= 1 && in_range(decision.interval) &&
         in_range(decision.gap) && in_range(decision.tick);
}

// Nanoseconds to a minute, each order of magnitude as often as the others.
Duration AnyDuration(Random& random) {
  const auto order = static_cast<double>(random.Below(11));
  return Duration(static_cast<Duration::rep>(random.Below(6) * std::pow(10.0, order)));
}

Errc AnyErrc(Random& random) {
  return random.Chance(800)
             ? Errc::kOk
             : random.Pick<Errc>({Errc::kTransient, Errc::kUnknown, Errc::kTooLarge});
}

std::string AnyStout(Random& random) {
  return "stout:" +
         random.Pick<std::string>({"guards=off", "guards=on", "guard_idle=off",
                                   "guard_failed=off,guard_round_trip=off"}) +
         random.Pick<std::string>({"", ",alpha=10", ",alpha=0"}) +
         random.Pick<std::string>({"", ",beta=1", ",beta=0"}) +
         random.Pick<std::string>({"", ",weight=1", ",weight=0.0001"}) +
         random.Pick<std::string>({"", ",tolerance=0", ",tolerance=0.99"}) +
         random.Pick<std::string>({"", ",window_batches=1", ",window_batches=32"}) +
         random.Pick<std::string>({"", ",unit=1us", ",unit=1s"}) +
         random.Pick<std::string>({"", ",floor=1us,ceiling=1us", ",floor=10s,ceiling=60s"});
}

TEST_CASE("whatever a policy sees, a lane can follow it", "[policy][long]") {
  const auto seed = GENERATE(range<std::uint64_t>(0, test::Rounds("STOUT_SEEDS", 300)));
  CAPTURE(seed);
  Random random(seed);
  const std::string text =
      random.Pick<std::string>({"unbatched", "fixed:60s", "tick:1ns", "gap:1ns", "natural:3",
                                "stout", "adaptive", AnyStout(random)});
  CAPTURE(text);
  std::optional<Policy> policy = MakePolicy(text);
  REQUIRE(policy.has_value());
  REQUIRE(IsSane(policy->Start()));

  TimePoint sent(random.Between(0s, 60s));
  for (int i = 0; i < 500; ++i) {
    const Duration spacing = AnyDuration(random);
    sent += spacing;
    const BatchSample sample{
        .items = 1 + random.Below(random.Chance(100) ? 1'000'000 : 9),
        .bytes = random.Below(1'000'000),
        .sent = sent,
        .done = sent + AnyDuration(random),
        .oldest_wait = AnyDuration(random),
        .mean_wait = AnyDuration(random),
        .spacing = spacing,
        .in_flight = 1 + random.Below(64),
        .backlog = random.Below(1'000'000),
        .errc = AnyErrc(random),
        .part = random.Pick<BatchPart>({BatchPart::kWhole, BatchPart::kProbe, BatchPart::kRest})};
    Policy copy = *policy;
    const Decision decision = policy->Observe(sample);
    CAPTURE(decision.interval.count(), decision.gap.count(), decision.tick.count(), decision.window,
            decision.max_items);
    REQUIRE(IsSane(decision));
    REQUIRE(copy.Observe(sample) == decision);  // it depends on no other state
  }
  REQUIRE(policy->Name() == MakePolicy(policy->Name())->Name());
}

TEST_CASE("the interval of Stout is never derived from what is no number", "[policy][long]") {
  const auto seed = GENERATE(range<std::uint64_t>(0, test::Rounds("STOUT_SEEDS", 100)));
  CAPTURE(seed);
  Random random(seed);
  StoutOptions options;
  options.guard_idle = random.Chance(500);
  options.guard_round_trip = random.Chance(500);
  Stout law(options);
  TimePoint sent(1s);
  for (int i = 0; i < 200; ++i) {  // the store answers in no time at all
    sent += AnyDuration(random);
    law.Observe({.items = 1, .sent = sent, .done = sent});
  }
  // One NaN in the averages or the window would make every later comparison false: accelerate.
  // After performance has collapsed for good, the law must back off.
  const Duration before = law.Start().interval;
  Duration longest = before;
  for (int i = 0; i < 40; ++i) {
    sent += 10s;
    const BatchSample slow{
        .items = 1, .sent = sent, .done = sent + 1s * (i + 1), .oldest_wait = 10s};
    longest = std::max(longest, law.Observe(slow).interval);
  }
  CHECK(longest > before);
}

}  // namespace
}  // namespace stout
