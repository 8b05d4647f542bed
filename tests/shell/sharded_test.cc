#include "stout/sharded.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using Executor = asio::any_io_executor;
using Log = World::Log;

// A shard per first character: "0..." is in shard 0.
std::size_t ByDigit(KeyView key) { return static_cast<std::size_t>(key.front() - '0'); }

// Two shards over a store that the test answers for. Every value is "v".
struct ShardedWorld {
  explicit ShardedWorld(EngineOptions options = Patient())
      : sharded(std::make_unique<ShardedInterposer>(
            context.get_executor(), 2,
            [&](const Executor& executor, std::size_t) {
              Application application{.serialize = [](KeyView, std::string& out) {
                out = "v";
                return Serialized::kValue;
              }};
              return std::make_unique<Interposer>(executor, store, std::move(application), options);
            },
            ByDigit)) {}

  void Open() {
    sharded->AsyncOpen(asio::detached);
    Turn();
  }
  void Turn() {
    context.restart();
    context.poll();
  }
  void Mark(KeyView key) {
    bool marked = false;
    sharded->AsyncMarkDirty(key, 1,
                            [&](ErrorCode ec, Stamp stamp) { marked = !ec && stamp.version != 0; });
    Turn();
    REQUIRE(marked);
  }

  asio::io_context context{1};
  ScriptedStore store;
  std::unique_ptr<ShardedInterposer> sharded;
};

TEST_CASE("all shards open under one epoch", "[sharded]") {
  ShardedWorld world;
  world.store.last_epoch = 4;
  ErrorCode fate = Errc::kUnknown;
  world.sharded->AsyncOpen([&](ErrorCode ec) { fate = ec; });
  CHECK(fate == Errc::kUnknown);
  world.Turn();
  CHECK_FALSE(fate);
  CHECK((*world.sharded)[0].epoch() == 5);
  CHECK((*world.sharded)[1].epoch() == 5);
  CHECK(world.store.last_epoch == 5);
}

TEST_CASE("all shards open one scope under one epoch", "[sharded]") {
  ShardedWorld world;
  world.store.last_epoch = 4;
  ErrorCode fate = Errc::kUnknown;
  world.sharded->AsyncOpenScope("all", [&](ErrorCode ec) { fate = ec; });
  world.Turn();
  REQUIRE(world.store.fences.size() == 1);
  CHECK(world.store.fences[0].epoch == 5);
  world.store.fences[0].handler({});
  world.Turn();
  REQUIRE(world.store.fences.size() == 2);  // the second shard's
  CHECK(world.store.fences[1].scope == "all");
  CHECK(world.store.fences[1].epoch == 5);
  CHECK(fate == Errc::kUnknown);
  world.store.fences[1].handler({});
  world.Turn();
  CHECK_FALSE(fate);
  CHECK((*world.sharded)[1].epoch() == 5);
}

TEST_CASE("opening reports what the store says", "[sharded]") {
  ShardedWorld world;
  world.store.hold_epochs = true;
  ErrorCode fate;
  world.sharded->AsyncOpen([&](ErrorCode ec) { fate = ec; });
  world.Turn();
  REQUIRE(world.store.epochs.size() == 1);
  SECTION("an error") {
    world.store.epochs.front()(Errc::kTransient, 0);
    world.Turn();
    CHECK(fate == Errc::kTransient);
  }
  SECTION("twice") {
    world.store.epochs.front()({}, 1);
    world.store.epochs.front()({}, 2);
    world.Turn();
    CHECK_FALSE(fate);
    CHECK((*world.sharded)[0].epoch() == 1);
    CHECK((*world.sharded)[1].epoch() == 1);
  }
  SECTION("after the shards are gone") {
    world.sharded.reset();
    world.store.epochs.front()({}, 1);
    world.Turn();
    CHECK(fate == Errc::kClosed);
  }
}

TEST_CASE("options that do not suit the store fail the opening of all shards", "[sharded]") {
  EngineOptions options = Plain();
  options.lane.max_batch_items = 0;
  ShardedWorld world(options);
  ErrorCode fate;
  world.sharded->AsyncOpen([&](ErrorCode ec) { fate = ec; });
  world.Turn();
  CHECK(fate == Errc::kBadOptions);
}

TEST_CASE("a reply over several shards waits for all of them", "[sharded]") {
  ShardedWorld world;
  world.Open();
  world.Mark("0");
  world.Mark("1");
  int done = 0;
  const auto count = [&](ErrorCode ec) {
    CHECK_FALSE(ec);
    ++done;
  };
  world.sharded->AsyncSafeReply({"0", "1", "1 clean"}, count);
  world.Turn();
  REQUIRE(world.store.writes.size() == 2);
  CHECK(world.store.writes[0].batch.items.size() == 1);
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(done == 0);
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(done == 1);
  world.sharded->AsyncSafeReply({}, count);
  CHECK(done == 1);
  world.Turn();
  CHECK(done == 2);
}

TEST_CASE("a reply over several shards fails with the first error, once all have ended",
          "[sharded]") {
  ShardedWorld world;
  world.Open();
  world.Mark("0");
  world.Mark("1");
  ErrorCode fate;
  int done = 0;
  world.sharded->AsyncSafeReply({"0", "1"}, [&](ErrorCode ec) {
    fate = ec;
    ++done;
  });
  world.Turn();
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  world.Turn();
  CHECK(done == 0);
  world.store.TakeWrite().handler({Errc::kFenced, {}});
  world.Turn();
  CHECK(done == 1);
  CHECK(fate == Errc::kRefused);
}

TEST_CASE("statistics come from every shard, in order", "[sharded]") {
  ShardedWorld world;
  world.Open();
  world.Mark("1");
  std::vector<EngineStats> stats;
  world.sharded->AsyncStats([&](std::vector<EngineStats> s) { stats = std::move(s); });
  CHECK(stats.empty());
  world.Turn();
  REQUIRE(stats.size() == 2);
  CHECK(stats[0].lanes[0].keys_marked == 0);
  CHECK(stats[1].lanes[0].keys_marked == 1);
}

TEST_CASE("calls under way when the shards are destroyed end with kClosed", "[sharded]") {
  ShardedWorld world;
  world.Open();
  world.Mark("0");
  std::vector<ErrorCode> fates;
  const auto log = [&](ErrorCode ec) { fates.push_back(ec); };
  world.sharded->AsyncSafeReply({"0", "1"}, log);  // none has reached its shard
  world.sharded->AsyncFlush(log);
  world.sharded->AsyncMarkDirty("1", 1, [&](ErrorCode ec, Stamp) { fates.push_back(ec); });
  world.sharded.reset();
  world.Turn();
  CHECK(fates == std::vector<ErrorCode>(3, Errc::kClosed));
}

// The store's refusal comes in the turn after the change, before any other call could.
TEST_CASE("a change that is refused at once is not taken for durable", "[sharded]") {
  EngineOptions options = Patient();
  options.lane.max_batch_bytes = 2;  // less than a key and its value
  ShardedWorld world(options);
  world.Open();
  ErrorCode fate;
  Stamp stamp;
  world.sharded->AsyncChange(
      "1 key", [](Interposer& shard, KeyView key) { return shard.MarkDirty(key); },
      [&](ErrorCode ec, Stamp changed) {
        fate = ec;
        stamp = changed;
      });
  world.Turn();
  CHECK(fate == Errc::kTooLarge);
  CHECK(stamp.version == 1);
}

TEST_CASE("a change whose reply would have no room is not made", "[sharded]") {
  EngineOptions options = Patient();
  options.max_replies = 1;
  ShardedWorld world(options);
  world.Open();
  std::size_t changes = 0;
  std::vector<std::pair<ErrorCode, Stamp>> outcomes;
  for (const KeyView key : {"1 a", "1 b"}) {
    world.sharded->AsyncChange(
        key,
        [&](Interposer& shard, KeyView own_key) {
          ++changes;
          return shard.MarkDirty(own_key);
        },
        [&](ErrorCode ec, Stamp stamp) {
          outcomes.push_back({ec, stamp});
        });
  }
  world.Turn();
  CHECK(changes == 1);
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes[0] == std::pair(ErrorCode(Errc::kPushedBack), Stamp()));
}

TEST_CASE("closing all shards fails what waits", "[sharded]") {
  ShardedWorld world;
  world.Open();
  world.Mark("0");
  ErrorCode reply;
  ErrorCode drain;
  bool closed = false;
  world.sharded->AsyncSafeReply({"0", "1"}, [&](ErrorCode ec) { reply = ec; });
  world.sharded->AsyncDrain([&](ErrorCode ec) { drain = ec; });
  world.Turn();
  world.sharded->AsyncClose([&](ErrorCode ec) { closed = !ec; });
  world.Turn();
  CHECK(closed);
  CHECK(reply == Errc::kClosed);
  CHECK(drain == Errc::kClosed);
}

TEST_CASE("a function runs on the strand of its key's shard, and its outcome comes back",
          "[sharded]") {
  ShardedWorld world;
  world.Open();
  Log log;
  const auto note = [&](const std::string& name) {
    return [&, name](ErrorCode ec, auto... value) {
      log.push_back(name + ": " + World::Name(ec) + (std::to_string(value) + ... + ""));
    };
  };
  ShardedInterposer& sharded = *world.sharded;
  Interposer* ran = nullptr;
  sharded.AsyncOn(
      "1",
      [&](Interposer& shard) {
        CHECK(shard.get_executor().running_in_this_thread());
        ran = &shard;
      },
      note("void"));
  CHECK(ran == nullptr);  // from outside the strand
  sharded.AsyncOn(
      "0", [](Interposer&) { return 7; }, note("value "));
  sharded.AsyncOn(
      "0", [](Interposer&) { return Result<int>(8); }, note("result "));
  sharded.AsyncOn(
      "0", [](Interposer&) { return Result<int>(Errc::kFenced); }, note("error "));
  sharded.AsyncOn(
      "0", [](Interposer&) { return ErrorCode(Errc::kRefused); }, note("code"));
  sharded.AsyncOn(
      "0", [](Interposer&) { return Result<void>(Errc::kRefused); }, note("nothing"));
  std::unique_ptr<int> owned;
  sharded.AsyncOn(
      "0", [one = std::make_unique<int>(1)](Interposer&) mutable { return std::move(one); },
      [&](ErrorCode, std::unique_ptr<int> got) { owned = std::move(got); });
  world.Turn();
  CHECK(ran == &sharded[1]);
  CHECK(log == Log{"void: ok", "value : ok7", "result : ok8",
                   "error : " + World::Name(Errc::kFenced) + "0",
                   "code: " + World::Name(Errc::kRefused),
                   "nothing: " + World::Name(Errc::kRefused)});
  REQUIRE(owned);
  CHECK(*owned == 1);

  log.clear();
  sharded.AsyncOn(
      "0", [&](Interposer&) { return 7; }, note("late "));
  world.sharded.reset();
  world.Turn();
  CHECK(log == Log{"late : " + World::Name(Errc::kClosed) + "0"});
}

// Two maps over a store that the test answers for.
struct ShardedMapWorld {
  ShardedMapWorld() {
    maps.AsyncOpen(asio::detached);
    Turn();
  }
  void Turn() {
    context.restart();
    context.poll();
  }
  auto Note(const std::string& name) {
    return [this, name](ErrorCode ec, auto result) {
      fates.push_back(name + ": " + World::Name(ec));
      if constexpr (std::is_same_v<decltype(result), Stamp>) {
        stamp = result;
      } else {
        entry = std::move(result);
      }
    };
  }

  asio::io_context context{1};
  ScriptedStore store;
  ShardedWriteBackMap maps{context.get_executor(), 2,
                           [this](const Executor& executor, std::size_t) {
                             return std::make_unique<WriteBackMap>(
                                 executor, store, WriteBackMapOptions{.engine = Patient()});
                           },
                           ByDigit};
  Log fates;
  Stamp stamp;
  WriteBackMap::Entry entry;
};

TEST_CASE("a put and a delete from any thread complete when they are durable", "[sharded]") {
  ShardedMapWorld world;
  world.maps.AsyncPut("1", "v", world.Note("put"));
  world.Turn();
  CHECK(world.fates.empty());
  auto write = world.store.TakeWrite();
  CHECK(write.batch.items == std::vector<WriteItem>{{"1", "v", WriteKind::kPut, 1}});
  write.handler({});
  world.Turn();
  CHECK(world.fates == Log{"put: ok"});
  CHECK(world.stamp == Stamp{1, 1});

  world.maps.AsyncDelete("1", world.Note("delete"));
  world.Turn();
  CHECK(world.fates.size() == 1);
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  world.Turn();
  CHECK(world.fates.back() == World::Entry("delete", Errc::kRefused));
  CHECK(world.stamp == Stamp{1, 2});  // it was made, and refused

  world.maps.AsyncClose(asio::detached);
  world.Turn();
  world.maps.AsyncPut("0", "v", world.Note("closed"));
  world.Turn();
  CHECK(world.fates.back() == World::Entry("closed", Errc::kClosed));
  CHECK(world.stamp == Stamp{});  // it was not made
}

TEST_CASE("a get from any thread shows no state that may be lost", "[sharded]") {
  ShardedMapWorld world;
  world.maps.AsyncGet("0", world.Note("absent"));
  world.Turn();
  world.store.TakeRead().handler({Errc::kOk, {StoredState{}}});
  world.Turn();
  CHECK(world.fates == Log{"absent: ok"});
  CHECK(world.entry.value == nullptr);

  world.maps.AsyncOn(
      "1", [](WriteBackMap& map) { return map.Put("1", "v"); }, asio::detached);
  world.maps.AsyncGet("1", world.Note("dirty"));
  world.Turn();
  CHECK(world.fates.size() == 1);
  auto write = world.store.TakeWrite();
  SECTION("it becomes durable") {
    write.handler({});
    world.Turn();
    CHECK(world.fates.back() == "dirty: ok");
    REQUIRE(world.entry.value);
    CHECK(*world.entry.value == "v");
  }
  SECTION("it is refused") {
    write.handler({Errc::kRefused, {}});
    world.Turn();
    CHECK(world.fates.back() == World::Entry("dirty", Errc::kRefused));
    CHECK(world.entry.value == nullptr);
  }
  SECTION("it is refused while another get is under way") {
    world.maps.AsyncGet("1", world.Note("late"));
    write.handler({Errc::kRefused, {}});
    world.Turn();
    REQUIRE(world.fates == Log{"absent: ok", World::Entry("dirty", Errc::kRefused)});
    world.store.TakeRead().handler({Errc::kOk, {StoredState{}}});
    world.Turn();
    CHECK(world.fates.back() == "late: ok");
    CHECK(world.entry.value == nullptr);
  }
}

TEST_CASE("a put that is cancelled leaves its reply nowhere", "[sharded]") {
  ShardedMapWorld world;
  asio::cancellation_signal signal;
  world.maps.AsyncPut("1", "v", asio::bind_cancellation_slot(signal.slot(), world.Note("put")));
  if (GENERATE(true, false)) world.Turn();  // before or after it reaches the shard
  signal.emit(asio::cancellation_type::terminal);
  world.Turn();
  REQUIRE(world.fates.size() == 1);
  CHECK(world.maps[1].interposer().Stats().replies_held == 0);
  CHECK(world.store.writes.size() == 1);  // the change goes on
}

}  // namespace
}  // namespace stout
