// When a lane sends under interval, gap and tick, and how it cuts a batch that probes.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "stout/core/pacer.h"
#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
using namespace internal;
namespace {

using namespace std::chrono_literals;

// Always wants the same, and keeps what it observed where the test can see it.
struct Constant {
  Decision decision;
  std::vector<BatchSample>* samples = nullptr;
  [[nodiscard]] Decision Start() const { return decision; }
  Decision Observe(const BatchSample& sample) {
    if (samples != nullptr) samples->push_back(sample);
    return decision;
  }
  [[nodiscard]] std::string Name() const { return "constant"; }
};

EngineOptions With(Policy policy) {
  EngineOptions options;
  options.lane.write_policy = std::move(policy);
  return options;
}

// The next tick of a lane that has just sent and has something to send.
TimePoint NextTick(EngineDriver& server) {
  server.Put("tick", "1");
  server.Poll();
  return server.next;
}

// --- The rules by themselves ---------------------------------------------------------------------

TEST_CASE("the next send is the later of interval and gap", "[pacer]") {
  Pacer pacer(0);
  const Decision both{.interval = 20ms, .gap = 5ms};
  CHECK(pacer.NextSend(both, TimePoint(1ms)) < TimePoint(1ms));  // at once
  pacer.OnSend(TimePoint(100ms));
  CHECK(pacer.NextSend(both, TimePoint(101ms)) == TimePoint(120ms));
  pacer.OnAnswer(TimePoint(110ms));
  CHECK(pacer.NextSend(both, TimePoint(111ms)) == TimePoint(120ms));
  pacer.OnAnswer(TimePoint(118ms));
  CHECK(pacer.NextSend(both, TimePoint(119ms)) == TimePoint(123ms));
}

TEST_CASE("a tick is the first at or after the change, and later than the last send", "[pacer]") {
  Pacer pacer(std::uint64_t{1} << 63);  // half of a tick past its multiples
  const Decision tick{.tick = 10ms};
  CHECK(pacer.NextSend(tick, TimePoint(4ms)) == TimePoint(5ms));
  CHECK(pacer.NextSend(tick, TimePoint(5ms)) == TimePoint(5ms));
  CHECK(pacer.NextSend(tick, TimePoint(5ms + 1ns)) == TimePoint(15ms));
  CHECK(pacer.NextSend(tick, TimePoint(-7ms)) == TimePoint(-5ms));
  pacer.OnSend(TimePoint(5ms));
  CHECK(pacer.NextSend(tick, TimePoint(4ms)) == TimePoint(15ms));
  pacer.OnReopen(TimePoint(16ms));
  CHECK(pacer.NextSend(tick, TimePoint(4ms)) == TimePoint(25ms));
}

TEST_CASE("ticks, interval and gap hold together", "[pacer]") {
  Pacer pacer(0);
  pacer.OnSend(TimePoint(100ms));
  pacer.OnAnswer(TimePoint(108ms));
  CHECK(pacer.NextSend({.tick = 10ms}, TimePoint(101ms)) == TimePoint(110ms));
  CHECK(pacer.NextSend({.interval = 12ms, .tick = 10ms}, TimePoint(101ms)) == TimePoint(120ms));
  CHECK(pacer.NextSend({.gap = 13ms, .tick = 10ms}, TimePoint(101ms)) == TimePoint(130ms));
}

TEST_CASE("no rule overflows at the end of time", "[pacer]") {
  Pacer pacer(~std::uint64_t{0});
  pacer.OnSend(TimePoint(1s));
  const Decision longest{.interval = Duration::max(), .tick = 1h};
  CHECK(pacer.NextSend(longest, TimePoint(1s)) == kNever);
}

// --- Gap -----------------------------------------------------------------------------------------

TEST_CASE("a gap is a pause after the answer, not after the send", "[lane]") {
  EngineDriver server(With(Gap{.gap = 20ms}));
  server.Put("a", "1");
  const WriteBatch first = server.Poll().writes.at(0);  // at once: nothing was before it
  server.now += 30ms;
  server.Put("b", "2");
  CHECK(server.Done(first).writes.empty());
  CHECK(server.next == TimePoint(50ms));
  CHECK(server.PollAfter(19ms).writes.empty());
  const Effects second = server.PollAfter(1ms);
  REQUIRE(second.writes.size() == 1);
  server.Done(second.writes[0]);
  server.now += 21ms;  // idle for longer than the gap
  server.Put("c", "3");
  CHECK(server.Poll().writes.size() == 1);
}

TEST_CASE("a flush and a full batch do not wait out the gap", "[lane]") {
  EngineOptions options = With(Gap{.gap = 20ms});
  options.lane.max_batch_items = 2;
  EngineDriver server(options);
  server.Put("a", "1");
  server.Done(server.Poll().writes.at(0));
  server.Put("b", "2");
  CHECK(server.Poll().writes.empty());
  SECTION("a full batch") { server.Put("c", "3"); }
  SECTION("a flush") { server.engine.Flush(1, server.now); }
  CHECK(server.Poll().writes.size() == 1);
}

// --- Tick ----------------------------------------------------------------------------------------

TEST_CASE("tick sends when its timer ticks, also after a pause", "[lane]") {
  EngineDriver server(With(Tick{.interval = 20ms}));
  const TimePoint first = NextTick(server);
  CHECK(first >= TimePoint(0ms));
  CHECK(first < TimePoint(20ms));
  CHECK(server.PollAfter(first - server.now).writes.size() == 1);
  server.now += 110ms;  // idle
  server.Put("a", "1");
  CHECK(server.Poll().writes.empty());
  CHECK(server.next == first + 120ms);
  server.Put("b", "1");
  CHECK(server.PollAfter(10ms).writes.at(0).items.size() == 2);
  server.Put("c", "1");  // after this tick: the next one's
  CHECK(server.Poll().writes.empty());
  CHECK(server.next == first + 140ms);
}

TEST_CASE("lanes of one timer's length do not tick together", "[lane]") {
  EngineDriver server(With(Tick{.interval = 20ms}), 2);
  server.Put("a", "1", 0);
  server.Poll();
  const TimePoint first = server.next;
  EngineDriver other(With(Tick{.interval = 20ms}), 2);
  other.Put("a", "1", 1);
  other.Poll();
  CHECK(other.next != first);
}

TEST_CASE("a tick that finds the window full is missed", "[lane]") {
  EngineDriver server(With(Constant{{.tick = 20ms, .window = 1}}));
  const TimePoint first = NextTick(server);
  const WriteBatch batch = server.PollAfter(first - server.now).writes.at(0);
  server.now += 1ms;
  server.Put("a", "1");
  CHECK(server.PollAfter(20ms).writes.empty());  // the tick at 20 ms has passed
  server.now += 9ms;
  CHECK(server.Done(batch).writes.empty());
  CHECK(server.next == first + 40ms);
  CHECK(server.PollAfter(10ms).writes.size() == 1);
}

TEST_CASE("a change is sent after max_delay between ticks too", "[lane]") {
  EngineOptions options = With(Tick{.interval = 1h});
  options.lane.max_delay = 50ms;
  EngineDriver server(options);
  server.Put("a", "1");
  CHECK(server.Poll().writes.empty());
  CHECK(server.next == TimePoint(50ms));
  CHECK(server.PollAfter(50ms).writes.size() == 1);
}

// --- Probes --------------------------------------------------------------------------------------

TEST_CASE("a probe and the rest of its batch go in the same instant, beyond the window", "[lane]") {
  std::vector<BatchSample> samples;
  EngineDriver server(With(Constant{{.window = 1, .probe = 1}, &samples}));
  server.Put("a", "1");
  server.now += 2ms;
  server.Put("b", "2");
  server.now += 2ms;
  server.Put("c", "3");
  const Writes sent = server.Poll().writes;
  const WriteBatch probe = Alone(Batch(1, {Put("a", "1", 1)}));
  const WriteBatch rest = Alone(Batch(2, {Put("b", "2", 2), Put("c", "3", 3)}));
  CHECK(sent == Writes{probe, rest});

  server.now += 5ms;
  server.Done(sent.at(1));  // it may overtake its probe
  server.now += 1ms;
  server.Done(sent.at(0));
  const TimePoint at(4ms);
  CHECK(samples == std::vector<BatchSample>{{.items = 2,
                                             .bytes = 4,
                                             .sent = at,
                                             .done = at + 5ms,
                                             .oldest_wait = 2ms,
                                             .mean_wait = 1ms,
                                             .in_flight = 2,
                                             .part = BatchPart::kRest},
                                            {.items = 1,
                                             .bytes = 2,
                                             .sent = at,
                                             .done = at + 6ms,
                                             .oldest_wait = 4ms,
                                             .mean_wait = 4ms,
                                             .in_flight = 1,
                                             .part = BatchPart::kProbe}});
}

TEST_CASE("the parts of a cut batch count as one send", "[lane]") {
  std::vector<BatchSample> samples;
  EngineDriver server(With(Constant{{.interval = 10ms, .probe = 1}, &samples}));
  server.Put("a", "1");
  server.Done(server.Poll().writes.at(0));
  server.Put("a", "2");
  server.Put("b", "2");
  const Writes cut = server.PollAfter(12ms).writes;
  REQUIRE(cut.size() == 2);
  server.Put("c", "1");
  server.Done(cut[0]);
  server.Done(cut[1]);
  CHECK(server.next == TimePoint(22ms));  // the interval runs from there
  REQUIRE(samples.size() == 3);
  CHECK(samples[0].part == BatchPart::kWhole);
  CHECK(samples[0].spacing == 0ms);
  CHECK(samples[1].spacing == 12ms);
  CHECK(samples[2].spacing == 12ms);
}

TEST_CASE("a probe is for one batch", "[lane]") {
  EngineDriver server(With(Constant{{.window = 9, .probe = 1}}));
  server.Put("a", "1");
  server.Put("b", "1");
  CHECK(server.Poll().writes.size() == 2);
  server.Put("c", "1");
  server.Put("d", "1");
  CHECK(server.Poll().writes.size() == 1);  // nothing was answered, so nobody asked again
}

TEST_CASE("a probe that fails does not make later batches as small as itself", "[lane]") {
  EngineDriver server(With(Constant{{.window = 1, .probe = 1}}));
  for (const char key : std::string("abcdefghi")) server.Put(std::string(1, key), "1");
  const Writes cut = server.Poll().writes;
  REQUIRE(cut.size() == 2);
  for (const WriteBatch& part : cut) server.Done(part, {.batch = Errc::kTransient, .items = {}});
  std::size_t items = 0;
  for (const WriteBatch& part : server.NextSend().writes) items += part.items.size();
  CHECK(items == 4);  // half of what failed beside it
}

TEST_CASE("a batch that cannot be cut is sent whole", "[lane]") {
  std::vector<BatchSample> samples;
  Decision decision{.window = 1, .probe = 2};
  EngineOptions options = Plain();
  SECTION("it has no more items than the probe") {}
  SECTION("there is no room for two in flight") {
    decision.probe = 1;
    options.lane.max_batches_in_flight = 1;
  }
  SECTION("prefix ordering") {
    decision.probe = 1;
    options.lane.prefix_ordering = true;
    options.lane.max_dirty_keys = 10;
    options.lane.max_dirty_bytes = 100;
  }
  options.lane.write_policy = Constant{decision, &samples};
  EngineDriver server(options);
  server.Put("a", "1");
  server.Put("b", "1");
  const Writes sent = server.Poll().writes;
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].items.size() == 2);
  server.Done(sent[0]);
  CHECK(samples.at(0).part == BatchPart::kWhole);
}

TEST_CASE("the parts of a cut batch fail by themselves", "[lane]") {
  EngineDriver server(With(Constant{{.window = 2, .probe = 1}}));
  server.Put("a", "1");
  server.Put("b", "1");
  server.Put("c", "1");
  server.SafeReply({"b"}, 1);
  server.SafeReply({"a"}, 2);
  const Writes sent = server.Poll().writes;
  REQUIRE(sent.size() == 2);
  CHECK(server.Done(sent[1], Whole(Errc::kTransient)).replies.empty());
  CHECK(server.Done(sent[0]).replies == Replies{{2, Errc::kOk}});
  const Effects again = server.NextSend();
  CHECK(KeysOf(again.writes.at(0)) == Keys{"b"});
}

// --- Full batches --------------------------------------------------------------------------------

void Put(EngineDriver& server, int from, int to) {
  for (int i = from; i < to; ++i) server.Put("k" + std::to_string(i), "v");
}

TEST_CASE("full batches go beyond the window, what is left waits for its turn", "[lane]") {
  EngineDriver server(With(Constant{{.window = 1, .max_items = 3, .full_window = 3}}));
  Put(server, 0, 8);
  const Writes sent = server.Poll().writes;
  REQUIRE(sent.size() == 2);
  CHECK(KeysOf(sent[1]) == Keys{"k3", "k4", "k5"});
  Put(server, 8, 12);  // with the two that wait: one more batch, and then the window of full ones
  CHECK(server.Poll().writes.size() == 1);
  CHECK(KeysOf(server.Done(sent[0]).writes.at(0)) == Keys{"k9", "k10", "k11"});
}

TEST_CASE("a full batch waits for neither interval nor gap", "[lane]") {
  Decision decision{.window = 1, .max_items = 2, .full_window = 1};
  SECTION("interval") { decision.interval = 10ms; }
  SECTION("gap") { decision.gap = 10ms; }
  EngineDriver server(With(Constant{decision}));
  Put(server, 0, 1);
  server.Done(server.Poll().writes.at(0));
  Put(server, 1, 2);
  CHECK(server.Poll().writes.empty());
  Put(server, 2, 3);
  CHECK(server.Poll().writes.size() == 1);
}

TEST_CASE("without a window of its own a full batch waits like any other", "[lane]") {
  EngineDriver server(With(Constant{{.gap = 10ms, .window = 1, .max_items = 2}}));
  Put(server, 0, 2);
  server.Done(server.Poll().writes.at(0));
  Put(server, 2, 6);
  CHECK(server.Poll().writes.empty());
  CHECK(server.PollAfter(10ms).writes.size() == 1);
}

// --- Reads ---------------------------------------------------------------------------------------

TEST_CASE("reads keep to gap and tick and do not probe", "[lane]") {
  std::vector<BatchSample> samples;
  EngineOptions options;
  options.lane.read_policy = Constant{{.gap = 10ms, .tick = 40ms, .probe = 1}, &samples};
  EngineDriver server(options);
  server.engine.Fetch({0, "a"}, 1, server.now);
  server.now += 1ms;
  server.engine.Fetch({0, "b"}, 2, server.now);
  server.Poll();
  const TimePoint tick = server.next;
  REQUIRE(tick >= server.now);
  server.now = tick;
  const Effects first = server.Poll();
  REQUIRE(first.reads.size() == 1);
  CHECK(first.reads[0].keys == Keys{"a", "b"});
  server.now += 35ms;
  server.engine.Fetch({0, "c"}, 3, server.now);
  server.ReadDone(first.reads[0], {.states = {{}, {}}});
  CHECK(server.next == tick + 80ms);  // the tick at 40 ms lies within the gap
  server.now = server.next;
  CHECK(server.Poll().reads.size() == 1);
  REQUIRE(samples.size() == 1);
  CHECK(samples[0].oldest_wait == tick - TimePoint(0ms));
  CHECK(samples[0].mean_wait == samples[0].oldest_wait - 500us);
}

// --- What users see ------------------------------------------------------------------------------

TEST_CASE("statistics show what the policy has decided", "[lane]") {
  EngineDriver server(With(Constant{{.interval = 1ms,
                                     .gap = 2ms,
                                     .tick = 3ms,
                                     .window = 4,
                                     .regime = Regime::kPaced,
                                     .reason = Reason::kQueue}}));
  const LaneStats stats = server.Stats();
  CHECK(stats.interval == 1ms);
  CHECK(stats.gap == 2ms);
  CHECK(stats.tick == 3ms);
  CHECK(stats.window == 4);
  CHECK(stats.regime == Regime::kPaced);
  CHECK(stats.reason == Reason::kQueue);
}

// Its regime and reason depend on the outcome of the newest attempt.
struct Reasoning {
  [[nodiscard]] Decision Start() const {
    return {.regime = Regime::kStarting, .reason = Reason::kUnknownCosts};
  }
  Decision Observe(const BatchSample& sample) {
    if (sample.errc == Errc::kOk) return {.regime = Regime::kPaced, .reason = Reason::kQueue};
    return {.regime = Regime::kNatural, .reason = Reason::kFailure};
  }
  [[nodiscard]] std::string Name() const { return "reasoning"; }
};

TEST_CASE("statistics count the decisions after each attempt by their reason", "[lane]") {
  EngineDriver server(With(Reasoning{}));
  std::array<std::uint64_t, kReasons> decisions{};
  const auto count = [&](Reason reason) -> std::uint64_t& {
    return decisions[static_cast<std::size_t>(reason)];
  };
  CHECK(server.Stats().regime == Regime::kStarting);
  CHECK(server.Stats().reason == Reason::kUnknownCosts);
  CHECK(server.Stats().decisions_by_reason == decisions);  // the start comes before any attempt

  for (int i = 0; i < 3; ++i) {
    server.Put("k", "v");
    server.Done(server.Poll().writes.at(0));
  }
  count(Reason::kQueue) = 3;
  CHECK(server.Stats().regime == Regime::kPaced);
  CHECK(server.Stats().reason == Reason::kQueue);
  CHECK(server.Stats().decisions_by_reason == decisions);

  server.Put("k", "v");
  server.Done(server.Poll().writes.at(0), {.batch = Errc::kTransient, .items = {}});
  count(Reason::kFailure) = 1;
  CHECK(server.Stats().regime == Regime::kNatural);
  CHECK(server.Stats().reason == Reason::kFailure);
  CHECK(server.Stats().decisions_by_reason == decisions);

  // The policy does not observe a batch whose items each failed by themselves.
  server.Done(server.NextSend().writes.at(0),
              {.batch = Errc::kTransient, .items = {{0, Errc::kTransient}}});
  CHECK(server.Stats().decisions_by_reason == decisions);
}

}  // namespace
}  // namespace stout
