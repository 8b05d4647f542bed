// The laws of other systems, each step checked against one worked out by hand from its source.

#include "policies/opponents/opponents.h"

#include <chrono>
#include <optional>
#include <string>

#include "policies/opponents/datadog.h"
#include "policies/opponents/fdb.h"
#include "policies/opponents/gradient2.h"
#include "policies/opponents/kafka.h"
#include "policies/opponents/vegas.h"
#include "tests/support/catch.h"

namespace stout::bench {
namespace {

using namespace std::chrono_literals;

/// A batch of 10 items of 256 bytes, sent at `sent`.
BatchSample Answered(Duration latency, Duration sent = 0s, std::size_t in_flight = 1,
                     std::size_t backlog = 0) {
  return {.items = 10,
          .bytes = 2560,
          .sent = TimePoint(sent),
          .done = TimePoint(sent + latency),
          .in_flight = in_flight,
          .backlog = backlog};
}

BatchSample Failed(Duration latency, std::size_t in_flight = 1) {
  BatchSample sample = Answered(latency, 0s, in_flight);
  sample.errc = Errc::kUnknown;
  return sample;
}

// --- FoundationDB ------------------------------------------------------------------------------

TEST_CASE("fdb: a tenth of a tenth of the latency, and nine tenths of the interval",
          "[opponents]") {
  Fdb fdb;
  CHECK(fdb.Start() == Decision{.interval = 1ms, .window = Decision::kUnlimited});
  CHECK(fdb.Observe(Answered(110ms)).interval == 2ms);   // 0.1 * 11 ms + 0.9 * 1 ms
  CHECK(fdb.Observe(Answered(120ms)).interval == 3ms);   // 0.1 * 12 ms + 0.9 * 2 ms
  CHECK(fdb.Observe(Answered(0ms)).interval == 2700us);  // 0.9 * 3 ms
  CHECK(fdb.Observe(Failed(1s)).interval == 2700us);     // no sample
}

TEST_CASE("fdb stays within 1 ms and 20 ms", "[opponents]") {
  Fdb fdb;
  CHECK(fdb.Observe(Answered(1us)).interval == 1ms);
  CHECK(fdb.Observe(Answered(10s)).interval == 20ms);
  CHECK(Fdb{.fraction = 1.0}.Observe(Answered(11ms)).interval == 2ms);
}

// --- Linger and size ---------------------------------------------------------------------------

TEST_CASE("kafka: 5 ms between sends, unless a full batch of 16 KiB waits", "[opponents]") {
  Kafka kafka;
  CHECK(kafka.Start() == Decision{.interval = 5ms, .window = 5});
  // 16 KiB hold 64 items of 256 bytes.
  CHECK(kafka.Observe(Answered(1ms, 0s, 1, 63)) ==
        Decision{.interval = 5ms, .window = 5, .max_items = 64});
  CHECK(kafka.Observe(Answered(1ms, 0s, 1, 64)) ==
        Decision{.interval = 0ms, .window = 5, .max_items = 64});
}

TEST_CASE("an item larger than a batch goes alone", "[opponents]") {
  BatchSample sample = Answered(1ms);
  sample.items = 1;
  sample.bytes = 20000;
  CHECK(Kafka().Observe(sample).max_items == 1);
}

TEST_CASE("datadog: linger and size move together by the score, every 100 ms", "[opponents]") {
  Datadog datadog;
  CHECK(datadog.Start() == Decision{.interval = 5ms, .window = 1});
  // The first answer sets the baseline; 100 ms after its sending are not over.
  CHECK(datadog.Observe(Answered(10ms)) == Decision{.interval = 5ms, .window = 1, .max_items = 64});
  // rtt = 0.1 * 60 + 0.9 * 10 = 15 ms, a score of 0.5: both * 1.2. 16384 * 1.2 / 256 = 76.8.
  CHECK(datadog.Observe(Answered(60ms, 50ms)) ==
        Decision{.interval = 6ms, .window = 1, .max_items = 76});
  CHECK(datadog.rtt == Approx(15e6));
  // 90 ms later: not yet.
  CHECK(datadog.Observe(Answered(60ms, 140ms)).interval == 6ms);
  // rtt = 19.5 after that one, 0.1 * 60 + 0.9 * 19.5 = 23.55 now.
  CHECK(datadog.Observe(Answered(60ms, 200ms)).interval == 7200us);
}

TEST_CASE("datadog holds between the thresholds and hurries below", "[opponents]") {
  Datadog datadog;
  datadog.linger = 12e6;
  datadog.batch_bytes = 32768;
  (void)datadog.Observe(Answered(10ms));
  // rtt = 0.1 * 30 + 9 = 12 ms, a score of 0.2.
  CHECK(datadog.Observe(Answered(30ms, 100ms)).interval == 12ms);
  // rtt = 0.1 * 2 + 10.8 = 11 ms over a baseline of 2 ms: a new minimum looks like congestion.
  CHECK(datadog.Observe(Answered(2ms, 250ms)).interval == 14400us);
  Datadog calm;
  calm.linger = 12e6;
  (void)calm.Observe(Answered(10ms));
  CHECK(calm.Observe(Answered(10ms, 100ms)).interval == 10ms);
}

TEST_CASE("datadog's baseline creeps up by 1 % after 10 s without a new minimum", "[opponents]") {
  Datadog datadog;
  (void)datadog.Observe(Answered(10ms));
  (void)datadog.Observe(Answered(20ms, 9990ms));  // 10.000 s after: not beyond
  CHECK(datadog.base == Approx(10e6));
  (void)datadog.Observe(Answered(20ms, 9991ms));
  CHECK(datadog.base == Approx(10.1e6));
}

TEST_CASE("datadog stays within its bounds, and errors are no samples", "[opponents]") {
  Datadog datadog;
  datadog.linger = 450e6;
  datadog.batch_bytes = 10e6;
  (void)datadog.Observe(Answered(1ms));
  CHECK(datadog.Observe(Answered(1s)).interval == 500ms);
  CHECK(datadog.batch_bytes == 10485760);
  const Datadog before = datadog;
  (void)datadog.Observe(Failed(9s));
  CHECK(datadog == before);
}

// --- Limiters ------------------------------------------------------------------------------------

TEST_CASE("vegas: the window follows the queue at the store", "[opponents]") {
  Vegas vegas;
  CHECK(vegas.Start() == Decision{.interval = {}, .window = 20});
  // The first answer, and any lower one, only sets the no-load latency.
  CHECK(vegas.Observe(Answered(10ms, 0s, 20)).window == 20);
  CHECK(vegas.no_load == 10e6);
  // ceil(20 * (1 - 10/10)) = 0 <= 1: + 6.
  CHECK(vegas.Observe(Answered(10ms, 0s, 20)).window == 26);
  // ceil(26 * (1 - 10/10.5)) = ceil(1.24) = 2 < 3: + 1.
  CHECK(vegas.Observe(Answered(10500us, 0s, 26)).window == 27);
  // ceil(27 * (1 - 10/12)) = ceil(4.5) = 5, within 3..6: stays.
  CHECK(vegas.Observe(Answered(12ms, 0s, 27)).window == 27);
  // ceil(27 * (1 - 10/20)) = 14 > 6: - 1.
  CHECK(vegas.Observe(Answered(20ms, 0s, 27)).window == 26);
  // Only 12 of 26 in flight: the load, not the limit, decides.
  CHECK(vegas.Observe(Answered(10ms, 0s, 12)).window == 26);
  // But a failure counts whatever was in flight.
  CHECK(vegas.Observe(Failed(20ms, 1)).window == 25);
}

TEST_CASE("vegas steps by log10 of the limit, between 1 and 1000", "[opponents]") {
  Vegas vegas{.limit = 100, .no_load = 10e6};
  CHECK(vegas.Observe(Answered(10ms, 0s, 100)).window == 112);  // + 6 * 2
  vegas.limit = 999;
  CHECK(vegas.Observe(Answered(10ms, 0s, 999)).window == 1000);
  vegas.limit = 1;
  CHECK(vegas.Observe(Failed(20ms)).window == 1);
}

TEST_CASE("vegas takes a fresh no-load latency from time to time", "[opponents]") {
  Vegas vegas{.limit = 2, .no_load = 10e6};  // a probe after 60 samples, then after 30 to 60
  for (int i = 0; i < 59; ++i) (void)vegas.Observe(Answered(50ms, 0s, 0));
  CHECK(vegas.no_load == 10e6);
  (void)vegas.Observe(Answered(50ms, 0s, 0));
  CHECK(vegas.no_load == 50e6);
  CHECK(vegas.samples_since_probe == 0);
  CHECK(vegas.probe_share >= 0.5);
  CHECK(vegas.probe_share < 1);
}

TEST_CASE("gradient2: the window shrinks when latency leaves its long average behind",
          "[opponents]") {
  Gradient2 gradient{.limit = 100};
  // Alone so far: long = latency, a gradient of 1. 0.8 * 100 + 0.2 * 104 = 100.8.
  CHECK(gradient.Observe(Answered(10ms, 0s, 100)).window == 100);
  CHECK(gradient.limit == Approx(100.8));
  // long = (10 + 50) / 2 = 30 ms: 1.5 * 30 / 50 = 0.9. 0.8 * 100.8 + 0.2 * (90.72 + 4) = 99.584.
  (void)gradient.Observe(Answered(50ms, 0s, 100));
  CHECK(gradient.long_rtt == Approx(30e6));
  CHECK(gradient.limit == Approx(99.584));
  // Less than half of it in use: stays, but the average goes on: (10 + 50 + 30) / 3.
  (void)gradient.Observe(Answered(30ms, 0s, 49));
  CHECK(gradient.limit == Approx(99.584));
  CHECK(gradient.long_rtt == Approx(30e6));
}

TEST_CASE("gradient2 forgets a long average that is twice too long, by 5 % a sample",
          "[opponents]") {
  Gradient2 gradient{.limit = 20, .long_rtt = 100e6, .warm_up = Gradient2::kWarmUp};
  (void)gradient.Observe(Answered(10ms));
  // (100 + (10 - 100) * 2 / 601) * 0.95
  CHECK(gradient.long_rtt == Approx(94.7155e6).epsilon(1e-5));
}

TEST_CASE("gradient2 halves at most, and stays within 20 and 200", "[opponents]") {
  Gradient2 gradient{.limit = 100, .long_rtt = 10e6, .warm_up = Gradient2::kWarmUp};
  (void)gradient.Observe(Answered(10s, 0s, 100));
  CHECK(gradient.limit == Approx(0.8 * 100 + 0.2 * (50 + 4)));
  gradient = {.limit = 20, .long_rtt = 10e6, .warm_up = Gradient2::kWarmUp};
  CHECK(gradient.Observe(Answered(10s, 0s, 20)).window == 20);
  gradient = {.limit = 199.9, .long_rtt = 10e6, .warm_up = Gradient2::kWarmUp};
  CHECK(gradient.Observe(Answered(10ms, 0s, 200)).window == 200);
}

// --- By name -------------------------------------------------------------------------------------

TEST_CASE("opponents are read from text, and so is all that the library knows", "[opponents]") {
  const std::string name = GENERATE("fdb", "fdb:0.5", "datadog", "kafka", "vegas", "gradient2",
                                    "natural:4", "fixed:20ms");
  const std::optional<Policy> policy = MakeOpponent(name);
  REQUIRE(policy.has_value());
  CHECK(policy->Name() == name);
  CHECK(OpponentSyntax().find(name.substr(0, name.find(':'))) != std::string_view::npos);
}

TEST_CASE("what names no opponent is refused", "[opponents]") {
  const std::string text =
      GENERATE("", "fdb:", "fdb:0", "fdb:-1", "fdb:x", "fdb:1x", "fdb:101", "kafka:5ms", "Vegas");
  CAPTURE(text);
  CHECK_FALSE(MakeOpponent(text).has_value());
}

}  // namespace
}  // namespace stout::bench
