// WatchedStore: which outcomes of a store's calls show that it answers.

#include "stout/adapters/watched_store.h"

#include "tests/support/catch.h"
#include "tests/support/scripted_store.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;

const WriteBatch kTwoItems{.id = 1, .items = {{.key = "a"}, {.key = "b"}}};

bool IsAskedInVain(const WatchedStore& store) {
  return store.health().InVain(StoreHealth::Clock::now() + 1s) >= 1s;
}

TEST_CASE("a write whose items each fail by themselves is an answer", "[ranges]") {
  ScriptedStore store;
  WatchedStore watched(store);
  WriteResult seen;
  const auto answer = [&](const WriteResult& result) {
    watched.Write(kTwoItems, [&](WriteResult passed_on) { seen = std::move(passed_on); });
    store.TakeWrite().handler(result);
    CHECK(seen == result);
    return !IsAskedInVain(watched);
  };
  CHECK_FALSE(answer({Errc::kTransient, {}}));
  CHECK_FALSE(answer({Errc::kTransient, {{0, Errc::kTransient}}}));
  CHECK_FALSE(answer({Errc::kUnknown, {{0, Errc::kUnknown}, {1, Errc::kUnknown}}}));
  CHECK(watched.health().last_error() == Errc::kUnknown);
  CHECK(answer({Errc::kTransient, {{0, Errc::kTransient}, {1, Errc::kTransient}}}));
  CHECK_FALSE(watched.health().last_error());
}

TEST_CASE("a store is probed for writes while reads are under way", "[ranges]") {
  ScriptedStore store;
  WatchedStore watched(store);
  watched.Read({.id = 1, .keys = {"a"}}, [](const ReadResult&) {});
  watched.Write(kTwoItems, [](const WriteResult&) {});
  watched.ProbeIfNeeded();
  CHECK(store.last_epoch == 0);  // the write may still be answered
  store.TakeWrite().handler({Errc::kTransient, {}});
  watched.ProbeIfNeeded();
  CHECK(store.last_epoch == 1);
  CHECK_FALSE(IsAskedInVain(watched));
}

}  // namespace
}  // namespace stout::test
