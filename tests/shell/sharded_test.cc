#include "stout/sharded.h"

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
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

// --- With threads ------------------------------------------------------------------------------

constexpr int kKeys = 40;
constexpr int kClients = 8;
constexpr int kRounds = 150;

// The states of an application, one map a shard: each is touched on its shard's strand alone.
struct Shard {
  std::map<std::string, std::string, std::less<>> state;
};

std::string KeyOf(int i) { return "key" + std::to_string(i); }

std::map<std::string, std::string> Content(Store& store) {
  ReadBatch batch{.id = 1, .lane = 0, .keys = {}};
  for (int i = 0; i < kKeys; ++i) batch.keys.push_back(KeyOf(i));
  std::promise<ReadResult> read;
  store.Read(batch, [&](ReadResult result) { read.set_value(std::move(result)); });
  const ReadResult result = read.get_future().get();
  std::map<std::string, std::string> content;
  for (int i = 0; i < kKeys; ++i) {
    const StoredState& state = result.states[static_cast<std::size_t>(i)];
    if (state.found) content[KeyOf(i)] = state.value;
  }
  return content;
}

EngineOptions Hammered() {
  EngineOptions options = Hasty();
  options.lane.attempt_timeout = std::chrono::milliseconds(20);
  options.lane.retry_cap = std::chrono::milliseconds(1);
  return options;
}

FaultyOptions Faults(std::uint64_t seed) {
  FaultyOptions faults;
  faults.writes = {.delay = 0.1,
                   .fail = 0.05,
                   .lose_request = 0.01,
                   .lose_answer = 0.01,
                   .unknown = 0.05,
                   .apply_late = 0.05,
                   .apply_twice = 0.05,
                   .partial = 0.05};
  faults.delay_min = std::chrono::microseconds(10);
  faults.delay_max = std::chrono::milliseconds(2);
  faults.seed = seed;
  return faults;
}

TEST_CASE("drained shards may be destroyed while the threads run", "[sharded][threads]") {
  asio::thread_pool pool(2);
  MemoryOptions slow;
  slow.latency.latency = std::chrono::microseconds(50);
  MemoryStore store(pool.get_executor(), slow);
  for (int round = 0; round < 20; ++round) {
    auto maps = std::make_unique<ShardedWriteBackMap>(
        pool.get_executor(), 4, [&](const Executor& executor, std::size_t) {
          return std::make_unique<WriteBackMap>(executor, store);
        });
    maps->AsyncOpen(asio::use_future).get();
    std::atomic<int> answered{0};
    for (int i = 0; i < kKeys; ++i) {
      WriteBackMap& map = maps->For(KeyOf(i));
      asio::post(map.get_executor(), [&map, &answered, key = KeyOf(i)] {
        (void)map.Put(key, "v");
        const KeyView view = key;
        map.SafeReply({&view, 1}, [&answered](ErrorCode ec) { answered += ec ? 0 : 1; });
      });
    }
    maps->AsyncDrain(asio::use_future).get();
    CHECK(answered == kKeys);
    maps.reset();
  }
  pool.join();
}

// Goal: under random changes from several threads over a store that fails, an answered reply means
// durable, and a drain leaves in the store exactly what the application has.
// Method: each client changes one or two keys, waits for both, and then reads the store past the
// faults: every stamp there must be at least the one that its change got.
TEST_CASE("threads hammer the shards: answered is durable, drained is all", "[sharded][threads]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  asio::thread_pool pool(3);
  FaultyStore store(pool.get_executor(), std::make_unique<MemoryStore>(pool.get_executor()),
                    Faults(seed));
  std::vector<Shard> shards(4);
  ShardedInterposer sharded(
      pool.get_executor(), shards.size(), [&](const Executor& executor, std::size_t i) {
        Application application{.serialize = [&, i](KeyView key, std::string& out) {
          const auto found = shards[i].state.find(key);
          if (found == shards[i].state.end()) return Serialized::kAbsent;
          out = found->second;
          return Serialized::kValue;
        }};
        EngineOptions options = Hammered();
        options.seed = seed + i;
        return std::make_unique<Interposer>(executor, store, std::move(application), options);
      });
  sharded.AsyncOpen(asio::use_future).get();

  std::atomic<int> broken{0};
  std::atomic<int> answered{0};
  std::atomic<int> failed{0};
  // Changes a key on its shard's strand and answers the stamp.
  const auto change = [&](std::string key, std::string value) -> asio::awaitable<Stamp> {
    Interposer& shard = sharded.For(key);
    Shard& mine = shards[sharded.IndexOf(key)];
    co_return co_await asio::co_spawn(
        shard.get_executor(),
        [&]() -> asio::awaitable<Stamp> {
          const Result<Stamp> stamp = shard.MarkDirty(key, value.size());
          if (!stamp) co_return Stamp{};
          value.empty() ? void(mine.state.erase(key)) : void(mine.state[key] = value);
          co_return *stamp;
        },
        asio::use_awaitable);
  };
  const auto client = [&](int id) -> asio::awaitable<void> {
    std::mt19937_64 random(seed * 1000 + static_cast<unsigned>(id));
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::string> keys;
      std::vector<Stamp> stamps;
      const std::size_t count = 1 + random() % 2;
      for (std::size_t i = 0; i < count; ++i) {
        std::string key = KeyOf(static_cast<int>(random() % kKeys));
        std::string value;
        if (random() % 5 != 0) value = std::to_string(id) + "/" + std::to_string(round);
        stamps.push_back(co_await change(key, value));
        keys.push_back(std::move(key));
      }
      const auto [ec] = co_await sharded.AsyncSafeReply(keys, asio::as_tuple(asio::use_awaitable));
      ec ? ++failed : ++answered;
      const ReadBatch batch{.id = 1, .lane = 0, .keys = keys};
      ReadResult durable = co_await store.underneath().AsyncRead(batch, asio::use_awaitable);
      for (std::size_t i = 0; i < count; ++i) {
        if (!ec && durable.states[i].stamp < stamps[i]) ++broken;
      }
    }
  };
  std::vector<std::future<void>> clients;
  for (int id = 0; id < kClients; ++id) {
    clients.push_back(asio::co_spawn(
        pool, [&, id] { return client(id); }, asio::use_future));
  }
  for (std::future<void>& done : clients) done.get();
  CHECK(broken == 0);
  CHECK(failed == 0);
  CHECK(answered == kClients * kRounds);

  sharded.AsyncDrain(asio::use_future).get();
  std::map<std::string, std::string> expected;
  for (const Shard& shard : shards) expected.insert(shard.state.begin(), shard.state.end());
  CHECK(Content(store.underneath()) == expected);
  const std::vector<EngineStats> stats = sharded.AsyncStats(asio::use_future).get();
  for (const EngineStats& shard : stats) {
    CHECK(shard.lanes[0].dirty_keys == 0);
    CHECK(shard.replies_held == 0);
  }
  sharded.AsyncClose(asio::use_future).get();
  pool.join();
}

// The same for maps, with a cache too small for all keys, so that gets go to the store.
TEST_CASE("threads hammer sharded maps: each get shows the newest value", "[sharded][threads]") {
  const auto seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  asio::thread_pool pool(3);
  FaultyOptions faults = Faults(seed);
  faults.reads = {.delay = 0.1, .fail = 0.05, .lose_request = 0.01, .lose_answer = 0.01};
  FaultyStore store(pool.get_executor(), std::make_unique<MemoryStore>(pool.get_executor()),
                    std::move(faults));
  ShardedWriteBackMap maps(pool.get_executor(), 4, [&](const Executor& executor, std::size_t i) {
    WriteBackMapOptions options{.engine = Hammered(), .cache_bytes = 40};
    options.engine.seed = seed + i;
    return std::make_unique<WriteBackMap>(executor, store, options);
  });
  const auto open = [&]() -> asio::awaitable<void> {
    ErrorCode fate = Errc::kUnknown;
    while (fate == Errc::kTransient || fate == Errc::kUnknown) {
      const auto [ec] = co_await maps.AsyncOpen(asio::as_tuple(asio::use_awaitable));
      fate = ec;
    }
    if (fate) throw boost::system::system_error(fate);
  };
  asio::co_spawn(pool, open, asio::use_future).get();

  std::atomic<int> broken{0};
  // A client has keys of its own, so it knows what it must read.
  const auto client = [&](int id) -> asio::awaitable<std::map<std::string, std::string>> {
    std::mt19937_64 random(seed * 1000 + static_cast<unsigned>(id));
    std::map<std::string, std::string> model;
    for (int round = 0; round < kRounds; ++round) {
      const std::string key =
          KeyOf(id + kClients * static_cast<int>(random() % (kKeys / kClients)));
      const std::string value = std::to_string(round);
      const auto kind = random() % 4;
      const auto& token = asio::use_awaitable;
      if (kind == 0) {
        const auto put = [&](WriteBackMap& map) { return map.Put(key, value); };
        co_await maps.AsyncOn(key, put, token);
        model[key] = value;
      } else if (kind == 1) {
        const auto remove = [&](WriteBackMap& map) { return map.Delete(key); };
        co_await maps.AsyncOn(key, remove, token);
        model.erase(key);
      } else {
        const WriteBackMap::Entry entry = co_await maps.AsyncGet(key, token);
        const auto found = model.find(key);
        const bool same =
            found == model.end() ? !entry.value : entry.value && *entry.value == found->second;
        if (!same) ++broken;
      }
      if (random() % 3 == 0) co_await maps.AsyncSafeReply(key, token);
    }
    co_return model;
  };
  std::vector<std::future<std::map<std::string, std::string>>> clients;
  for (int id = 0; id < kClients; ++id) {
    clients.push_back(asio::co_spawn(
        pool, [&, id] { return client(id); }, asio::use_future));
  }
  std::map<std::string, std::string> expected;
  for (auto& done : clients) expected.merge(done.get());
  CHECK(broken == 0);
  maps.AsyncDrain(asio::use_future).get();
  CHECK(Content(store.underneath()) == expected);
  maps.AsyncClose(asio::use_future).get();
  pool.join();
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

TEST_CASE("a coroutine off the strands marks, changes and replies", "[sharded][threads]") {
  asio::thread_pool pool(2);
  MemoryStore store(pool.get_executor());
  ShardedWriteBackMap maps(pool.get_executor(), 2, [&](const Executor& executor, std::size_t) {
    return std::make_unique<WriteBackMap>(executor, store);
  });
  const std::string key(100, 'k');  // on the heap: a copy that is destroyed twice is seen
  const auto serve = [&]() -> asio::awaitable<std::string> {
    const auto& token = asio::use_awaitable;
    co_await maps.AsyncOpen(token);
    const auto append = [key](WriteBackMap& map) {
      const auto before = map.Peek(key);
      return map.Put(key, (before ? *before->value : "") + "x");
    };
    for (int i = 0; i < 3; ++i) co_await maps.AsyncOn(key, append, token);
    co_await maps.AsyncSafeReply(key, token);
    co_await maps.AsyncPut(std::string(50, 'o'), std::string(100, 'v'), token);
    co_await maps.AsyncDelete(std::string(50, 'o'), token);
    const auto entry = co_await maps.AsyncGet(key, token);
    co_return *entry.value;
  };
  CHECK(asio::co_spawn(pool, serve, asio::use_future).get() == "xxx");
  maps.AsyncClose(asio::use_future).get();
  pool.join();
}

}  // namespace
}  // namespace stout
