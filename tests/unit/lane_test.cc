// The write side, one lane: what is sent, when, and what happens when it fails.
#include "stout/core/lane.h"

#include <chrono>
#include <string>
#include <vector>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

EngineOptions WithQuickRetries(Policy policy) {
  EngineOptions options;
  options.lane.write_policy = std::move(policy);
  options.lane.retry_first = 10ms;
  options.lane.retry_cap = 80ms;
  return options;
}

// --- Collapsing and versions
// -----------------------------------------------------------------------

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
  REQUIRE(first.writes == Writes{Batch(1, {Put("k", "v1", 1)})});
  server.Put("k", "v2");
  server.Put("other", "w");
  const Effects second = server.Poll();
  CHECK(second.writes == Writes{Batch(2, {Put("other", "w", 3)})});
  CHECK(server.Done(first.writes[0]).writes == Writes{Batch(3, {Put("k", "v2", 2)})});
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

// --- When
// ------------------------------------------------------------------------------------------

TEST_CASE("an idle lane sends at once under every policy but a ticking one", "[lane]") {
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
  CHECK(server.Poll().writes == Writes{Batch(1, {Put("a", "1", 1)}), Batch(2, {Put("b", "2", 2)})});
}

TEST_CASE("natural sends what has gathered when its batch is done", "[lane]") {
  EngineDriver server(WithQuickRetries(Natural{}));
  server.Put("a", "1");
  const Effects first = server.Poll();
  server.Put("b", "2");
  server.Put("c", "3");
  CHECK(server.Poll().writes.empty());
  CHECK(server.Done(first.writes[0]).writes ==
        Writes{Batch(2, {Put("b", "2", 2), Put("c", "3", 3)})});
}

TEST_CASE("fixed spaces the starts of sends and is no period to wait out", "[lane]") {
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

TEST_CASE("a full batch goes at once", "[lane]") {
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

TEST_CASE("a change is sent after max_delay whatever interval and window say", "[lane]") {
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

TEST_CASE("max_batches_in_flight holds against window and max_delay", "[lane]") {
  EngineOptions options = WithQuickRetries(Unbatched{});
  options.lane.max_batches_in_flight = 1;
  options.lane.max_delay = 1ms;
  EngineDriver server(options);
  server.Put("a", "1");
  server.Put("b", "2");
  CHECK(server.Poll().writes.size() == 1);
  CHECK(server.PollAfter(1s).writes.empty());
}

// --- Limits
// ----------------------------------------------------------------------------------------

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
  CHECK(server.Stats().dirty_bytes == 9);
}

TEST_CASE("a batch holds to max_batch_items and max_batch_bytes", "[lane]") {
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

// --- Failure
// ---------------------------------------------------------------------------------------

TEST_CASE("a failed batch is repeated after a pause, merged with newer changes", "[lane]") {
  const Errc errc = GENERATE(Errc::kTransient, Errc::kUnknown);
  EngineDriver server(WithQuickRetries(Natural{}));
  server.Put("k", "v1");
  server.SafeReply({"k"}, 1);
  const WriteBatch batch = server.Poll().writes[0];
  server.Put("k", "v2");
  const Effects failed = server.Done(batch, Whole(errc));
  CHECK(failed.writes.empty());
  CHECK(failed.replies.empty());
  CHECK(server.next - server.now >= 5ms);
  CHECK(server.next - server.now <= 10ms);
  const Effects again = server.NextSend();
  CHECK(again.writes == Writes{Batch(2, {Put("k", "v2", 2)})});
  CHECK(server.Done(again.writes[0]).replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("the pause of a lane doubles up to its cap", "[lane]") {
  EngineOptions options = WithQuickRetries(Natural{});
  options.lane.prefix_ordering = true;  // so that the batch stays whole
  options.lane.max_dirty_keys = 10;
  options.lane.max_dirty_bytes = 100;
  EngineDriver server(options);
  server.Put("k", "v");
  WriteBatch batch = server.Poll().writes[0];
  for (const Duration most : {10ms, 20ms, 40ms, 80ms, 80ms}) {
    CHECK(server.Done(batch, Whole(Errc::kTransient)).writes.empty());
    const Duration pause = server.next - server.now;
    CHECK(pause >= most / 2);
    CHECK(pause <= most);
    CHECK(server.PollAfter(pause - 1ns).writes.empty());
    batch = server.PollAfter(1ns).writes[0];
  }
  server.Done(batch);
  server.Put("k", "w");
  batch = server.Poll().writes[0];
  server.Done(batch, Whole(Errc::kTransient));
  CHECK(server.next - server.now <= 10ms);  // success has reset it
}

TEST_CASE("an attempt without an answer counts as unknown and is repeated", "[lane]") {
  EngineOptions options = WithQuickRetries(Natural{});
  options.lane.attempt_timeout = 100ms;
  EngineDriver server(options);
  server.Put("k", "v1");
  server.SafeReply({"k"}, 1);
  const WriteBatch lost = server.Poll().writes[0];
  CHECK(server.next == TimePoint(100ms));
  CHECK(server.PollAfter(100ms).writes.empty());  // the back-off
  const Effects again = server.NextSend();
  CHECK(again.writes == Writes{Batch(2, {Put("k", "v1", 1)})});

  SECTION("and a late answer is ignored") {
    CHECK(server.Done(lost).replies.empty());
    CHECK(server.engine.IsDirty({0, "k"}));
    CHECK(server.Stats().late_answers == 1);
  }
  CHECK(server.Done(again.writes[0]).replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("refused keys fail alone", "[lane]") {
  EngineDriver server;
  for (const char* key : {"a", "b", "c"}) server.Put(key, "v");
  server.SafeReply({"a"}, 1);
  server.SafeReply({"b"}, 2);
  server.SafeReply({"c"}, 3);
  const WriteBatch batch = server.Poll().writes[0];
  const Effects effects = server.Done(batch, {.items = {{1, Errc::kRefused}}});
  CHECK(effects.refused == std::vector<KeyRefused>{{0, "b", Errc::kRefused}});
  CHECK(effects.replies == Replies{{1, Errc::kOk}, {2, Errc::kRefused}, {3, Errc::kOk}});
  CHECK(server.Stats().dirty_keys == 0);
}

TEST_CASE("a batch to a damaged part of the store fails for good and is not repeated", "[lane]") {
  EngineDriver server;
  for (const char* key : {"a", "b"}) server.Put(key, "v");
  server.SafeReply({"a", "b"}, 1);
  const Effects effects = server.Done(server.Poll().writes[0], {.batch = Errc::kCorrupt});
  CHECK(effects.refused ==
        std::vector<KeyRefused>{{0, "a", Errc::kCorrupt}, {0, "b", Errc::kCorrupt}});
  CHECK(effects.replies == Replies{{1, Errc::kCorrupt}});
  CHECK(server.Stats().dirty_keys == 0);
  CHECK(server.Stats().retries == 0);
}

TEST_CASE("what failed with a refused key goes again together", "[lane]") {
  EngineDriver server;
  for (const char* key : {"a", "b", "c", "d"}) server.Put(key, "v");
  const WriteBatch batch = server.Poll().writes[0];
  // A transaction, rolled back because of "b".
  server.Done(batch, {.batch = Errc::kTransient, .items = {{1, Errc::kRefused}}});
  const Effects again = server.NextSend();
  REQUIRE(again.writes.size() == 1);
  CHECK(KeysOf(again.writes[0]) == Keys{"a", "c", "d"});
}

TEST_CASE("items that failed are repeated and the rest is done", "[lane]") {
  const Errc errc = GENERATE(Errc::kTransient, Errc::kUnknown);
  EngineDriver server;
  server.Put("a", "1");
  server.Put("b", "2");
  server.SafeReply({"a", "b"}, 1);
  const WriteBatch batch = server.Poll().writes[0];
  CHECK(server.Done(batch, {.items = {{0, errc}}}).replies.empty());
  CHECK_FALSE(server.engine.IsDirty({0, "b"}));
  const Effects again = server.NextSend();
  CHECK(again.writes == Writes{Batch(2, {Put("a", "1", 1)})});
  CHECK(server.Done(again.writes[0]).replies == Replies{{1, Errc::kOk}});
}

TEST_CASE("items that each failed by themselves pause, and the lane does not", "[lane]") {
  EngineOptions options = WithQuickRetries(Natural{});
  options.lane.retry_first = options.lane.retry_cap = 80ms;
  EngineDriver server(options);
  server.Put("a", "v");
  server.Put("b", "v");
  const WriteBatch batch = server.Poll().writes[0];
  for (const char* key : {"c", "d", "e"}) server.Put(key, "v");
  const bool named = GENERATE(true, false);
  CAPTURE(named);
  WriteResult result = Whole(Errc::kTransient);
  if (named) result.items = {{0, Errc::kTransient}, {1, Errc::kTransient}};
  const Effects effects = server.Done(batch, result);
  CHECK(server.Stats().batches_failed == 1);
  if (named) {
    REQUIRE(effects.writes.size() == 1);
    CHECK(KeysOf(effects.writes[0]) == Keys{"c", "d", "e"});
    server.Done(effects.writes[0]);
    CHECK(KeysOf(server.NextSend().writes.at(0)).size() <= 2);
  } else {
    CHECK(effects.writes.empty());  // the store itself may be in trouble
  }
}

TEST_CASE("a batch that is too large is halved at once, down to the key that is refused",
          "[lane]") {
  EngineDriver server;
  for (const char* key : {"a", "b", "c", "d"}) server.Put(key, "v");
  Effects effects = server.Poll();
  CHECK(KeysOf(effects.writes[0]) == Keys{"a", "b", "c", "d"});
  effects = server.Done(effects.writes[0], Whole(Errc::kTooLarge));
  CHECK(KeysOf(effects.writes.at(0)) == Keys{"a", "b"});
  effects = server.Done(effects.writes[0], Whole(Errc::kTooLarge));
  CHECK(KeysOf(effects.writes.at(0)) == Keys{"a"});
  effects = server.Done(effects.writes[0], Whole(Errc::kTooLarge));
  CHECK(effects.refused == std::vector<KeyRefused>{{0, "a", Errc::kTooLarge}});
  CHECK_FALSE(effects.writes.empty());
}

TEST_CASE("batches that fail side by side do not cut the next one further", "[lane]") {
  EngineOptions options = WithQuickRetries(Natural{.window = 3});
  options.lane.max_batch_items = 8;
  EngineDriver server(options);
  for (int i = 0; i < 24; ++i) server.Put("k" + std::to_string(i), "v");
  const Effects effects = server.Poll();
  REQUIRE(effects.writes.size() == 3);
  for (const WriteBatch& batch : effects.writes) {
    server.engine.WriteDone(0, batch.id, Whole(Errc::kTransient), server.now);
  }
  server.Poll();
  CHECK(server.NextSend().writes.at(0).items.size() == 4);
}

TEST_CASE("batches that fail side by side make the lane pause once, not once each", "[lane]") {
  EngineDriver server(WithQuickRetries(Unbatched{}));
  for (int i = 0; i < 20; ++i) server.Put("k" + std::to_string(i), "v");
  const Effects effects = server.Poll();
  REQUIRE(effects.writes.size() == 20);
  for (const WriteBatch& batch : effects.writes) {
    server.engine.WriteDone(0, batch.id, Whole(Errc::kTransient), server.now);
  }
  server.Put("other", "v");
  server.Poll();
  CHECK(server.PollAfter(10ms).writes.size() == 21);  // retry_first, and each key's own first pause
}

TEST_CASE("a batch that was sent after the pause and fails makes the next pause longer", "[lane]") {
  EngineDriver server(WithQuickRetries(Natural{.window = 2}));
  server.Put("a", "v");
  const WriteBatch first = server.Poll().writes.at(0);
  server.Put("b", "v");
  const WriteBatch second = server.Poll().writes.at(0);
  server.Done(first, Whole(Errc::kTransient));
  server.Done(server.NextSend().writes.at(0), Whole(Errc::kTransient));  // now 10 to 20 ms
  server.now += 5ms;
  server.Done(second, Whole(Errc::kTransient));  // of no more weight than the first
  server.Put("other", "v");
  CHECK(server.Poll().writes.empty());
  CHECK(server.PollAfter(4ms).writes.empty());
  CHECK_FALSE(server.PollAfter(11ms).writes.empty());
}

// The store fails every batch with "poison" as a whole. Returns the batches until all other keys
// are done.
int SendUntilOnlyPoisonIsLeft(EngineDriver& server) {
  int sent = 0;
  Effects effects = server.Poll();
  while (server.Stats().dirty_keys > 1 && sent < 1000) {
    if (effects.writes.empty()) {
      server.now = server.next;
      effects = server.Poll();
      continue;
    }
    const Writes writes = std::move(effects.writes);
    for (const WriteBatch& batch : writes) {
      ++sent;
      const Keys keys = KeysOf(batch);
      const bool poisoned = std::count(keys.begin(), keys.end(), "poison") > 0;
      server.engine.WriteDone(0, batch.id, Whole(poisoned ? Errc::kUnknown : Errc::kOk),
                              server.now);
    }
    effects = server.Poll();
  }
  return sent;
}

TEST_CASE("one poisoned key does not stop the queue", "[lane]") {
  EngineDriver server(WithQuickRetries(Natural{}));
  const int place = GENERATE(0, 13, 31);
  for (int i = 0; i < 32; ++i) server.Put(i == place ? "poison" : "k" + std::to_string(i), "v");
  CHECK(SendUntilOnlyPoisonIsLeft(server) <= 30);  // it is cornered by halving, three times
  CHECK(server.engine.IsDirty({0, "poison"}));
}

TEST_CASE("a key that failed often travels alone and holds up no other", "[lane]") {
  EngineDriver server(WithQuickRetries(Natural{.window = 2}));
  server.Put("poison", "v");
  WriteBatch poisoned = server.Poll().writes.at(0);
  for (int i = 0; i < 5; ++i) {  // alone, so it is blamed each time
    server.Done(poisoned, Whole(Errc::kTransient));
    poisoned = server.NextSend().writes.at(0);
  }
  for (int i = 0; i < 3; ++i) {  // the lane is well again: batches of 1, 2, 4, ...
    server.Put("healthy", "v");
    server.Done(server.NextSend().writes.at(0));
  }
  CHECK(server.Done(poisoned, Whole(Errc::kTransient)).writes.empty());
  for (const char* key : {"a", "b", "c"}) server.Put(key, "v");
  const Effects at_once = server.Poll();
  REQUIRE(at_once.writes.size() == 1);
  CHECK(KeysOf(at_once.writes[0]) == Keys{"a", "b", "c"});
  const Effects alone = server.NextSend();
  REQUIRE(alone.writes.size() == 1);
  CHECK(KeysOf(alone.writes[0]) == Keys{"poison"});
}

// --- Prefix ordering
// -------------------------------------------------------------------------------

EngineOptions Prefix() {
  EngineOptions options = WithQuickRetries(Natural{.window = 8});
  options.lane.prefix_ordering = true;
  options.lane.max_dirty_keys = 100;
  options.lane.max_dirty_bytes = 1000;
  return options;
}

TEST_CASE("prefix ordering sends one whole batch after another", "[lane]") {
  EngineDriver server(Prefix());
  server.Put("a", "1");
  const Effects first = server.Poll();
  REQUIRE(first.writes.size() == 1);
  server.Put("b", "2");
  server.Put("a", "3");
  server.Put("c", "4");
  server.engine.Flush(1, server.now);
  CHECK(server.Poll().writes.empty());  // not even for a flush
  WriteBatch second = Batch(2, {Put("b", "2", 2), Put("c", "4", 4), Put("a", "3", 3)});
  second.all_or_nothing = true;
  CHECK(server.Done(first.writes[0]).writes == Writes{second});
}

TEST_CASE("under prefix ordering all that failed goes again in one batch", "[lane]") {
  EngineDriver server(Prefix());
  for (const char* key : {"a", "b", "c", "d"}) server.Put(key, "v");
  const WriteBatch batch = server.Poll().writes.at(0);
  const WriteResult result =
      GENERATE(WriteResult{.batch = Errc::kTransient, .items = {}},
               WriteResult{.batch = Errc::kUnknown, .items = {}},
               WriteResult{.batch = Errc::kTransient, .items = {{1, Errc::kRefused}}});
  server.Put("e", "v");
  server.Done(batch, result);
  server.now = server.next;
  Keys expected{"a", "b", "c", "d", "e"};
  if (!result.items.empty()) expected = {"a", "c", "d", "e"};
  CHECK(KeysOf(server.Poll().writes.at(0)) == expected);
}

// --- Statistics and samples
// ------------------------------------------------------------------------

// Keeps what it observed where the test can see it.
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
