#include "stout/write_back_map.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stout/adapters/memory_store.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using Entry = WriteBackMap::Entry;

std::optional<std::string> ValueOf(const Entry& entry) {
  return entry.value ? std::optional(*entry.value) : std::nullopt;
}

// A map over a store that the test answers for.
struct MapWorld {
  explicit MapWorld(WriteBackMapOptions options = {.engine = Hasty()}, LaneId partitions = 1)
      : store(partitions) {
    map = std::make_unique<WriteBackMap>(context.get_executor(), store, std::move(options));
    map->interposer().OpenWithEpoch(1);
  }

  template <typename Call>
  void On(Call call) {
    asio::post(map->get_executor(), std::move(call));
    Turn();
  }
  void Turn() {
    context.restart();
    context.poll();
  }
  void AnswerAll() {
    while (!store.writes.empty()) {
      store.TakeWrite().handler({});
      Turn();
    }
  }
  void Put(std::string key, std::string value) {
    On([&] { REQUIRE(map->Put(key, value)); });
  }
  std::optional<Entry> Peek(KeyView key) {
    std::optional<Entry> entry;
    On([&] { entry = map->Peek(key); });
    return entry;
  }
  // Returns the result of a Get; the store, if asked, has `stored`.
  std::optional<std::string> Get(KeyView key, StoredState stored = {}) {
    std::optional<Entry> got;
    On([&] {
      map->Get(key, [&](ErrorCode ec, Entry entry) {
        CHECK_FALSE(ec);
        got = std::move(entry);
      });
      CHECK_FALSE(got);
    });
    if (!store.reads.empty()) store.TakeRead().handler({Errc::kOk, {std::move(stored)}});
    Turn();
    REQUIRE(got);
    return ValueOf(*got);
  }

  asio::io_context context{1};
  ScriptedStore store;
  std::unique_ptr<WriteBackMap> map;
};

StoredState Stored(std::string value) {
  return {.found = true, .value = std::move(value), .stamp = {1, 1}, .errc = Errc::kOk};
}

TEST_CASE("put, get and delete, end to end", "[map]") {
  asio::io_context context;
  MemoryStore store(context.get_executor());
  const auto run = [&](auto body) {
    context.restart();
    WriteBackMap map(context.get_executor(), store);
    bool done = false;
    asio::co_spawn(
        map.get_executor(),
        [&]() -> asio::awaitable<void> {
          co_await map.AsyncOpen(asio::use_awaitable);
          co_await body(map);
          done = true;
        },
        asio::detached);
    context.run();
    CHECK(done);
  };
  Stamp written;
  run([&](WriteBackMap& map) -> asio::awaitable<void> {
    written = map.Put("kept", "v").value();
    CHECK(map.Put("gone", "v"));
    CHECK(map.Delete("gone"));
    co_await map.AsyncSafeReply({"kept", "gone"}, asio::use_awaitable);
  });
  run([&](WriteBackMap& map) -> asio::awaitable<void> {  // a new server
    const Entry kept = co_await map.AsyncGet("kept", asio::use_awaitable);
    CHECK(ValueOf(kept) == "v");
    CHECK(kept.stamp == written);
    const Entry gone = co_await map.AsyncGet("gone", asio::use_awaitable);
    CHECK(ValueOf(gone) == std::nullopt);
    CHECK(map.Put("kept", "w").value() > written);
    co_await map.interposer().AsyncDrain(asio::use_awaitable);
  });
}

TEST_CASE("a change is seen at once, its stamp too", "[map]") {
  MapWorld world;
  CHECK_FALSE(world.Peek("k"));
  world.Put("k", "1");
  world.Put("k", "2");
  CHECK(ValueOf(*world.Peek("k")) == "2");
  CHECK(world.Peek("k")->stamp == Stamp{1, 2});
  CHECK(world.Get("k") == "2");
  world.On([&] { CHECK(world.map->Delete("k")); });
  CHECK(ValueOf(*world.Peek("k")) == std::nullopt);
  CHECK(world.Get("k") == std::nullopt);
  CHECK(world.store.reads.empty());
}

TEST_CASE("what is not in the store is remembered too", "[map]") {
  MapWorld world;
  CHECK(world.Get("k") == std::nullopt);
  CHECK(world.map->interposer().Stats().lanes[0].reads_sent == 1);
  CHECK(world.Get("k") == std::nullopt);
  CHECK(world.map->interposer().Stats().lanes[0].reads_sent == 1);
  REQUIRE(world.Peek("k"));
  CHECK(world.Peek("k")->stamp == Stamp{});
}

TEST_CASE("what is put while a read is under way is newer than what it brings", "[map]") {
  MapWorld world;
  std::optional<std::string> got;
  world.On([&] { world.map->Get("k", [&](ErrorCode, Entry entry) { got = ValueOf(entry); }); });
  auto read = world.store.TakeRead();
  world.Put("k", "new");
  read.handler({Errc::kOk, {Stored("old")}});
  world.Turn();
  CHECK(got == "new");
  CHECK(ValueOf(*world.Peek("k")) == "new");
}

TEST_CASE("a get that fails says why and remembers nothing", "[map]") {
  MapWorld world;
  ErrorCode fate;
  world.On([&] { world.map->Get("k", [&](ErrorCode ec, Entry) { fate = ec; }); });
  world.store.TakeRead().handler({Errc::kCorrupt, {}});
  world.Turn();
  CHECK(fate == Errc::kCorrupt);
  CHECK_FALSE(world.Peek("k"));
}

TEST_CASE("gets of one key that wait for the store share one read", "[map]") {
  MapWorld world;
  std::vector<Entry> got;
  const auto get = [&] {
    world.map->Get("k", [&](ErrorCode ec, Entry entry) {
      CHECK_FALSE(ec);
      got.push_back(std::move(entry));
    });
  };
  world.On([&] {
    for (int i = 0; i < 3; ++i) get();
  });
  world.On(get);
  world.store.TakeRead().handler({Errc::kOk, {Stored("v")}});
  world.Turn();
  REQUIRE(got.size() == 4);
  for (const Entry& entry : got) {
    CHECK(ValueOf(entry) == "v");
    CHECK(entry.value == got[0].value);
  }
  CHECK(world.store.reads.empty());
  // A fetch for each would have a copy of the state for each.
  CHECK(world.map->interposer().Stats().lanes[0].fetches == 1);
}

TEST_CASE("gets that share a read share its failure, and then read again", "[map]") {
  MapWorld world;
  std::vector<ErrorCode> fates;
  const auto get = [&] {
    world.map->Get("k", [&](ErrorCode ec, const Entry&) { fates.push_back(ec); });
  };
  world.On([&] {
    get();
    get();
  });
  world.store.TakeRead().handler({Errc::kCorrupt, {}});
  world.Turn();
  CHECK(fates == std::vector<ErrorCode>{Errc::kCorrupt, Errc::kCorrupt});
  world.On(get);
  world.store.TakeRead().handler({Errc::kOk, {StoredState{}}});
  world.Turn();
  CHECK(fates.size() == 3);
  CHECK_FALSE(fates.back());
}

TEST_CASE("gets that share a read are bounded by max_pending_reads", "[map]") {
  EngineOptions engine = Hasty();
  engine.lane.max_pending_reads = 2;
  MapWorld world({.engine = engine});
  std::vector<ErrorCode> fates;
  world.On([&] {
    for (int i = 0; i < 4; ++i) {
      world.map->Get("k", [&](ErrorCode ec, const Entry&) { fates.push_back(ec); });
    }
  });
  CHECK(fates == std::vector<ErrorCode>{Errc::kPushedBack, Errc::kPushedBack});
  world.store.TakeRead().handler({Errc::kOk, {StoredState{}}});
  world.Turn();
  REQUIRE(fates.size() == 4);
  CHECK_FALSE(fates[2]);
  CHECK_FALSE(fates[3]);
}

TEST_CASE("a get that throws does not cost those that share its read their turn", "[map]") {
  MapWorld world;
  int got = 0;
  world.On([&] {
    world.map->Get("k", [](ErrorCode, const Entry&) { throw std::runtime_error("boom"); });
    world.map->Get("k", [&](ErrorCode, const Entry&) { ++got; });
  });
  world.store.TakeRead().handler({Errc::kOk, {Stored("v")}});
  CHECK_THROWS_WITH(world.Turn(), "boom");
  world.Turn();
  CHECK(got == 1);
}

// --- Memory ------------------------------------------------------------------------------------

// The bytes that the map counts for one key.
std::size_t BytesOf(const std::string& key, const std::string& value) {
  MapWorld world;
  world.Put(key, value);
  return world.map->cached_bytes();
}

TEST_CASE("bytes are counted, and all forgotten when all is gone", "[map]") {
  MapWorld world({.engine = Hasty(), .cache_bytes = 0});
  world.Put("key", std::string(1000, 'x'));
  const std::size_t large = world.map->cached_bytes();
  CHECK(large > 1000);
  world.Put("key", "1");
  const std::size_t small = world.map->cached_bytes();
  CHECK(small < large - 990);
  world.On([&] { CHECK(world.map->Delete("key")); });
  const std::size_t absent = world.map->cached_bytes();
  CHECK(absent < small);
  CHECK(absent > 100);  // a key without a value takes memory, too
  world.AnswerAll();
  world.Put("other key", "1");
  CHECK(world.map->cached_bytes() == small);
}

TEST_CASE("the least recently used clean keys make room", "[map]") {
  const std::string value(9, 'x');
  const std::size_t limit = 3 * BytesOf("a", value);
  MapWorld world({.engine = Hasty(), .cache_bytes = limit});
  for (const char* key : {"a", "b", "c"}) world.Put(key, value);
  CHECK(world.map->cached_bytes() == limit);
  world.AnswerAll();
  CHECK(world.Peek("a"));  // now b is the least recently used
  world.Put("d", value);
  CHECK(world.map->cached_bytes() == limit);
  CHECK_FALSE(world.Peek("b"));
  CHECK(world.Peek("a"));
  CHECK(world.Peek("c"));
  CHECK(world.Peek("d"));
  world.AnswerAll();
  CHECK(world.Get("b", Stored("x")) == "x");  // from the store
}

TEST_CASE("dirty keys are kept, whatever the limit", "[map]") {
  const std::size_t limit = BytesOf("last", "value");
  MapWorld world({.engine = Hasty(), .cache_bytes = limit});
  for (int i = 0; i < 100; ++i) world.Put("key" + std::to_string(i), "value");
  for (int i = 0; i < 100; ++i) CHECK(world.Peek("key" + std::to_string(i)));
  world.AnswerAll();
  // All are clean now; what comes next makes room for all of them that are too many.
  world.Put("last", "value");
  CHECK(world.map->cached_bytes() <= limit);
}

TEST_CASE("one large value makes room for itself, however many small ones that takes", "[map]") {
  const std::size_t limit = 1000 * BytesOf("1000", std::string(96, 'x'));
  MapWorld world({.engine = Hasty(), .cache_bytes = limit});
  for (int i = 0; i < 1000; ++i) world.Put(std::to_string(1000 + i), std::string(96, 'x'));
  world.AnswerAll();
  REQUIRE(world.map->cached_bytes() == limit);
  for (int i = 0; i < 5; ++i) {
    world.Put("large" + std::to_string(i), std::string(30'000, 'x'));
    world.AnswerAll();
    CHECK(world.map->cached_bytes() <= limit);
  }
}

TEST_CASE("a value that a caller still holds counts until it is released", "[map]") {
  const auto all = std::make_shared<std::atomic<std::size_t>>(0);
  const std::string value(10'000, 'x');
  const std::size_t two = 2 * BytesOf("a", value);
  MapWorld world({.engine = Hasty(), .cache_bytes = two, .lent_bytes = all});
  world.Put("a", value);
  world.AnswerAll();
  std::optional<Entry> held = world.Peek("a");
  CHECK(world.map->lent_bytes() == 0);  // it is the map's own
  world.Put("a", "small");
  CHECK(world.map->lent_bytes() > value.size());
  CHECK(all->load() == world.map->lent_bytes());
  world.AnswerAll();
  // There is room for one more beside it, not for two.
  world.Put("b", value);
  world.AnswerAll();
  world.Put("c", value);
  world.AnswerAll();
  CHECK_FALSE(world.Peek("b"));
  CHECK(world.map->cached_bytes() + world.map->lent_bytes() <= two);
  held.reset();
  CHECK(world.map->lent_bytes() == 0);
  auto lent = world.map->Lend(value);
  CHECK(*lent == value);
  CHECK(all->load() > value.size());
  world.map.reset();
  world.Turn();
  lent.reset();
  CHECK(all->load() == 0);
}

// --- Trouble -----------------------------------------------------------------------------------

TEST_CASE("a change that is not taken changes nothing", "[map]") {
  EngineOptions engine = Hasty();
  engine.lane.max_dirty_keys = 1;
  MapWorld world({.engine = engine});
  world.Put("a", "1");
  world.On([&] { CHECK(world.map->Put("b", "1").error() == Errc::kPushedBack); });
  CHECK_FALSE(world.Peek("b"));
  world.AnswerAll();
  world.On([&] { world.map->interposer().Drain([](ErrorCode) {}); });
  world.On([&] { CHECK(world.map->Put("a", "2").error() == Errc::kDraining); });
  world.On([&] { CHECK(world.map->Delete("a").error() == Errc::kDraining); });
  CHECK(ValueOf(*world.Peek("a")) == "1");
  world.On([&] { world.map->interposer().Close(); });
  world.On([&] { CHECK(world.map->Put("a", "2").error() == Errc::kClosed); });
  CHECK(ValueOf(*world.Peek("a")) == "1");
}

TEST_CASE("a refused change is undone: the next get reads what is durable", "[map]") {
  MapWorld world;
  world.Put("k", "good");
  world.AnswerAll();
  std::optional<bool> forgotten;
  ErrorCode fate;
  world.On([&] {
    CHECK(world.map->Put("k", "bad"));
    const KeyView key = "k";
    world.map->SafeReply({&key, 1}, [&](ErrorCode ec) {
      fate = ec;
      forgotten = !world.map->Peek("k");
    });
  });
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  world.Turn();
  CHECK(fate == Errc::kRefused);
  CHECK(forgotten == true);
  CHECK(world.Get("k", Stored("good")) == "good");
}

TEST_CASE("a refused change does not undo a newer one", "[map]") {
  MapWorld world;
  world.Put("k", "bad");
  world.Put("k", "newer");
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  world.Turn();
  CHECK(ValueOf(*world.Peek("k")) == "newer");
  REQUIRE(world.store.writes.size() == 1);
  CHECK(world.store.writes[0].batch.items[0].value == "newer");
}

TEST_CASE("a fenced lane's keys are forgotten, and those only", "[map]") {
  // The other lanes' dirty values exist only in memory: losing them would write deletes.
  EngineOptions engine = Patient();
  MapWorld world({.engine = engine}, 2);
  world.Put("0", "lost");
  world.Put("0 clean", "lost");
  world.Put("1", "mine");
  world.Put("1", "mine, still unsent");
  auto lost = world.store.TakeWrite();
  auto mine = world.store.TakeWrite();
  REQUIRE(lost.batch.lane == 0);
  lost.handler({Errc::kFenced, {}});
  world.Turn();
  CHECK_FALSE(world.Peek("0"));
  CHECK_FALSE(world.Peek("0 clean"));
  REQUIRE(world.Peek("1"));
  CHECK(ValueOf(*world.Peek("1")) == "mine, still unsent");
  CHECK(world.map->cached_bytes() == BytesOf("1", "mine, still unsent"));
  mine.handler({});
  world.Turn();
  REQUIRE(world.store.writes.size() == 1);
  CHECK(world.store.writes[0].batch.items ==
        std::vector<WriteItem>{{"1", "mine, still unsent", WriteKind::kPut, 2}});
  world.On([&] { CHECK(world.map->Put("0", "x").error() == Errc::kFenced); });
}

TEST_CASE("a lost store's keys are forgotten, those of all lanes", "[map]") {
  MapWorld world({.engine = Patient()}, 2);
  world.Put("0", "dirty");
  world.Put("1", "of another lane");
  world.store.TakeWrite().handler({Errc::kLost, {}});
  world.Turn();
  CHECK_FALSE(world.Peek("0"));
  CHECK_FALSE(world.Peek("1"));
  CHECK(world.map->cached_bytes() == 0);
  world.On([&] { CHECK(world.map->Put("1", "x").error() == Errc::kLost); });
}

TEST_CASE("a map may be destroyed while it is read, written and waited for", "[map]") {
  MapWorld world;
  std::vector<ErrorCode> fates;
  world.Put("k", "v");
  world.On([&] {
    world.map->Get("other", [&](ErrorCode ec, Entry) { fates.push_back(ec); });
    const KeyView key = "k";
    world.map->SafeReply({&key, 1}, [&](ErrorCode ec) { fates.push_back(ec); });
    world.map->Get("k", [&](ErrorCode ec, Entry entry) {
      CHECK_FALSE(ec);
      CHECK(ValueOf(entry) == "v");
      world.map.reset();  // inside one of its own handlers
    });
  });
  CHECK(fates == std::vector<ErrorCode>(2, Errc::kClosed));
  world.store.TakeRead().handler({Errc::kOk, {Stored("late")}});
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  world.Turn();
  CHECK(world.context.stopped());
}

TEST_CASE("a map destroyed while its context does not run is not asked for its values", "[map]") {
  MapWorld world;
  asio::post(world.map->get_executor(), [&] { REQUIRE(world.map->Put("k", "v")); });
  world.context.restart();
  world.context.run_one();  // its turn is still to come
  world.map.reset();
  world.Turn();
  CHECK(world.store.writes.empty());
}

TEST_CASE("a map's get handler may destroy the map as the read comes in", "[map]") {
  MapWorld world;
  bool ran = false;
  world.On([&] {
    world.map->Get("k", [&](ErrorCode ec, Entry entry) {
      CHECK_FALSE(ec);
      world.map.reset();
      CHECK(ValueOf(entry) == "v");
      ran = true;
    });
  });
  world.store.TakeRead().handler({Errc::kOk, {Stored("v")}});
  world.Turn();
  CHECK(ran);
}

TEST_CASE("a context runs until the store has found a page", "[map]") {
  MapWorld world;
  world.store.set_ordered();
  std::optional<ErrorCode> found;
  world.On([&] { world.map->Scan({}, [&](ErrorCode ec, const KeyPage&) { found = ec; }); });
  std::jthread store([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the context could end meanwhile
    world.store.TakeScan().handler({});
  });
  world.context.restart();
  world.context.run();
  CHECK(found == ErrorCode());
}

TEST_CASE("a page with a state that cannot be read fails, instead of lacking the key", "[map]") {
  MapWorld world;
  world.store.set_ordered();
  std::optional<ErrorCode> failed;
  world.On([&] { world.map->Scan({}, [&](ErrorCode ec, const KeyPage&) { failed = ec; }); });
  const StoredState damaged{.errc = Errc::kCorrupt};
  world.store.TakeScan().handler({Errc::kOk, {{"k", damaged}}, ""});
  world.Turn();
  REQUIRE(world.store.reads.size() == 1);
  world.store.TakeRead().handler({.errc = Errc::kOk, .states = {damaged}});
  world.Turn();
  REQUIRE(failed);
  CHECK(*failed == Errc::kCorrupt);
}

}  // namespace
}  // namespace stout
