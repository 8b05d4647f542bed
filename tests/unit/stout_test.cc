// The published law, step by step; each guard on and off.
#include "stout/core/policy/stout.h"

#include <chrono>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

// Constants that are easy to reckon with, and no guard.
StoutOptions Pure() {
  StoutOptions options;
  options.alpha = 0.5;
  options.beta = 0.25;
  options.weight = 0.5;
  options.tolerance = 0;
  options.window_batches = 2;
  options.start = 16ms;
  options.guard_in_flight = options.guard_round_trip = false;
  options.guard_idle = options.guard_failed = false;
  return options;
}

// A server whose every batch is answered before the next is sent, as soon as the interval allows.
class Sequence {
 public:
  explicit Sequence(const StoutOptions& options) : law(options), interval(law.Start().interval) {}

  Duration Batch(std::size_t items, Duration latency, Errc errc = Errc::kOk) {
    sent += interval;
    return Answer({.items = items,
                   .sent = sent,
                   .done = sent + latency,
                   .oldest_wait = interval,
                   .spacing = interval,
                   .errc = errc});
  }
  Duration Answer(const BatchSample& sample) {
    interval = law.Observe(sample).interval;
    return interval;
  }

  Stout law;
  Duration interval;
  TimePoint sent{1s};
};

Duration Ms(double ms) {
  return Duration(static_cast<Duration::rep>(std::llround(ms * 1'000'000)));
}

// --- The law -------------------------------------------------------------------------------------

TEST_CASE("the root of an interval depends on the unit that it is counted in", "[stout]") {
  CHECK(RootIn(1ms, 64e6) == 8e6);
  CHECK(RootIn(1us, 64e6) == Approx(252'982.2));  // sqrt(64000) us
  CHECK(RootIn(4ms, 64e6) == 16e6);               // sqrt(16) of them
  CHECK(RootIn(1ms, 1e6) == 1e6);
  CHECK(RootIn(1ms, 0) == 0);
}

TEST_CASE("the first batch is a measurement only", "[stout]") {
  Sequence server(Pure());
  CHECK(server.law.Start() == Decision{.interval = 16ms, .window = Decision::kUnlimited});
  CHECK(server.Batch(16, 16ms) == 16ms);  // 16 in 32 ms: 0.5
}

TEST_CASE("accelerate: (1 - beta) * i + beta * sqrt(i)", "[stout]") {
  Sequence server(Pure());
  server.Batch(16, 16ms);
  CHECK(server.Batch(16, 16ms) == 13ms);  // not worse: .75 * 16 + .25 * 4
}

TEST_CASE("back off: (1 + alpha) * i", "[stout]") {
  Sequence server(Pure());
  server.Batch(16, 16ms);
  CHECK(server.Batch(15, 16ms) == 24ms);
}

TEST_CASE("a loss within the tolerance is noise", "[stout]") {
  StoutOptions options = Pure();
  options.tolerance = 0.1;
  Sequence server(options);
  server.Batch(160, 16ms);
  CHECK(server.Batch(145, 16ms) == 13ms);  // 9.4 % less
  Sequence other(options);
  other.Batch(160, 16ms);
  CHECK(other.Batch(143, 16ms) == 24ms);  // 10.6 % less
}

TEST_CASE("after an acceleration, recent performance is the best of the window", "[stout]") {
  StoutOptions options = Pure();
  options.beta = 0;  // an acceleration changes nothing: 16 ms throughout
  Sequence server(options);
  server.Batch(32, 16ms);  // 1.0
  server.Batch(40, 16ms);  // 1.25, the best
  server.Batch(40, 16ms);
  CHECK(server.Batch(39, 16ms) == 24ms);  // 1.22 < 1.25
}

TEST_CASE("what lies before the window is forgotten", "[stout]") {
  StoutOptions options = Pure();
  options.beta = 0;
  options.tolerance = 0.3;
  Sequence server(options);
  server.Batch(100, 16ms);
  server.Batch(75, 16ms);  // within the tolerance, as is the next
  server.Batch(75, 16ms);
  CHECK(server.Batch(60, 16ms) == 16ms);  // 20 % below 75, but 40 % below 100
}

TEST_CASE("after a back-off, recent performance is the ratio of averages", "[stout]") {
  Sequence server(Pure());
  server.Batch(16, 16ms);
  REQUIRE(server.Batch(8, 16ms) == 24ms);  // 8 / 32 < 16 / 32
  // Averages with weight 1/2: 12 items, 16 ms, 16 ms, that is 0.375. The best of the window is 0.5.
  SECTION("as good as the averages") {
    CHECK(server.Batch(15, 16ms) == Ms(.75 * 24 + .25 * std::sqrt(24.0)));  // 15 / 40
  }
  SECTION("worse than the averages") {
    CHECK(server.Batch(14, 16ms) == 36ms);  // 14 / 40
  }
}

TEST_CASE("a batch is judged by the interval that held when it was sent", "[stout]") {
  Sequence server(Pure());
  server.Batch(16, 16ms);
  const TimePoint sent = server.sent;
  REQUIRE(server.Batch(8, 16ms) == 24ms);  // from the answer on
  // Sent before the back-off, answered after it: 12 / (16 + 16) is as good as the averages' 0.375,
  // 12 / (16 + 24) would not be.
  CHECK(server.Answer({.items = 12, .sent = sent + 20ms, .done = sent + 36ms}) < 24ms);
}

TEST_CASE("the interval stays between floor and ceiling", "[stout]") {
  StoutOptions options = Pure();
  options.floor = 12ms;
  options.ceiling = 20ms;
  Sequence down(options);
  for (int i = 0; i < 10; ++i) down.Batch(16, 1ms);
  CHECK(down.interval == 12ms);
  Sequence up(options);
  for (std::size_t i = 0; i < 10; ++i) up.Batch(20 - i, Duration(1ms) * (1 << i));
  CHECK(up.interval == 20ms);
  options.start = 1s;
  CHECK(Stout(options).Start().interval == 20ms);
}

TEST_CASE("below its unit an acceleration lengthens the interval", "[stout]") {
  StoutOptions options = Pure();
  options.start = 250us;
  Sequence server(options);
  server.Batch(1, 1ms);
  CHECK(server.Batch(1, 1ms) == Ms(.75 * .25 + .25 * .5));
}

TEST_CASE("a copy of the law answers \"what if\"", "[stout]") {
  Sequence server(Pure());
  for (int i = 0; i < 40; ++i) server.Batch(16, 16ms);  // the rings have gone round
  Stout copy = server.law;
  CHECK(copy == server.law);
  server.Batch(1, 1s);
  CHECK_FALSE(copy == server.law);
}

// --- The guards ----------------------------------------------------------------------------------

TEST_CASE("guard_in_flight bounds the window", "[stout]") {
  StoutOptions options = Pure();
  options.in_flight = 3;
  CHECK(Stout(options).Start().window == Decision::kUnlimited);
  options.guard_in_flight = true;
  CHECK(Stout(options).Start().window == 3);
}

TEST_CASE("guard_round_trip changes the interval once for batches of one round trip", "[stout]") {
  const bool guarded = GENERATE(false, true);
  CAPTURE(guarded);
  StoutOptions options = Pure();
  options.guard_round_trip = guarded;
  Sequence server(options);
  server.Batch(16, 16ms);
  const TimePoint sent = server.sent + 16ms;  // two batches that do not know of each other's fate
  server.Answer({.items = 8, .sent = sent, .done = sent + 50ms, .oldest_wait = 16ms});
  REQUIRE(server.interval == 24ms);
  server.Answer({.items = 4, .sent = sent + 16ms, .done = sent + 60ms, .oldest_wait = 16ms});
  CHECK(server.interval == (guarded ? 24ms : 36ms));
}

TEST_CASE("guard_idle ignores what the interval did not hold back", "[stout]") {
  const bool guarded = GENERATE(false, true);
  CAPTURE(guarded);
  StoutOptions options = Pure();
  options.guard_idle = guarded;
  Sequence server(options);
  server.Batch(16, 16ms);
  const Stout before = server.law;
  // The interval had passed long before there was anything to send.
  const BatchSample idle{.items = 1,
                         .sent = server.sent + 1s,
                         .done = server.sent + 1s + 5ms,
                         .oldest_wait = 0ms,
                         .spacing = 1s};
  server.Answer(idle);
  CHECK((server.law == before) == guarded);
  CHECK(server.interval == (guarded ? 16ms : 24ms));
  // A change that was there when the interval ended waited for it, or for the window.
  BatchSample bound = idle;
  bound.oldest_wait = 1s - 16ms;
  const Stout unmoved = server.law;
  server.Answer(bound);
  CHECK_FALSE(server.law == unmoved);
}

TEST_CASE("guard_failed backs off from a failure and does not measure it", "[stout]") {
  const bool guarded = GENERATE(false, true);
  const Errc errc = GENERATE(Errc::kTransient, Errc::kUnknown);
  CAPTURE(guarded);
  StoutOptions options = Pure();
  options.guard_failed = guarded;
  Sequence server(options);
  server.Batch(16, 16ms);
  // A refusal comes fast: as a measurement it looks like a very good one.
  server.Batch(16, 1ms, errc);
  CHECK(server.interval == (guarded ? 24ms : 13ms));
}

TEST_CASE("a batch that was too large says nothing about the store's load", "[stout]") {
  StoutOptions options = Pure();
  options.guard_failed = true;
  Sequence server(options);
  server.Batch(16, 16ms);
  const Stout before = server.law;
  server.Batch(16, 1ms, Errc::kTooLarge);
  CHECK(server.law == before);
}

}  // namespace
}  // namespace stout
