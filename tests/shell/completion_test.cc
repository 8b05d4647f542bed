// Completion tokens: who runs a handler, where, and what waits for it.

#include "stout/completion.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/range/adaptor/transformed.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "stout/adapters/memory_store.h"
#include "stout/interposer.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using Log = World::Log;

TEST_CASE("a coroutine opens, marks, waits and fetches", "[completion]") {
  asio::io_context context;
  MemoryStore store(context.get_executor());
  std::string value = "v";
  Interposer interposer(context.get_executor(), store,
                        {.serialize =
                             [&](KeyView, std::string& out) {
                               out = value;
                               return Serialized::kValue;
                             },
                         .on_refused = {},
                         .on_fenced = {}});
  bool done = false;
  const auto serve = [&]() -> asio::awaitable<void> {
    const auto& token = asio::use_awaitable;
    co_await interposer.AsyncOpen(token);
    CHECK(interposer.MarkDirty("k"));
    co_await interposer.AsyncSafeReply("k", token);
    CHECK(interposer.get_executor().running_in_this_thread());
    CHECK_FALSE(interposer.IsDirty("k"));
    const StoredState state = co_await interposer.AsyncFetch("k", token);
    CHECK(state.value == "v");
    CHECK(state.stamp == Stamp{interposer.epoch(), 1});
    co_await interposer.AsyncFlush(token);
    co_await interposer.AsyncDrain(token);
    const auto [ec] = co_await interposer.AsyncFlush(asio::as_tuple(token));
    CHECK_FALSE(ec);
    interposer.Close();
    bool thrown = false;
    try {
      co_await interposer.AsyncSafeReply("k", token);
    } catch (const boost::system::system_error& error) {
      thrown = error.code() == Errc::kClosed;
    }
    CHECK(thrown);
    done = true;
  };
  asio::co_spawn(interposer.get_executor(), serve, asio::detached);
  context.run();
  CHECK(done);
}

TEST_CASE("a future is fulfilled from any thread", "[completion]") {
  asio::thread_pool pool(1);
  MemoryStore store(pool.get_executor());
  Interposer interposer(pool.get_executor(), store,
                        {.serialize = [](KeyView, std::string&) { return Serialized::kAbsent; }});
  std::future<void> opened = interposer.AsyncOpen(asio::use_future);
  opened.get();
  CHECK(interposer.epoch() == 1);
  std::future<void> drained = asio::dispatch(asio::bind_executor(
      interposer.get_executor(),
      std::packaged_task<void()>([&] { interposer.AsyncDrain(asio::detached); })));
  drained.get();
  pool.join();
}

TEST_CASE("a deferred call begins when it is launched, with keys of its own", "[completion]") {
  World world(Patient());
  world.Open();
  std::string key = "k";
  auto reply = world.interposer->AsyncSafeReply({key}, asio::deferred);
  auto fetch = world.interposer->AsyncFetch(key, asio::deferred);
  key = "overwritten";
  world.Set("k", "v");  // after the calls were made, before they begin
  bool ok = false;
  std::string fetched;
  world.On([&] {
    std::move(reply)([&](ErrorCode ec) { ok = !ec; });
    std::move(fetch)([&](ErrorCode, StoredState state) { fetched = state.value; });
  });
  CHECK_FALSE(ok);
  CHECK(fetched == "v");
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(ok);
}

TEST_CASE("a coroutine names one key, keys in braces, or a range of keys", "[completion]") {
  World world(Patient());
  world.store.answer_writes_inline = true;
  world.Open();
  const std::string key(100, 'k');  // on the heap: a copy that is destroyed twice is seen
  const std::string other(100, 'o');
  int answered = 0;
  const auto serve = [&]() -> asio::awaitable<void> {
    const auto& token = asio::use_awaitable;
    const std::vector<KeyView> views = {key, other};
    const std::set<std::string> set = {key, other};
    co_await world.interposer->AsyncSafeReply(key, token), ++answered;
    co_await world.interposer->AsyncSafeReply({}, token), ++answered;
    co_await world.interposer->AsyncSafeReply({key}, token), ++answered;
    co_await world.interposer->AsyncSafeReply({key, KeyView(other), "literal"}, token), ++answered;
    co_await world.interposer->AsyncSafeReply(std::span(views), token), ++answered;
    co_await world.interposer->AsyncSafeReply(set, token), ++answered;
    co_await world.interposer->AsyncSafeReply(std::vector<std::string>(2, key), token), ++answered;
  };
  world.On([&] { asio::co_spawn(world.interposer->get_executor(), serve, asio::detached); });
  CHECK(answered == 7);
}

TEST_CASE("a list of keys holds copies of them, in order", "[completion]") {
  std::string key = "key";
  const KeyList keys = {key, "other"};
  key = "xxx";
  CHECK(keys.views() == std::vector<KeyView>{"key", "other"});
  CHECK(KeyList("one").views() == std::vector<KeyView>{"one"});
  CHECK(KeyList().views().empty());

  const std::vector<std::size_t> sizes = {100, 200};
  const auto made =
      sizes | boost::adaptors::transformed([](auto size) { return std::string(size, 'k'); });
  CHECK(KeyList(made).views() ==
        std::vector<KeyView>{std::string(100, 'k'), std::string(200, 'k')});
}

TEST_CASE("a handler may own what cannot be copied", "[completion]") {
  World world(Patient());
  world.Open();
  int sum = 0;
  world.On([&] {
    world.interposer->AsyncSafeReply(
        "k", [&, one = std::make_unique<int>(1)](ErrorCode) { sum += *one; });
    world.interposer->AsyncFlush([&, two = std::make_unique<int>(2)](ErrorCode) { sum += *two; });
    world.interposer->SafeReply("k",
                                [&, four = std::make_unique<int>(4)](ErrorCode) { sum += *four; });
  });
  CHECK(sum == 7);
}

TEST_CASE("a handler runs on its own executor, which waits for it", "[completion]") {
  World world(Patient());
  world.Open();
  world.Set("k", "v");
  asio::io_context other;
  std::optional<bool> on_other;
  world.On([&] {
    world.interposer->AsyncSafeReply("k",
                                     asio::bind_executor(other.get_executor(), [&](ErrorCode ec) {
                                       CHECK_FALSE(ec);
                                       on_other = other.get_executor().running_in_this_thread();
                                     }));
  });
  CHECK(other.poll() == 0);
  CHECK_FALSE(other.stopped());  // it has work: the reply
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK_FALSE(on_other.has_value());
  other.run();  // ends: the work is done
  CHECK(on_other == true);
}

TEST_CASE("a handler without an executor runs on the interposer's strand", "[completion]") {
  World world(Patient());
  world.Open();
  std::optional<bool> on_strand;
  world.On([&] {
    world.interposer->AsyncSafeReply("k", [&](ErrorCode) {
      on_strand = world.interposer->get_executor().running_in_this_thread();
    });
    CHECK_FALSE(on_strand.has_value());
  });
  CHECK(on_strand == true);
}

TEST_CASE("a waiting handler keeps the context running, to the last", "[completion]") {
  EngineOptions options = Patient();
  options.lane.attempt_timeout = options.reply_deadline = Duration::max();
  World world(options);
  world.Open();
  world.Set("k", "v");
  bool done = false;
  world.On([&] { world.interposer->AsyncSafeReply("k", [&](ErrorCode) { done = true; }); });
  CHECK_FALSE(world.context.stopped());
  world.store.TakeWrite().handler({});
  world.context.restart();
  world.context.run();
  CHECK(done);
}

TEST_CASE("a store's calls take tokens too", "[completion]") {
  asio::io_context context;
  MemoryStore store(context.get_executor());
  const WriteBatch write{
      .id = 1, .lane = 0, .epoch = 1, .items = {{"k", "v", WriteKind::kPut, 1}}, .bytes = 2};
  const ReadBatch read{.id = 2, .lane = 0, .keys = {"k"}};
  bool done = false;
  const auto use = [&]() -> asio::awaitable<void> {
    const WriteResult written = co_await store.AsyncWrite(write, asio::use_awaitable);
    CHECK(written == WriteResult{});
    const ReadResult found = co_await store.AsyncRead(read, asio::use_awaitable);
    CHECK(found.states.at(0).value == "v");
    const Epoch epoch = co_await store.AsyncNewEpoch(asio::use_awaitable);
    CHECK(epoch == 2);
    done = true;
  };
  asio::co_spawn(context, use, asio::detached);
  context.run();
  CHECK(done);
}

}  // namespace
}  // namespace stout
