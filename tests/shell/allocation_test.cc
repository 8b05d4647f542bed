// Calls that take no memory in the steady state. It counts every operator new of the program
// meanwhile.

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "stout/interposer.h"
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
      for (const std::string& key : keys) {
        try {
          use(*world.interposer, key, [&](ErrorCode ec) { ++(ec ? wrong : answered); });
          ++taken;
        } catch (const std::bad_alloc&) {
        }
      }
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

}  // namespace
}  // namespace stout
