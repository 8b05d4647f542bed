// What several interposers that share a strand and a counter of versions need.
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <vector>

#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

// A world whose interposer runs on the strand of another one, over the same store.
struct SharedWorld : World {
  SharedWorld() : World(Patient()) {
    Open();
    second = std::make_unique<Interposer>(Interposer::OnStrand(), interposer->get_executor(), store,
                                          Application{.serialize =
                                                          [](KeyView, std::string& out) {
                                                            out = "second";
                                                            return Serialized::kValue;
                                                          }},
                                          Patient());
    On([this] { CHECK_FALSE(second->OpenFenced("scope", 7)); });
  }

  std::unique_ptr<Interposer> second;
};

TEST_CASE("an open interposer does not open under another epoch or scope", "[interposer]") {
  SharedWorld world;
  world.On([&] {
    CHECK_FALSE(world.second->OpenFenced("scope", 7));
    CHECK_FALSE(world.second->OpenWithEpoch(7));
    CHECK(world.second->OpenWithEpoch(8) == Errc::kBadOptions);
    CHECK(world.second->OpenFenced("scope", 8) == Errc::kBadOptions);
    CHECK(world.second->OpenFenced("other", 7) == Errc::kBadOptions);
  });
}

TEST_CASE("two interposers on one strand are called in one turn", "[interposer]") {
  SharedWorld world;
  CHECK(world.second->get_executor() == world.interposer->get_executor());
  world.state["k"] = "first";
  world.On([&] {
    CHECK(world.interposer->MarkDirtyAs("k", 5, 10).value() == Stamp{1, 10});
    CHECK(world.second->MarkDirtyAs("k", 6, 10).value() == Stamp{7, 10});
    CHECK(world.interposer->MarkDirtyAs("k", 5, 12).value() == Stamp{1, 12});
  });
  REQUIRE(world.store.writes.size() == 2);
  for (const Epoch epoch : {Epoch{1}, Epoch{7}}) {
    const ScriptedStore::HeldWrite write = world.store.TakeWrite();
    CHECK(write.batch.epoch == epoch);
    CHECK(write.batch.scope == (epoch == 7 ? "scope" : ""));
    CHECK(write.batch.items == std::vector<WriteItem>{{.key = "k",
                                                       .value = epoch == 7 ? "second" : "first",
                                                       .version = epoch == 7 ? 10U : 12U}});
  }
}

TEST_CASE("Admits reports what MarkDirty would return", "[interposer]") {
  EngineOptions options = Patient();
  options.lane.max_dirty_keys = 1;
  World world(options);
  world.On([&] { CHECK(world.interposer->Admits("a", 1) == Errc::kClosed); });
  world.Open();
  world.On([&] { CHECK(world.interposer->Admits("a", 1) == Errc::kOk); });
  world.Set("a", "1");
  world.On([&] {
    CHECK(world.interposer->Admits("a", 1) == Errc::kOk);
    CHECK(world.interposer->Admits("b", 1) == Errc::kPushedBack);
    CHECK_FALSE(world.interposer->IsDirty("b"));
  });
}

TEST_CASE("a barrier waits for the keys that are dirty, and sends none earlier", "[interposer]") {
  EngineOptions options = Patient();
  options.lane.write_policy = Fixed{.interval = std::chrono::hours(1)};
  options.lane.max_delay = std::chrono::hours(1);
  World world(options);
  world.Open();
  world.Set("a", "1");
  for (int i = 0; i < 2 && !world.store.writes.empty(); ++i) {  // the first is sent at once
    world.store.TakeWrite().handler({});
    world.Turn();
  }
  world.Set("b", "1");
  CHECK(world.store.writes.empty());
  CHECK_FALSE(world.interposer->IsIdle());
  world.On([&] { world.interposer->Barrier(world.Logged("barrier")); });
  CHECK(world.store.writes.empty());
  CHECK(world.log.empty());
  world.On([&] { world.interposer->Flush(world.Logged("flush")); });
  REQUIRE(world.store.writes.size() == 1);
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(world.log == World::Log{"barrier: ok", "flush: ok"});
  CHECK(world.interposer->IsIdle());
}

TEST_CASE("only writes with success count as such of the store", "[interposer]") {
  World world(Hasty());
  world.Open();
  const auto since = [&] { return world.interposer->SinceWrite(); };
  const Duration at_first = since();
  world.Set("k", "1");
  world.store.TakeWrite().handler({Errc::kTransient, {}});
  world.RunUntil([&] { return !world.store.writes.empty(); });
  const Duration after_failure = since();
  CHECK(after_failure > at_first);
  const auto before = std::chrono::steady_clock::now();
  world.store.TakeWrite().handler({});
  world.Turn();
  CHECK(since() <= std::chrono::steady_clock::now() - before);
}

}  // namespace
}  // namespace stout
