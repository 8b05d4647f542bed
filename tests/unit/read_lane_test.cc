// Fetches: what they show, what they share and how they end.
#include "stout/core/read_lane.h"

#include <chrono>
#include <string>
#include <vector>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "tests/unit/engine_driver.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

using Reads = std::vector<ReadBatch>;
using Fetched = std::vector<FetchDone>;

ReadBatch Read(BatchId id, std::vector<std::string> keys) {
  return {.id = id, .lane = 0, .keys = std::move(keys)};
}
StoredState Stored(std::string value, Version version) {
  return {.found = true, .value = std::move(value), .stamp = {3, version}};
}

TEST_CASE("a clean key is read from the store", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "a"}, 1, server.now);
  server.engine.Fetch({0, "b"}, 2, server.now);
  const Effects effects = server.Poll();
  REQUIRE(effects.reads == Reads{Read(1, {"a", "b"})});
  const Effects done = server.ReadDone(effects.reads[0], {.states = {Stored("v", 5), {}}});
  CHECK(done.fetched == Fetched{{1, Errc::kOk, Stored("v", 5)}, {2, Errc::kOk, {}}});
}

TEST_CASE("a read names the tenants that asked first, unless none has a name", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "a"}, 1, server.now);
  server.engine.Fetch({0, "b"}, 2, server.now, {.tenant = 7});
  server.engine.Fetch({0, "b"}, 3, server.now, {.tenant = 8});
  server.engine.Fetch({0, "c"}, 4, server.now);
  const ReadBatch read = server.Poll().reads.at(0);
  CHECK(read.keys == std::vector<std::string>{"a", "b", "c"});
  CHECK(read.tenants == std::vector<TenantId>{0, 7, 0});
}

TEST_CASE("a dirty key is served from the application's memory", "[read]") {
  EngineDriver server;
  server.Put("k", "v1");
  server.Put("k", "v2");
  server.Put("gone", "x");
  server.Delete("gone");
  server.engine.Fetch({0, "k"}, 1, server.now);
  server.engine.Fetch({0, "gone"}, 2, server.now);
  const Effects effects = server.Poll();
  CHECK(effects.reads.empty());
  CHECK(effects.fetched == Fetched{{1, Errc::kOk, {true, "v2", {EngineDriver::kEpoch, 2}}},
                                   {2, Errc::kOk, {false, "", {EngineDriver::kEpoch, 4}}}});
}

TEST_CASE("fetches of one key share a read", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "k"}, 1, server.now);
  server.engine.Fetch({0, "k"}, 2, server.now);
  const Effects effects = server.Poll();
  REQUIRE(effects.reads == Reads{Read(1, {"k"})});
  server.engine.Fetch({0, "k"}, 3, server.now);
  CHECK(server.Poll().reads.empty());
  const StoredState state = Stored("v", 5);
  CHECK(server.ReadDone(effects.reads[0], {.states = {state}}).fetched ==
        Fetched{{1, Errc::kOk, state}, {2, Errc::kOk, state}, {3, Errc::kOk, state}});
  CHECK(server.Stats().fetches_joined == 2);
}

TEST_CASE("a read in flight while its key changed and became durable is read again", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "k"}, 1, server.now);
  const ReadBatch stale = server.Poll().reads.at(0);
  server.Put("k", "new");
  server.Done(server.Poll().writes.at(0));
  server.engine.Fetch({0, "k"}, 2, server.now);  // joins; must not see what was before "new"
  const Effects again = server.ReadDone(stale, {.states = {Stored("old", 5)}});
  CHECK(again.fetched.empty());
  REQUIRE(again.reads == Reads{Read(3, {"k"})});
  CHECK(server.ReadDone(again.reads[0], {.states = {Stored("new", 6)}}).fetched.size() == 2);
}

TEST_CASE("a key that becomes dirty while it is read is served from memory", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "k"}, 1, server.now);
  const ReadBatch stale = server.Poll().reads.at(0);
  server.Put("k", "new");
  CHECK(server.ReadDone(stale, {.states = {Stored("old", 5)}}).fetched ==
        Fetched{{1, Errc::kOk, {true, "new", {EngineDriver::kEpoch, 1}}}});
}

TEST_CASE("a failed read is repeated after a pause", "[read]") {
  const Errc errc = GENERATE(Errc::kTransient, Errc::kUnknown);
  EngineOptions options;
  options.lane.max_batch_items = 1;  // full: the pause is all that it waits for
  options.lane.read_policy = Fixed{.interval = 1s};
  EngineDriver server(options);
  server.engine.Fetch({0, "k"}, 1, server.now);
  const ReadBatch first = server.Poll().reads.at(0);
  const Effects failed = server.ReadDone(first, {.errc = errc, .states = {}});
  CHECK(failed.fetched.empty());
  CHECK(failed.reads.empty());
  CHECK(server.next - server.now >= 5ms);
  CHECK(server.next - server.now <= 10ms);
  CHECK(server.NextSend().reads == Reads{Read(2, {"k"})});
}

TEST_CASE("a read without an answer is repeated and its late answer ignored", "[read]") {
  EngineOptions options;
  options.lane.attempt_timeout = 100ms;
  EngineDriver server(options);
  server.engine.Fetch({0, "k"}, 1, server.now);
  const ReadBatch lost = server.Poll().reads.at(0);
  server.PollAfter(100ms);
  const ReadBatch again = server.NextSend().reads.at(0);
  CHECK(server.ReadDone(lost, {.states = {Stored("late", 1)}}).fetched.empty());
  CHECK(server.ReadDone(again, {.states = {Stored("v", 2)}}).fetched ==
        Fetched{{1, Errc::kOk, Stored("v", 2)}});
}

TEST_CASE("a fetch fails at its deadline; a later one is served by the same read", "[read]") {
  EngineOptions options;
  options.reply_deadline = 50ms;
  EngineDriver server(options);
  server.engine.Fetch({0, "k"}, 1, server.now);
  const ReadBatch read = server.Poll().reads.at(0);
  CHECK(server.next == TimePoint(50ms));
  CHECK(server.PollAfter(50ms).fetched == Fetched{{1, Errc::kDeadline, {}}});
  server.engine.Fetch({0, "k"}, 2, server.now);
  CHECK(server.Poll().reads.empty());
  CHECK(server.ReadDone(read, {.states = {Stored("v", 5)}}).fetched ==
        Fetched{{2, Errc::kOk, Stored("v", 5)}});
}

TEST_CASE("beyond max_pending_reads a fetch is pushed back", "[read]") {
  EngineOptions options;
  options.lane.max_pending_reads = 2;
  EngineDriver server(options);
  server.engine.Fetch({0, "a"}, 1, server.now);
  server.engine.Fetch({0, "b"}, 2, server.now);
  server.engine.Fetch({0, "a"}, 3, server.now);
  Effects sent = server.Poll();
  CHECK(sent.fetched == Fetched{{3, Errc::kPushedBack, {}}});
  server.ReadDone(sent.reads.at(0), {.states = {Stored("v", 5), Stored("w", 6)}});
  server.engine.Fetch({0, "a"}, 4, server.now);  // there is room again
  CHECK(server.Poll().fetched.empty());
}

TEST_CASE("beyond max_reads_in_flight keys wait until the store has answered", "[read]") {
  EngineOptions options;
  options.lane.max_reads_in_flight = 3;
  EngineDriver server(options);
  server.engine.Fetch({0, "a"}, 1, server.now);
  server.engine.Fetch({0, "b"}, 2, server.now);
  const Effects first = server.Poll();
  REQUIRE(first.reads == Reads{Read(1, {"a", "b"})});
  for (const FetchId fetch : {3, 4, 5}) {
    server.engine.Fetch({0, "k" + std::to_string(fetch)}, fetch, server.now);
  }
  CHECK(server.Poll().reads == Reads{Read(2, {"k3"})});
  CHECK(server.Poll().reads.empty());
  const Effects answered = server.ReadDone(first.reads[0], {.states = {{}, {}}});
  CHECK(answered.fetched.size() == 2);
  CHECK(answered.reads == Reads{Read(3, {"k4", "k5"})});
}

TEST_CASE("one corrupt key fails its own fetches only", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "good"}, 1, server.now);
  server.engine.Fetch({0, "bad"}, 2, server.now);
  const ReadBatch read = server.Poll().reads.at(0);
  StoredState corrupt;
  corrupt.errc = Errc::kCorrupt;
  const Effects done = server.ReadDone(read, {.states = {Stored("v", 5), corrupt}});
  REQUIRE(done.fetched.size() == 2);
  CHECK(done.fetched[0] == FetchDone{1, Errc::kOk, Stored("v", 5)});
  CHECK(done.fetched[1].errc == Errc::kCorrupt);
}

TEST_CASE("an answer with too few states is corrupt, not a crash", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "k"}, 1, server.now);
  const ReadBatch read = server.Poll().reads.at(0);
  CHECK(server.ReadDone(read, {}).fetched == Fetched{{1, Errc::kCorrupt, {}}});
}

constexpr FetchOptions kYields{.yields = true};

TEST_CASE("reads that yield go in batches of their own, one at a time", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "y1"}, 1, server.now, kYields);
  server.engine.Fetch({0, "a"}, 2, server.now);
  server.engine.Fetch({0, "y2"}, 3, server.now, kYields);
  const Effects first = server.Poll();
  REQUIRE(first.reads == Reads{Read(1, {"a"}), Read(2, {"y1", "y2"})});
  server.engine.Fetch({0, "y3"}, 4, server.now, kYields);
  server.engine.Fetch({0, "b"}, 5, server.now);
  CHECK(server.Poll().reads == Reads{Read(3, {"b"})});
  CHECK(server.ReadDone(first.reads[1], {.states = {{}, {}}}).reads == Reads{Read(4, {"y3"})});
}

TEST_CASE("a lane with room for one read takes one that yields", "[read]") {
  EngineOptions options = Plain();
  options.lane.max_pending_reads = 1;
  EngineDriver server(options);
  server.engine.Fetch({0, "y1"}, 1, server.now, kYields);
  CHECK(server.Poll().reads == Reads{Read(1, {"y1"})});
}

TEST_CASE("neither kind of read keeps the other waiting", "[read]") {
  EngineOptions options = Plain();
  options.lane.read_policy = Natural{.window = 1};
  options.lane.max_reads_in_flight = 1;
  EngineDriver server(options);
  const bool yields_first = GENERATE(false, true);
  server.engine.Fetch({0, "a"}, 1, server.now, {.yields = yields_first});
  CHECK(server.Poll().reads == Reads{Read(1, {"a"})});
  server.engine.Fetch({0, "b"}, 2, server.now, {.yields = !yields_first});
  CHECK(server.Poll().reads == Reads{Read(2, {"b"})});
}

TEST_CASE("reads that yield pause as others were in flight beside them", "[read]") {
  EngineOptions options = Plain();
  options.lane.yield_pause = 3;
  EngineDriver server(options);
  server.engine.Fetch({0, "y"}, 1, server.now, kYields);
  const ReadBatch yielding = server.Poll().reads.at(0);
  server.engine.Fetch({0, "z"}, 2, server.now, kYields);
  server.PollAfter(5ms);
  SECTION("not if there were none") {
    CHECK(server.ReadDone(yielding, {.states = {{}}}).reads == Reads{Read(2, {"z"})});
  }
  SECTION("three times as long") {
    server.engine.Fetch({0, "a"}, 3, server.now);
    const ReadBatch other = server.Poll().reads.at(0);
    server.PollAfter(2ms);
    server.ReadDone(other, {.states = {{}}});
    server.PollAfter(5ms);
    CHECK(server.ReadDone(yielding, {.states = {{}}}).reads.empty());
    CHECK(server.next == server.now + 6ms);
    CHECK(server.NextSend().reads == Reads{Read(3, {"z"})});
  }
  SECTION("though others are still in flight") {
    server.engine.Fetch({0, "a"}, 3, server.now);
    CHECK(server.Poll().reads.size() == 1);
    server.PollAfter(2ms);
    server.ReadDone(yielding, {.states = {{}}});
    CHECK(server.next == server.now + 6ms);
  }
}

TEST_CASE("a key that another asks for who does not yield is read like others", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "y"}, 1, server.now, kYields);
  server.Poll();
  server.engine.Fetch({0, "k"}, 2, server.now, kYields);
  CHECK(server.Poll().reads.empty());
  server.engine.Fetch({0, "k"}, 3, server.now);
  const Effects sent = server.Poll();
  REQUIRE(sent.reads == Reads{Read(2, {"k"})});
  CHECK(server.ReadDone(sent.reads[0], {.states = {Stored("v", 5)}}).fetched.size() == 2);
}

TEST_CASE("reads that yield are repeated, and expire, like others", "[read]") {
  EngineOptions options = Plain();
  options.reply_deadline = 1s;
  EngineDriver server(options);
  server.engine.Fetch({0, "y"}, 1, server.now, kYields);
  const ReadBatch first = server.Poll().reads.at(0);
  server.engine.Fetch({0, "z"}, 2, server.now, kYields);
  CHECK(server.ReadDone(first, {.errc = Errc::kTransient, .states = {}}).reads.empty());
  const Effects again = server.NextSend();
  REQUIRE(again.reads == Reads{Read(2, {"y", "z"})});
  server.engine.Fetch({0, "late"}, 3, server.now, kYields);
  CHECK(server.PollAfter(1s).fetched ==
        Fetched{{1, Errc::kDeadline, {}}, {2, Errc::kDeadline, {}}, {3, Errc::kDeadline, {}}});
  CHECK(server.ReadDone(again.reads[0], {.states = {{}, {}}}).reads.empty());
}

TEST_CASE("the pause of reads that yield is short, though the store is slow", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "y"}, 1, server.now, kYields);
  server.engine.Fetch({0, "a"}, 2, server.now);
  const Effects sent = server.Poll();
  server.engine.Fetch({0, "z"}, 3, server.now, kYields);
  server.PollAfter(5s);
  server.ReadDone(sent.reads.at(1), {.states = {{}}});
  CHECK(server.next == server.now + 100ms);
}

TEST_CASE("a read that yields and is overtaken is read again", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "k"}, 1, server.now, kYields);
  const ReadBatch stale = server.Poll().reads.at(0);
  server.Put("k", "new");
  server.Done(server.Poll().writes.at(0));
  const Effects again = server.ReadDone(stale, {.states = {Stored("old", 5)}});
  REQUIRE(again.reads == Reads{Read(3, {"k"})});
  CHECK(server.ReadDone(again.reads[0], {.states = {Stored("new", 6)}}).fetched.size() == 1);
}

TEST_CASE("reads that yield end with the lane", "[read]") {
  EngineDriver server;
  server.engine.Fetch({0, "y"}, 1, server.now, kYields);
  const ReadBatch read = server.Poll().reads.at(0);
  server.engine.Fetch({0, "z"}, 2, server.now, kYields);
  server.engine.Fence(server.now);
  CHECK(server.Poll().fetched == Fetched{{1, Errc::kFenced, {}}, {2, Errc::kFenced, {}}});
  CHECK(server.ReadDone(read, {.states = {{}}}).reads.empty());
}

TEST_CASE("a backlog of reads that yield leaves room for others", "[read]") {
  EngineOptions options = Plain();
  options.lane.max_pending_reads = 4;
  EngineDriver server(options);
  for (const FetchId id : {1, 2, 3})
    server.engine.Fetch({0, "y" + std::to_string(id)}, id, server.now, kYields);
  CHECK(server.Take().fetched == Fetched{{3, Errc::kPushedBack, {}}});
  server.engine.Fetch({0, "a"}, 4, server.now);
  server.engine.Fetch({0, "b"}, 5, server.now);
  CHECK(server.Take().fetched.empty());
}

TEST_CASE("batches of reads that yield are small", "[read]") {
  EngineOptions options = Plain();
  std::size_t most = 0;
  SECTION("as the policy wants") {
    options.lane.read_policy = Unbatched{};
    most = 1;
  }
  SECTION("a part of max_reads_in_flight") {
    options.lane.max_reads_in_flight = 320;
    most = 20;
  }
  SECTION("but not tiny") {
    options.lane.max_reads_in_flight = 2;
    most = 16;
  }
  EngineDriver server(options);
  for (FetchId id = 1; id <= 100; ++id)
    server.engine.Fetch({0, "y" + std::to_string(id)}, id, server.now, kYields);
  CHECK(server.Poll().reads.at(0).keys.size() == most);
}

}  // namespace
}  // namespace stout
