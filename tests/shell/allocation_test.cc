// What costs no memory in the steady state. Counts every operator new of the binary while asked to.

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "stout/interposer.h"
#include "tests/shell/world.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STOUT_TEST_SANITIZED 1  // the sanitizer's own operators are not to be replaced
#endif

#ifndef STOUT_TEST_SANITIZED

namespace {
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> allocations{0};

void* Allocate(std::size_t size) {
  if (counting.load(std::memory_order_relaxed)) ++allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace stout {
namespace {

template <typename Call>
std::uint64_t AllocationsOf(Call call) {
  allocations = 0;
  counting = true;
  call();
  counting = false;
  return allocations;
}

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

}  // namespace
}  // namespace stout

#endif
