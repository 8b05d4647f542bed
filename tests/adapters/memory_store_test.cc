#include "stout/adapters/memory_store.h"

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <vector>

#include "store_test_support.h"
#include "stout/adapters/delay_queue.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("without latency a memory store answers inside the call", "[memory]") {
  boost::asio::io_context context;
  MemoryStore store(context.get_executor());
  bool answered = false;
  store.Write(Batch(1, {Put("k", "v", 1)}), [&](WriteResult) { answered = true; });
  CHECK(answered);
}

TEST_CASE("a tombstone is collected by a write after its time", "[memory]") {
  boost::asio::io_context context;
  MemoryStore store(context.get_executor(), {.latency = {}, .tombstone_ttl = 0s});
  WriteNow(store, Batch(1, {Put("k", "v", 1), Put("again", "v", 2)}));
  WriteNow(store, Batch(1, {Delete("k", 3), Delete("again", 4)}));
  CHECK(ReadOne(store, "k").stamp == Stamp{1, 3});
  WriteNow(store, Batch(1, {Put("again", "v", 5)}));
  CHECK(ReadOne(store, "k") == StoredState{});
  CHECK(ReadOne(store, "again") == Found("v", {1, 5}));
}

// Lower bounds only: a machine may always be slower than it should.
TEST_CASE("the latency model serves calls in turn, by their size", "[memory]") {
  boost::asio::io_context context;
  const std::size_t workers = GENERATE(1, 2);
  MemoryStore store(context.get_executor(),
                    {.latency = {.latency = 2ms, .per_item = 1ms, .workers = workers}});
  const auto start = std::chrono::steady_clock::now();
  const WriteBatch large = Batch(1, {Put("a", "1", 1), Put("b", "2", 2), Put("c", "3", 3)});
  const WriteBatch small = Batch(1, {Put("a", "4", 4)});
  Duration large_done{}, small_done{};
  store.Write(large, [&](WriteResult) { large_done = std::chrono::steady_clock::now() - start; });
  store.Write(small, [&](WriteResult) { small_done = std::chrono::steady_clock::now() - start; });
  CHECK(large_done == 0s);
  context.run();
  CHECK(large_done >= 5ms);
  CHECK(small_done >= (workers == 1 ? 8ms : 3ms));
  if (workers == 2) CHECK(small_done <= large_done);
}

TEST_CASE("a read is told of the calls that wait behind it", "[memory]") {
  boost::asio::io_context context;
  MemoryStore store(context.get_executor(), {.latency = {.latency = 1us}});
  const WriteBatch write = Batch(1, {Put("k", "v", 1)});
  ReadBatch read;
  read.keys = {"k"};
  std::vector<std::size_t> queues;
  const auto note = [&](const ReadResult& result) { queues.push_back(result.queue); };
  store.Read(read, note);
  store.Write(write, [](const WriteResult&) {});
  store.Read(read, note);
  context.run();
  CHECK(queues == std::vector<std::size_t>{2, 0});
}

TEST_CASE("a full queue turns calls away at once", "[memory]") {
  boost::asio::io_context context;
  MemoryStore store(context.get_executor(), {.latency = {.latency = 1ms, .max_queue = 2}});
  const WriteBatch batch = Batch(1, {Put("a", "1", 1)});
  std::vector<Errc> answers;
  for (int i = 0; i < 3; ++i) {
    store.Write(batch, [&](WriteResult result) { answers.push_back(result.batch); });
  }
  CHECK(answers == std::vector{Errc::kTransient});
  context.run();
  CHECK(answers == std::vector{Errc::kTransient, Errc::kOk, Errc::kOk});
}

TEST_CASE("a delay queue runs tasks in order of time, then of scheduling", "[memory]") {
  boost::asio::io_context context;
  DelayQueue queue(context.get_executor());
  std::string order;
  const auto now = DelayQueue::Clock::now();
  queue.Schedule(now + 3ms, [&] { order += 'd'; });
  queue.Schedule(now + 1ms, [&] { order += 'b'; });
  queue.Schedule(now + 1ms, [&] {
    order += 'c';
    queue.Schedule(now, [&] { order += '!'; });
  });
  queue.Schedule(now - 1ms, [&] { order += 'a'; });
  CHECK(order.empty());
  context.run();
  CHECK(order == "abc!d");
}

TEST_CASE("a delay queue that ends runs what waits, without the executor's help", "[memory]") {
  boost::asio::io_context context;
  std::string order;
  {
    DelayQueue queue(context.get_executor());
    queue.Schedule(DelayQueue::Clock::now() + 2h, [&] { order += 'b'; });
    queue.Schedule(DelayQueue::Clock::now() + 1h, [&] {
      order += 'a';
      queue.Schedule(DelayQueue::Clock::now() + 3h, [&] { order += 'c'; });
    });
  }
  CHECK(order == "abc");
  CHECK(context.run() > 0);  // The cancelled wait, which finds nobody.
}

}  // namespace
}  // namespace stout::test
