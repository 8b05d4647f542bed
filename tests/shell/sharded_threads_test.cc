// Shards that several threads use at the same time.
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
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
#include <string>
#include <vector>

#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
#include "stout/sharded.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using Executor = asio::any_io_executor;

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
