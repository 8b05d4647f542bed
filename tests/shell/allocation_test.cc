// Calls that take no memory in the steady state. It counts every operator new of the program
// meanwhile.

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "stout/adapters/memory_store.h"
#include "stout/interposer.h"
#include "stout/write_back_map.h"
#include "tests/shell/replica_world.h"
#include "tests/shell/world.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using test::AllocationsOf;

std::vector<std::string> Keys(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) {
    keys.push_back("a key beyond the small string optimisation, number " + std::to_string(i));
  }
  return keys;
}

TEST_CASE("marking and replying do not allocate in the steady state", "[allocation]") {
  World world(Patient());
  world.store.answer_writes_inline = true;
  world.Open();
  const std::vector<std::string> keys = Keys(1000);
  std::uint64_t turn = 0;
  std::uint64_t marks = 0;
  std::uint64_t replies = 0;
  int answered = 0;
  // All rounds in one run of the context: Asio keeps the memory of its handlers for that long.
  int rounds = 5;
  std::function<void()> round = [&] {
    turn = AllocationsOf([&] { (void)world.interposer->MarkDirty(keys.front(), 100); });
    marks = AllocationsOf([&] {
      for (const std::string& key : keys) (void)world.interposer->MarkDirty(key, 100);
    });
    replies = AllocationsOf([&] {
      for (const std::string& key : keys) {
        world.interposer->SafeReply(key, [&answered](ErrorCode) { ++answered; });
      }
    });
    if (--rounds > 0) {
      world.interposer->SafeReply(keys.back(), [&round](ErrorCode) { round(); });
    }
  };
  world.On([&] { round(); });
  CHECK(answered == 5000);
  CHECK(turn <= 1);  // the first change of a turn schedules it: Asio asks the erased executor
  CHECK(marks == 0);
  CHECK(replies == 0);
}

TEST_CASE("a batch costs a few allocations, however many keys are in it", "[allocation]") {
  World world(Patient());
  world.store.answer_writes_inline = true;
  world.Open();
  const std::vector<std::string> keys = Keys(1000);
  for (const std::string& key : keys) world.state[key] = std::string(100, 'x');
  std::uint64_t cost = 0;
  int answered = 0;
  for (int round = 0; round < 5; ++round) {
    boost::asio::post(world.interposer->get_executor(), [&] {
      for (const std::string& key : keys) {
        (void)world.interposer->MarkDirty(key, 100);
        world.interposer->SafeReply(key, [&answered](ErrorCode) { ++answered; });
      }
    });
    cost = AllocationsOf([&] { world.Turn(); });
  }
  CHECK(answered == 5000);
  CHECK(cost <= 20);
}

TEST_CASE("the copies of large values are freed with their batch", "[allocation][memory]") {
  EngineOptions options = Patient();
  options.lane.max_batch_bytes = std::size_t{3} << 20;
  World world(options);
  world.store.answer_writes_inline = true;
  world.Open();
  const auto write = [&](std::size_t size) {
    const std::vector<std::string> keys = Keys(20);
    for (const std::string& key : keys) world.state[key] = std::string(size, 'x');
    world.On([&] {
      for (const std::string& key : keys) (void)world.interposer->MarkDirty(key, size);
      world.interposer->Flush([](ErrorCode) {});
    });
    for (int i = 0; i < 20; ++i) world.Turn();
    REQUIRE(world.interposer->Stats().lanes[0].dirty_keys == 0);
    world.state.clear();
  };
  write(100);
  const std::size_t before = test::Bytes();
  write(std::size_t{1} << 20);  // batches of two, and one that did not fit
  CHECK(test::Bytes() < before + (std::size_t{1} << 19));
}

TEST_CASE("without memory for the text of an exception, the key is refused all the same",
          "[allocation][memory]") {
  struct Failure : std::exception {
    [[nodiscard]] const char* what() const noexcept override {
      return "a text that is too long to be kept inline by a string";
    }
  };
  World world(Patient());
  std::string why;
  world.interposer = std::make_unique<Interposer>(
      world.context.get_executor(), world.store,
      Application{.serialize = [](KeyView, std::string&) -> Serialized {
                    test::FailAllocation(1);
                    throw Failure();
                  },
                  .on_refused = [&](KeyView, ErrorCode,
                                    const Diagnostics& refused) { why = refused.message; }},
      Patient());
  world.Open();
  world.On([&] { CHECK(world.interposer->MarkDirty("k")); });
  world.Turn();
  CHECK(test::FailAllocation(0) == 0);
  CHECK(why == World::Name(Errc::kNotSerialized));
}

// Returns for how many of the keys `call(key)` has not thrown std::bad_alloc.
template <typename Call>
std::size_t CountTaken(const std::vector<std::string>& keys, const Call& call) {
  std::size_t taken = 0;
  for (const std::string& key : keys) {
    try {
      call(key);
      ++taken;
    } catch (const std::bad_alloc&) {
    }
  }
  return taken;
}

// Runs `use(key, answered)` for many keys, with one allocation that fails, the first, the second
// and so on. What it has done before it throws must not be seen.
template <typename Use>
void FailEachAllocation(const Use& use) {
  const std::vector<std::string> keys = Keys(100);  // more than the tables have room for at first
  std::size_t failing = 1;
  for (bool failed = true; failed; ++failing) {
    CAPTURE(failing);
    World world(Patient());
    world.store.answer_writes_inline = true;
    world.Open();
    for (const std::string& key : keys) world.state[key] = "value";
    std::size_t taken = 0;
    std::size_t answered = 0;
    std::size_t wrong = 0;
    const auto use_all = [&] {
      taken += CountTaken(keys, [&](const std::string& key) {
        use(*world.interposer, key, [&](ErrorCode ec) { ++(ec ? wrong : answered); });
      });
    };
    world.On([&] { failed = test::RunWithFailure(failing, use_all); });
    for (int i = 0; i < 5; ++i) world.Turn();
    while (!world.store.reads.empty()) {
      auto read = world.store.TakeRead();
      read.handler({Errc::kOk, std::vector<StoredState>(read.batch.keys.size())});
      world.Turn();
    }
    REQUIRE(answered == taken);
    REQUIRE(wrong == 0);
    REQUIRE(taken + failed == keys.size());
    const EngineStats stats = world.interposer->Stats();
    REQUIRE(stats.replies_held == 0);
    REQUIRE(stats.lanes[0].dirty_keys == 0);
    REQUIRE(stats.lanes[0].dirty_bytes == 0);
    REQUIRE(world.interposer->IsIdle());
  }
  CHECK(failing > 5);
}

TEST_CASE("a call that throws bad_alloc changes nothing", "[allocation][memory]") {
  SECTION("marks and replies") {
    FailEachAllocation([](Interposer& interposer, const std::string& key, auto answered) {
      (void)interposer.MarkDirty(key, 100);
      interposer.SafeReply(key, std::move(answered));
    });
  }
  SECTION("flushes") {
    FailEachAllocation([](Interposer& interposer, const std::string& key, auto answered) {
      (void)interposer.MarkDirty(key, 100);
      interposer.Flush(std::move(answered));
    });
  }
  SECTION("drains") {
    FailEachAllocation([](Interposer& interposer, const std::string&, auto answered) {
      interposer.Drain(std::move(answered));
    });
  }
  SECTION("fetches that yield, and then do not") {
    FailEachAllocation([](Interposer& interposer, const std::string& key, auto answered) {
      interposer.Fetch(key, {.yields = true}, [](ErrorCode, const StoredState&) {});
      interposer.Fetch(key, [answered](ErrorCode ec, const StoredState&) { answered(ec); });
    });
  }
  SECTION("fetches") {
    FailEachAllocation([](Interposer& interposer, const std::string& key, auto answered) {
      interposer.Fetch(key, [answered](ErrorCode ec, const StoredState&) { answered(ec); });
    });
  }
}

constexpr std::size_t kFewKeys = 10;

template <typename Options>
Options Tight() {
  Options options;
  options.engine = Patient();
  options.engine.lane.max_pending_reads = 2 * kFewKeys;
  return options;
}

// A map over a store that has all keys, each with itself as value.
struct OneStore {
  OneStore() {
    Open();
    for (const std::string& key : Keys(kFewKeys)) On([&] { REQUIRE(map->Put(key, key)); });
    Open();  // it has nothing in memory
  }
  void Open() {
    map =
        std::make_unique<WriteBackMap>(context.get_executor(), store, Tight<WriteBackMapOptions>());
    map->interposer().OpenWithEpoch(++epoch);
  }
  template <typename Call>
  void On(Call call) {
    boost::asio::post(map->get_executor(), std::move(call));
    context.restart();
    context.poll();
  }

  boost::asio::io_context context{1};
  MemoryStore store{context.get_executor()};
  Epoch epoch = 0;
  std::unique_ptr<WriteBackMap> map;
};

// As OneStore, over three stores.
struct ThreeStores {
  ThreeStores() {
    ReplicatedMapOptions options = Tight<ReplicatedMapOptions>();
    options.member_timeout = std::chrono::hours(1);
    map = &world.Open(options);
    for (const std::string& key : Keys(kFewKeys)) REQUIRE_FALSE(world.Put(*map, key, key));
    map = &world.Open(options);
  }
  template <typename Call>
  void On(Call call) {
    boost::asio::post(map->get_executor(), std::move(call));
    world.Turn();
  }

  ReplicaWorld world;
  ReplicatedMap* map = nullptr;
};

// As FailEachAllocation, for a map. `use(map, key, answered)` reports whether the answer is right.
template <typename Stores, typename Use>
void FailEachAllocationOf(const Use& use) {
  const std::vector<std::string> keys = Keys(kFewKeys);
  std::size_t failing = 1;
  for (bool failed = true; failed; ++failing) {
    CAPTURE(failing);
    Stores stores;
    std::size_t taken = 0;
    std::size_t answered = 0;
    std::size_t wrong = 0;
    const auto use_all = [&] {
      taken += CountTaken(keys, [&](const std::string& key) {
        use(*stores.map, key, [&](bool right) { ++(right ? answered : wrong); });
      });
    };
    stores.On([&] { failed = test::RunWithFailure(failing, use_all); });
    REQUIRE(answered == taken);
    REQUIRE(wrong == 0);
    REQUIRE(taken + failed == keys.size());
    stores.On(use_all);
    REQUIRE(answered == taken);
    REQUIRE(wrong == 0);
    // There is room for as many Gets as before.
    std::size_t got = 0;
    stores.On([&] {
      for (std::size_t i = 0; i < 2 * kFewKeys; ++i) {
        stores.map->Get("absent" + std::to_string(i / 2),
                        [&](ErrorCode ec, const KeyMap::Entry&) { got += ec ? 0 : 1; });
      }
    });
    REQUIRE(got == 2 * kFewKeys);
  }
  CHECK(failing > 5);
}

TEMPLATE_TEST_CASE("a call of a map that throws bad_alloc changes nothing", "[allocation][memory]",
                   OneStore, ThreeStores) {
  SECTION("reads") {
    FailEachAllocationOf<TestType>([](KeyMap& map, const std::string& key, auto answered) {
      map.Get(key, [key, answered](ErrorCode ec, const KeyMap::Entry& entry) {
        answered(!ec && entry.value && *entry.value == key);
      });
    });
  }
  SECTION("reads that join one that yields") {
    FailEachAllocationOf<TestType>([](KeyMap& map, const std::string& key, auto answered) {
      map.Get(key, {.yields = true}, [](ErrorCode, const KeyMap::Entry&) {});
      map.Get(key, [key, answered](ErrorCode ec, const KeyMap::Entry& entry) {
        answered(!ec && entry.value && *entry.value == key);
      });
    });
  }
  SECTION("changes and replies") {
    FailEachAllocationOf<TestType>([](KeyMap& map, const std::string& key, auto answered) {
      (void)map.Put(key, key);
      const KeyView view = key;
      map.SafeReply({&view, 1}, [answered](ErrorCode ec) { answered(!ec); });
    });
  }
  SECTION("flushes") {
    FailEachAllocationOf<TestType>([](KeyMap& map, const std::string&, auto answered) {
      map.Flush([answered](ErrorCode ec) { answered(!ec); });
    });
  }
  SECTION("counts") {
    FailEachAllocationOf<TestType>([](KeyMap& map, const std::string&, auto answered) {
      map.Count(1, std::chrono::hours(1),
                [answered](ErrorCode ec, std::uint32_t members) { answered(!ec && members >= 1); });
    });
  }
}

}  // namespace
}  // namespace stout
