// The writes of one lane: which batches it sends, and when.
#include "stout/core/lane.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

// --- Collapsing and versions -----------------------------------------------------------------

TEST_CASE("any number of changes of a key costs one write of the newest state", "[lane]") {
  EngineDriver server;
  CHECK(server.Put("k", "v1") == MarkResult{.version = 1});
  CHECK(server.Put("k", "v2") == MarkResult{.version = 2});
  CHECK(server.Put("other", "w") == MarkResult{.version = 3});
  CHECK(server.Put("k", "v3") == MarkResult{.version = 4});
  CHECK(server.Poll().writes == Writes{Batch(1, {Put("k", "v3", 4), Put("other", "w", 3)})});
  CHECK(server.serialized == 2);
}

TEST_CASE("a key that no longer exists is deleted", "[lane]") {
  EngineDriver server;
  server.Put("k", "v");
  server.Delete("k");
  CHECK(server.Poll().writes == Writes{Batch(1, {Deleted("k", 2)})});
}

TEST_CASE("at most one write of a key is in flight", "[lane]") {
  EngineDriver server(WithQuickRetries(Unbatched{}));
  server.Put("k", "v1");
  const Effects first = server.Poll();
  REQUIRE(first.writes == Writes{Alone(Batch(1, {Put("k", "v1", 1)}))});
  server.Put("k", "v2");
  server.Put("other", "w");
  const Effects second = server.Poll();
  CHECK(second.writes == Writes{Alone(Batch(2, {Put("other", "w", 3)}))});
  CHECK(server.Done(first.writes[0]).writes == Writes{Alone(Batch(3, {Put("k", "v2", 2)}))});
}

TEST_CASE("a finished write does not erase a newer change", "[lane]") {
  EngineDriver server;
  server.Put("k", "v1");
  const Effects first = server.Poll();
  server.Put("k", "v2");
  CHECK(server.Done(first.writes[0]).writes == Writes{Batch(2, {Put("k", "v2", 2)})});
  CHECK(server.engine.IsDirty({0, "k"}));
}

TEST_CASE("a clean key costs no memory", "[lane]") {
  EngineDriver server;
  server.Put("k", "v");
  server.Done(server.Poll().writes[0]);
  CHECK_FALSE(server.engine.IsDirty({0, "k"}));
  CHECK(server.Stats().dirty_keys == 0);
  CHECK(server.Stats().dirty_bytes == 0);
}

TEST_CASE("a batch has all waiting keys, however many batches went before", "[lane]") {
  EngineOptions options = WithQuickRetries(Natural{});
  options.lane.max_batch_items = std::numeric_limits<std::size_t>::max();
  EngineDriver server(options);
  for (int i = 0; i < 100; ++i) {
    server.Put("k", "v");
    server.Done(server.Poll().writes.at(0));
  }
  server.Put("a", "v");
  server.Put("b", "v");
  CHECK(server.Poll().writes.at(0).items.size() == 2);
}

// --- When ------------------------------------------------------------------------------------

TEST_CASE("an idle lane sends at once under every policy except a ticking one", "[lane]") {
  const std::string name = GENERATE("unbatched", "fixed:20ms", "gap:20ms", "natural", "natural:4",
                                    "stout", "stout:guards=off");
  CAPTURE(name);
  EngineDriver server(WithQuickRetries(*MakePolicy(name)));
  server.Put("k", "v");
  CHECK(server.Poll().writes.size() == 1);
}

TEST_CASE("unbatched sends each key by itself", "[lane]") {
  EngineDriver server(WithQuickRetries(Unbatched{}));
  server.Put("a", "1");
  server.Put("b", "2");
  CHECK(server.Poll().writes ==
        Writes{Alone(Batch(1, {Put("a", "1", 1)})), Alone(Batch(2, {Put("b", "2", 2)}))});
}

TEST_CASE("natural sends all waiting changes when its batch is done", "[lane]") {
  EngineDriver server(WithQuickRetries(Natural{}));
  server.Put("a", "1");
  const Effects first = server.Poll();
  server.Put("b", "2");
  server.Put("c", "3");
  CHECK(server.Poll().writes.empty());
  CHECK(server.Done(first.writes[0]).writes ==
        Writes{Batch(2, {Put("b", "2", 2), Put("c", "3", 3)})});
}

TEST_CASE("a fixed interval spaces sends and is not a period to wait out", "[lane]") {
  EngineDriver server(WithQuickRetries(Fixed{.interval = 20ms}));
  server.Put("a", "1");
  CHECK(server.Poll().writes.size() == 1);
  server.now += 5ms;
  server.Put("b", "2");
  CHECK(server.Poll().writes.empty());
  CHECK(server.next == TimePoint(20ms));
  CHECK(server.PollAfter(15ms).writes.size() == 1);
  server.now += 100ms;  // idle for longer than the interval
  server.Put("c", "3");
  CHECK(server.Poll().writes.size() == 1);
}

TEST_CASE("a full batch is sent at once", "[lane]") {
  EngineOptions options = WithQuickRetries(Fixed{.interval = 20ms});
  options.lane.max_batch_items = 2;
  EngineDriver server(options);
  server.Put("a", "1");
  server.Poll();
  server.Put("b", "2");
  CHECK(server.Poll().writes.empty());
  server.Put("c", "3");
  CHECK(server.Poll().writes == Writes{Batch(2, {Put("b", "2", 2), Put("c", "3", 3)})});
}

TEST_CASE("a change is sent after max_delay whatever interval and window are", "[lane]") {
  EngineOptions options = WithQuickRetries(Natural{});
  options.lane.max_delay = 50ms;
  EngineDriver server(options);
  server.Put("a", "1");
  server.Poll();  // never answered
  server.now += 10ms;
  server.Put("b", "2");
  CHECK(server.Poll().writes.empty());
  CHECK(server.next == TimePoint(60ms));
  CHECK(server.PollAfter(50ms).writes.size() == 1);
}

TEST_CASE("max_batches_in_flight limits sends whatever window and max_delay are", "[lane]") {
  EngineOptions options = WithQuickRetries(Unbatched{});
  options.lane.max_batches_in_flight = 1;
  options.lane.max_delay = 1ms;
  EngineDriver server(options);
  server.Put("a", "1");
  server.Put("b", "2");
  CHECK(server.Poll().writes.size() == 1);
  CHECK(server.PollAfter(1s).writes.empty());
}

// --- Limits ----------------------------------------------------------------------------------

TEST_CASE("beyond max_dirty_keys the caller is pushed back, but may change a dirty key", "[lane]") {
  EngineOptions options = Plain();
  options.lane.max_dirty_keys = 2;
  EngineDriver server(options);
  server.Put("a", "1");
  server.Put("b", "2");
  CHECK(server.Put("c", "3") == MarkResult{.errc = Errc::kPushedBack});
  CHECK(server.Put("a", "4") == MarkResult{.version = 3});
  server.Done(server.Poll().writes[0]);
  CHECK(server.Put("c", "3").errc == Errc::kOk);
}

TEST_CASE("beyond max_dirty_bytes a state may not grow", "[lane]") {
  EngineOptions options = Plain();
  options.lane.max_dirty_bytes = 10;
  EngineDriver server(options);
  CHECK(server.Put("a", "12345").errc == Errc::kOk);
  CHECK(server.Put("b", "12345") == MarkResult{.errc = Errc::kPushedBack});
  CHECK(server.Put("b", "123").errc == Errc::kOk);
  CHECK(server.Put("b", "1234") == MarkResult{.errc = Errc::kPushedBack});
  CHECK(server.Put("b", "12").errc == Errc::kOk);
  CHECK(server.engine.MarkDirty({0, "b"}, SIZE_MAX, server.now).errc == Errc::kTooLarge);
  CHECK(server.Stats().dirty_bytes == 9);
}

TEST_CASE("a batch does not exceed max_batch_items and max_batch_bytes", "[lane]") {
  EngineOptions options = WithQuickRetries(Natural{.window = 4});
  options.lane.max_batch_items = 2;
  options.lane.max_batch_bytes = 8;
  EngineDriver server(options);
  server.Put("a", "123");    // 4 bytes with its key
  server.Put("b", "123");    // 8
  server.Put("c", "12345");  // 6
  server.Put("d", "123");    // 10
  const Effects effects = server.Poll();
  REQUIRE(effects.writes.size() == 3);
  CHECK(KeysOf(effects.writes[0]) == Keys{"a", "b"});
  CHECK(KeysOf(effects.writes[1]) == Keys{"c"});
  CHECK(KeysOf(effects.writes[2]) == Keys{"d"});
}

TEST_CASE("a state beyond max_batch_bytes is refused and its neighbours are sent", "[lane]") {
  EngineOptions options = Plain();
  options.lane.max_batch_bytes = 8;
  EngineDriver server(options);
  server.Put("a", "1");
  server.SafeReply({"a"}, 1);
  server.Put("big", "123456789");
  server.SafeReply({"big"}, 2);
  const Effects effects = server.Poll();
  CHECK(effects.writes == Writes{Batch(1, {Put("a", "1", 1)})});
  // It did not fit behind "a"; alone it does not fit either.
  const Effects later = server.Done(effects.writes[0]);
  CHECK(later.refused == std::vector<KeyRefused>{{0, "big", Errc::kTooLarge}});
  CHECK(later.replies == Replies{{1, Errc::kOk}, {2, Errc::kTooLarge}});
}

TEST_CASE("a key that cannot be serialised is refused", "[lane]") {
  EngineDriver server;
  server.Put("bad", "1");
  server.unserialisable = {"bad"};
  server.Put("good", "2");
  server.SafeReply({"bad", "good"}, 1);
  const Effects effects = server.Poll();
  CHECK(effects.refused == std::vector<KeyRefused>{{0, "bad", Errc::kNotSerialized}});
  CHECK(effects.replies == Replies{{1, Errc::kNotSerialized}});
  CHECK(effects.writes == Writes{Batch(1, {Put("good", "2", 2)})});
  CHECK_FALSE(server.engine.IsDirty({0, "bad"}));
}

// --- Statistics and samples ------------------------------------------------------------------

// Records the samples that it observes, for the test.
struct Recording {
  std::vector<BatchSample>* samples;
  [[nodiscard]] Decision Start() const { return {.interval = {}, .window = 2}; }
  Decision Observe(const BatchSample& sample) {
    samples->push_back(sample);
    return Start();
  }
  [[nodiscard]] std::string Name() const { return "recording"; }
};

TEST_CASE("a policy observes each attempt by itself, not a sequence of retries", "[lane]") {
  std::vector<BatchSample> samples;
  EngineDriver server(WithQuickRetries(Recording{&samples}));
  server.Put("k", "v");
  const WriteBatch first = server.Poll().writes[0];
  server.now += 3ms;
  server.Done(first, Whole(Errc::kTransient));
  const WriteBatch second = server.NextSend().writes[0];
  const TimePoint retried = server.now;
  server.now += 4ms;
  server.Done(second);
  CHECK(samples == std::vector<BatchSample>{{.items = 1,
                                             .bytes = 2,
                                             .sent = TimePoint(0ms),
                                             .done = TimePoint(3ms),
                                             .oldest_wait = 0ms,
                                             .in_flight = 1,
                                             .errc = Errc::kTransient},
                                            {.items = 1,
                                             .bytes = 2,
                                             .sent = retried,
                                             .done = retried + 4ms,
                                             .oldest_wait = retried - TimePoint(0ms),
                                             .mean_wait = retried - TimePoint(0ms),
                                             .spacing = retried - TimePoint(0ms),
                                             .in_flight = 1,
                                             .errc = Errc::kOk}});
}

TEST_CASE("a policy does not observe a batch whose items each failed by themselves", "[lane]") {
  std::vector<BatchSample> samples;
  EngineDriver server(WithQuickRetries(Recording{&samples}));
  server.Put("k", "v");
  server.Done(server.Poll().writes.at(0),
              {.batch = Errc::kTransient, .items = {{0, Errc::kTransient}}});
  CHECK(samples.empty());
  server.Done(server.NextSend().writes.at(0));
  CHECK(samples.size() == 1);
}

TEST_CASE("the oldest wait of a batch is that of its oldest change", "[lane]") {
  std::vector<BatchSample> samples;
  EngineDriver server(WithQuickRetries(Recording{&samples}));
  server.Put("a", "1");
  server.Put("b", "1");
  server.Poll();  // not answered
  server.Put("c", "1");
  const WriteBatch two = server.Poll().writes[0];
  server.now += 1ms;
  server.Put("c", "2");  // in flight: waits from 1 ms on, is ready from 5 ms on
  server.now += 2ms;
  server.Put("d", "1");  // waits from 3 ms on, is ready at once
  server.now += 2ms;
  const Writes third = server.Done(two).writes;
  REQUIRE(KeysOf(third.at(0)) == Keys{"d", "c"});
  server.Done(third[0]);
  CHECK(samples.back().oldest_wait == 4ms);
}

TEST_CASE("statistics tell how old the oldest change is that is not durable", "[lane]") {
  EngineDriver server(WithQuickRetries(Natural{}));
  CHECK(server.engine.DirtySince() == kNever);
  const TimePoint first = server.now;
  server.Put("k", "v1");
  server.now += 1ms;
  server.Put("other", "w");
  CHECK(server.engine.DirtySince() == first);
  const WriteBatch batch = server.Poll().writes[0];
  server.now += 1ms;
  const TimePoint again = server.now;
  server.Put("k", "v2");
  CHECK(server.engine.DirtySince() == first);  // in flight
  server.now += 1ms;
  const WriteBatch next = server.Done(batch).writes.at(0);
  CHECK(server.engine.DirtySince() == again);
  server.Done(next, {.items = {{0, Errc::kTransient}}});
  CHECK(server.engine.DirtySince() == again);  // paused
  server.Done(server.NextSend().writes.at(0));
  CHECK(server.engine.DirtySince() == kNever);
}

TEST_CASE("statistics add up", "[lane]") {
  EngineDriver server(WithQuickRetries(Natural{}));
  for (int i = 0; i < 10; ++i) server.Put("hot", "v");
  server.Put("cold", "v");
  const WriteBatch batch = server.Poll().writes[0];
  server.now += 5ms;
  server.Done(batch, {.items = {{1, Errc::kRefused}}});
  const LaneStats stats = server.Stats();
  CHECK(stats.keys_marked == 11);
  CHECK(stats.batches_sent == 1);
  CHECK(stats.writes_sent == 2);
  CHECK(stats.writes_done == 1);
  CHECK(stats.writes_refused == 1);
  CHECK(stats.CollapseRatio() == 11);
  CHECK(stats.store_latency.max() == 5'000'000);
  CHECK(stats.batch_items.max() == 2);
  CHECK(stats.policy == "natural");
}

}  // namespace
}  // namespace stout
