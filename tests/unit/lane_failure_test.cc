// The writes of one lane when batches or single keys fail.
#include <chrono>
#include <string>
#include <vector>

#include "stout/core/lane.h"
#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

// --- Failure ---------------------------------------------------------------------------------

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

TEST_CASE("items that failed with a refused key are sent again together", "[lane]") {
  EngineDriver server;
  for (const char* key : {"a", "b", "c", "d"}) server.Put(key, "v");
  const WriteBatch batch = server.Poll().writes[0];
  // A transaction, rolled back because of "b".
  server.Done(batch, {.batch = Errc::kTransient, .items = {{1, Errc::kRefused}}});
  const Effects again = server.NextSend();
  REQUIRE(again.writes.size() == 1);
  CHECK(KeysOf(again.writes[0]) == Keys{"a", "c", "d"});
}

TEST_CASE("items that failed are repeated and the other items are done", "[lane]") {
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

TEST_CASE("batches that fail together do not cut the next one further", "[lane]") {
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

TEST_CASE("batches that fail together make the lane pause once, not once each", "[lane]") {
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

TEST_CASE("a key that failed often is sent alone and delays no other key", "[lane]") {
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

// --- Prefix ordering -------------------------------------------------------------------------

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

TEST_CASE("under prefix ordering all failed items are sent again in one batch", "[lane]") {
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

}  // namespace
}  // namespace stout
