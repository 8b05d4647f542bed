// Calls that take no memory in the steady state. It counts every operator new of the program
// meanwhile.

#include <cstdint>
#include <functional>
#include <string>
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

}  // namespace
}  // namespace stout
