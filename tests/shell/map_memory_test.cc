// The memory of a map, as it counts it and as operator new gives it.

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <string>

#include "stout/adapters/memory_store.h"
#include "stout/write_back_map.h"
#include "tests/shell/world.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

// Keys of the lengths that a document service has.
std::string LongKey(int i) {
  return "document-" + std::to_string(i) + "/s/section-" + std::to_string(i);
}

// A map with a store that knows nothing and keeps nothing.
struct MeasuredMap {
  MeasuredMap() : store(1), map(context.get_executor(), store, {.engine = Hasty()}) {
    map.interposer().OpenWithEpoch(1);
    // Memory that is independent of the number of keys.
    Get("first");
    Put("second", 10);
  }

  template <typename Call>
  void On(Call call) {
    boost::asio::post(map.get_executor(), std::move(call));
    Turn();
  }
  void Turn() {
    context.restart();
    context.poll();
  }
  void Get(const std::string& key) {
    On([&] { map.Get(key, [](ErrorCode, const WriteBackMap::Entry&) {}); });
    store.TakeRead().handler({Errc::kOk, {StoredState{}}});
    Turn();
  }
  void Put(const std::string& key, std::size_t size) {
    On([&] { REQUIRE(map.Put(key, std::string(size, 'x'))); });
    store.TakeWrite().handler({});
    Turn();
  }

  boost::asio::io_context context;
  ScriptedStore store;
  WriteBackMap map;
};

// Bytes that the map counts for what `fill` does, over those that are allocated meanwhile.
template <typename Fill>
double CountedOverHeld(Fill fill) {
  MeasuredMap measured;
  const std::size_t counted = measured.map.cached_bytes();
  const std::size_t held = test::Bytes();
  fill(measured);
  return static_cast<double>(measured.map.cached_bytes() - counted) /
         static_cast<double>(test::Bytes() - held);
}

constexpr int kMeasuredKeys = 5000;

TEST_CASE("a map counts what keys without a value take", "[map][memory]") {
  const double ratio = CountedOverHeld([](MeasuredMap& measured) {
    for (int i = 0; i < kMeasuredKeys; ++i) measured.Get(LongKey(i));
  });
  CHECK(ratio > .8);
  CHECK(ratio < 1.2);
}

TEST_CASE("a map counts what small and large values take", "[map][memory]") {
  const std::size_t size = GENERATE(0u, 1u, 15u, 16u, 100u, 1000u, 10'000u);
  CAPTURE(size);
  const double ratio = CountedOverHeld([size](MeasuredMap& measured) {
    for (int i = 0; i < kMeasuredKeys; ++i) measured.Put(LongKey(i), size);
  });
  CHECK(ratio > .8);
  CHECK(ratio < 1.2);
}

TEST_CASE("a map with a limit takes no more than that for keys without a value", "[map][memory]") {
  constexpr std::size_t kLimit = std::size_t{1} << 20;
  boost::asio::io_context context;
  ScriptedStore store(1);
  const std::size_t before = test::Bytes();
  WriteBackMap map(context.get_executor(), store, {.engine = Hasty(), .cache_bytes = kLimit});
  map.interposer().OpenWithEpoch(1);
  for (int i = 0; i < 4 * kMeasuredKeys; ++i) {
    boost::asio::post(map.get_executor(), [&map, i] {
      map.Get(LongKey(i), [](ErrorCode, const WriteBackMap::Entry&) {});
    });
    context.restart();
    context.poll();
    store.TakeRead().handler({Errc::kOk, {StoredState{}}});
    context.restart();
    context.poll();
  }
  CHECK(test::Bytes() - before < kLimit * 5 / 4);
  CHECK(map.cached_bytes() > kLimit * 9 / 10);
}

}  // namespace
}  // namespace stout
