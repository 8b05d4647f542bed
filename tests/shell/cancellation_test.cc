// A call that is cancelled completes at once, leaves nothing behind, and never completes again.

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "stout/adapters/memory_store.h"
#include "stout/sharded.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using asio::cancellation_type;
using Log = World::Log;

const std::string kAborted = make_error_code(asio::error::operation_aborted).message();

/// A handler that logs its name and fate, keeps `owned`, and can be cancelled by `signal`.
auto Cancellable(World& world, asio::cancellation_signal& signal, std::string name,
                 std::shared_ptr<int> owned) {
  return asio::bind_cancellation_slot(
      signal.slot(),
      [&world, name = std::move(name), owned = std::move(owned)](ErrorCode ec, auto&&...) {
        world.log.push_back(name + ": " + World::Name(ec));
      });
}

TEST_CASE("a reply that races with a timer returns when the timer does", "[cancellation]") {
  World world(Patient());
  world.Open();
  world.Set("a", "v");
  world.Set("b", "v");
  const std::vector<std::string> keys =
      GENERATE(std::vector<std::string>{"a"}, std::vector<std::string>{"a", "b", "clean"});
  asio::steady_timer timer(world.context, 1h);
  bool returned = false;
  const auto serve = [&]() -> asio::awaitable<void> {
    const auto first = co_await (world.interposer->AsyncSafeReply(keys, asio::use_awaitable) ||
                                 timer.async_wait(asio::as_tuple(asio::use_awaitable)));
    CHECK(first.index() == 1);
    returned = true;
  };
  world.On([&] { asio::co_spawn(world.interposer->get_executor(), serve, asio::detached); });
  CHECK(world.interposer->Stats().replies_held == 1);
  CHECK_FALSE(returned);
  timer.cancel();  // as if its time had come
  world.Turn();
  CHECK(returned);
  CHECK(world.interposer->Stats().replies_held == 0);
  CHECK(world.interposer->Stats().replies_failed == 0);
  CHECK(world.interposer->Stats().reply_latency.count() == 0);
  CHECK(world.store.writes.size() >= 1);  // the store still hangs
}

TEST_CASE("a coroutine off the strand abandons a reply of several shards", "[cancellation]") {
  asio::io_context context;
  ScriptedStore store;
  ShardedInterposer sharded(context.get_executor(), 3, [&](const auto& executor, std::size_t) {
    return std::make_unique<Interposer>(
        executor, store,
        Application{.serialize = [](KeyView, std::string&) { return Serialized::kAbsent; }},
        Patient());
  });
  std::vector<EngineStats> stats;
  const auto serve = [&]() -> asio::awaitable<void> {
    const auto& token = asio::use_awaitable;
    co_await sharded.AsyncOpen(token);
    const std::vector<std::string> keys = {"a", "b", "c", "d", "e", "f"};
    for (const std::string& key : keys) co_await sharded.AsyncMarkDirty(key, 1, token);
    asio::steady_timer timer(context, 1ms);
    (void)co_await (sharded.AsyncSafeReply(keys, token) || timer.async_wait(token));
    stats = co_await sharded.AsyncStats(token);
  };
  asio::co_spawn(context, serve, asio::detached);
  while (stats.empty()) REQUIRE(context.run_one() == 1);
  for (const EngineStats& shard : stats) CHECK(shard.replies_held == 0);
}

TEST_CASE("terminal and partial cancel a call, total alone does not", "[cancellation]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  asio::cancellation_signal signal;
  const auto owned = std::make_shared<int>();
  world.On(
      [&] { world.interposer->AsyncSafeReply("k", Cancellable(world, signal, "reply", owned)); });
  signal.emit(cancellation_type::total);
  world.Turn();
  CHECK(world.log.empty());
  const auto type =
      GENERATE(cancellation_type::terminal, cancellation_type::partial, cancellation_type::all);
  signal.emit(type);
  CHECK(world.log.empty());  // never inside the call
  world.Turn();
  CHECK(world.log == Log{"reply: " + kAborted});
  CHECK(owned.use_count() == 1);
  CHECK_FALSE(signal.slot().has_handler());
  signal.emit(type);
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log.size() == 1);
}

TEST_CASE("every call of an interposer can be cancelled", "[cancellation]") {
  World world(Patient());
  const auto owned = std::make_shared<int>();
  asio::cancellation_signal open;
  world.store.hold_epochs = true;
  world.interposer->AsyncOpen(Cancellable(world, open, "open", owned));
  world.Turn();
  open.emit(cancellation_type::terminal);
  world.Turn();
  world.store.epochs.front()({}, 1);
  world.Turn();
  CHECK(world.interposer->epoch() == 1);  // the opening itself went on
  world.Set("k", "v");

  asio::cancellation_signal flush, fetch, drain;
  world.On([&] {
    world.interposer->AsyncFlush(Cancellable(world, flush, "flush", owned));
    world.interposer->AsyncFetch("other", Cancellable(world, fetch, "fetch", owned));
  });
  CHECK(world.interposer->Stats().replies_held == 1);
  flush.emit(cancellation_type::terminal);
  fetch.emit(cancellation_type::terminal);
  world.Turn();
  CHECK(world.interposer->Stats().replies_held == 0);
  world.On([&] { world.interposer->AsyncDrain(Cancellable(world, drain, "drain", owned)); });
  drain.emit(cancellation_type::terminal);
  world.Turn();
  const Log all = {"open: " + kAborted, "flush: " + kAborted, "fetch: " + kAborted,
                   "drain: " + kAborted};
  CHECK(world.log == all);
  CHECK(owned.use_count() == 1);

  world.store.TakeWrite().handler({});
  world.store.TakeRead().handler({Errc::kOk, {StoredState{}}});
  world.Turn();
  CHECK(world.log == all);
}

TEST_CASE("a drain ends when the last reply is abandoned", "[cancellation]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  asio::cancellation_signal signal;
  world.On([&] {
    world.interposer->AsyncSafeReply("k", Cancellable(world, signal, "reply", nullptr));
    world.interposer->Drain(world.Logged("drain"));
  });
  signal.emit(cancellation_type::terminal);
  world.Turn();
  CHECK(world.log == Log{"reply: " + kAborted});
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log == Log{"reply: " + kAborted, "drain: ok"});
}

TEST_CASE("a reply that is about to run is cancelled, and runs once", "[cancellation]") {
  World world(Patient());
  world.Open();
  asio::cancellation_signal signal;
  world.On([&] {
    world.interposer->AsyncSafeReply("clean", Cancellable(world, signal, "reply", nullptr));
    signal.emit(cancellation_type::terminal);  // before the turn that would run it
  });
  CHECK(world.log == Log{"reply: " + kAborted});
  CHECK(world.interposer->Stats().replies_held == 0);
}

TEST_CASE("a cancellation of a reply that has run leaves a later one alone", "[cancellation]") {
  // The later reply has the id and the index of the earlier one.
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  UniqueFunction<void()> withdraw;
  world.On([&] {
    const KeyView key = "k";
    withdraw = world.interposer->WithdrawableReply({&key, 1}, world.Logged("first"));
  });
  world.store.TakeWrite().handler({});
  world.Turn();
  world.Set("k", "w");
  world.Reply("second", {"k"});
  withdraw();
  world.Turn();
  CHECK(world.interposer->Stats().replies_held == 1);
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log == Log{"first: ok", "second: ok"});
}

TEST_CASE("a call may be cancelled after its interposer is destroyed", "[cancellation]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  asio::cancellation_signal signal;
  world.On(
      [&] { world.interposer->AsyncSafeReply("k", Cancellable(world, signal, "reply", nullptr)); });
  world.interposer.reset();
  signal.emit(cancellation_type::terminal);
  world.Turn();
  CHECK(world.log == Log{"reply: " + kAborted});
}

/// Counts what is allocated and not yet given back.
template <typename T>
struct CountingAllocator {
  using value_type = T;
  explicit CountingAllocator(int* live) : live(live) {}
  template <typename U>
  CountingAllocator(const CountingAllocator<U>& other) : live(other.live) {}  // NOLINT
  T* allocate(std::size_t n) {
    ++*live;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --*live;
    std::allocator<T>().deallocate(p, n);
  }
  bool operator==(const CountingAllocator&) const = default;
  int* live;
};

TEST_CASE("a call uses its handler's allocator, and not once the handler runs", "[cancellation]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  int live = 0;
  std::optional<int> live_in_handler;
  asio::cancellation_signal signal;
  const bool has_slot = GENERATE(true, false);
  const bool cancel = GENERATE(true, false);
  auto handler = asio::bind_allocator(CountingAllocator<void>(&live),
                                      [&](ErrorCode) { live_in_handler = live; });
  world.On([&] {
    if (has_slot) {
      world.interposer->AsyncSafeReply(
          "k", asio::bind_cancellation_slot(signal.slot(), std::move(handler)));
    } else {
      world.interposer->AsyncSafeReply("k", std::move(handler));
    }
  });
  CHECK(live == 1);
  if (cancel) signal.emit(cancellation_type::terminal);
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(live_in_handler == 0);
}

TEST_CASE("a call is cancelled while it completes on another thread", "[cancellation]") {
  asio::thread_pool pool(2);
  MemoryStore store(pool.get_executor(), {.latency = {.latency = 50us}});
  ShardedInterposer sharded(pool.get_executor(), 2, [&](const auto& executor, std::size_t) {
    return std::make_unique<Interposer>(
        executor, store,
        Application{.serialize = [](KeyView, std::string&) { return Serialized::kAbsent; }},
        Plain());
  });
  sharded.AsyncOpen(asio::use_future).get();
  std::atomic<int> completed = 0;
  std::atomic<int> aborted = 0;
  const auto client = [&](unsigned seed) -> asio::awaitable<void> {
    const auto& token = asio::use_awaitable;
    std::minstd_rand random(seed);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (int i = 0; i < 200; ++i) {
      const std::vector<std::string> keys = {std::to_string(random() % 4), "other"};
      co_await sharded.AsyncMarkDirty(keys[0], 1, token);
      co_await sharded.AsyncMarkDirty(keys[1], 1, token);
      timer.expires_after(i % 8 == 0   ? Duration(1h)
                          : i % 8 == 1 ? Duration(0)
                                       : Duration(std::chrono::microseconds(random() % 400)));
      const auto first = co_await (sharded.AsyncSafeReply(keys, token) || timer.async_wait(token));
      ++(first.index() == 0 ? completed : aborted);
    }
  };
  std::vector<std::future<void>> clients;
  for (unsigned i = 0; i < 4; ++i) {
    clients.push_back(
        asio::co_spawn(asio::make_strand(pool.get_executor()), client(i), asio::use_future));
  }
  for (auto& done : clients) done.get();
  CAPTURE(completed, aborted);
  CHECK(completed + aborted == 800);
  CHECK(completed > 0);
  CHECK(aborted > 0);
  for (const EngineStats& shard : sharded.AsyncStats(asio::use_future).get()) {
    CHECK(shard.replies_held == 0);
  }
  sharded.AsyncDrain(asio::use_future).get();
  pool.join();
}

}  // namespace
}  // namespace stout
