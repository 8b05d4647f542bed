// The removal of keys from the store of stout-node: of those that expired, and of all.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/expiry_sweep.h"
#include "tests/integration/timed_node.h"
#include "tests/support/catch.h"

namespace stout::node {
namespace {

TEST_CASE("a sweep deletes the keys that have expired, and no others", "[node][expiry]") {
  TimedWorld world;
  const int keys = 2500;  // several pages
  for (int i = 0; i < keys; ++i) {
    const std::string name = std::to_string(i);
    CHECK(world.Do({"SET", name, "v", "PX", i % 2 == 0 ? "1" : "100"}) == "+OK");
  }
  CHECK(world.Do({"SET", "bare", "v"}) == "+OK");
  world.now += 2;
  const bool cold = GENERATE(false, true);
  if (cold) world.node.Close();
  std::unique_ptr<TimedNode> next;
  if (cold) next = std::make_unique<TimedNode>(world.context, world.store, world.now, 2);
  TimedNode& node = cold ? *next : world.node;
  node.SweepNow();
  CHECK(Connection(node).Do({"DBSIZE"}) == ":1251");
  CHECK(world.store.Stored("0") == "(none)");
  CHECK(world.store.Stored("1") == Dated("v", kStart + 100));
  CHECK(world.store.Stored("bare") == "v");
  CHECK(node.service.main.deadlines.earliest == kStart + 100);
  world.now += 1000;
  node.SweepNow();
  CHECK(Connection(node).Do({"DBSIZE"}) == ":1");
  CHECK(node.service.main.deadlines.earliest == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a sweep of a key that had expired before WATCH does not abort EXEC", "[node][expiry]") {
  TimedWorld world;
  const bool set_again = GENERATE(false, true);
  CHECK(world.Do({"SET", "k", "v", "PX", "1"}) == "+OK");
  world.now += 2;
  CHECK(world.Do({"WATCH", "k"}) == "+OK");
  world.node.SweepNow();
  CHECK(world.store.Stored("k") == "(none)");
  if (set_again) CHECK(world.Do({"SET", "k", "new"}) == "+OK");
  CHECK(world.Do({"MULTI"}) == "+OK");
  CHECK(world.Do({"PING"}) == "+QUEUED");
  CHECK(world.Do({"EXEC"}) == (set_again ? "(nil)" : "[+PONG]"));
}

TEST_CASE("a sweep spares a key that is renewed while it reads the store", "[node][expiry]") {
  TimedWorld world;
  for (const char* const key : {"dated", "bare", "gone", "old"}) {
    CHECK(world.Do({"SET", key, "v", "PX", "1"}) == "+OK");
  }
  world.now += 2;
  world.store.after_scan = [&] {
    (void)world.node.map.Put("dated", Dated("w", kStart + 1000));
    (void)world.node.map.Put("bare", "w");
    (void)world.node.map.Delete("gone");
  };
  world.node.SweepNow();
  CHECK(world.Do({"MGET", "dated", "bare", "gone", "old"}) == "[$w, $w, (nil), (nil)]");
  CHECK(world.store.Stored("dated") == Dated("w", kStart + 1000));
  CHECK(world.store.Stored("old") == "(none)");
}

// Puts the key that an operation is about, in the same turn and after it.
class PutsAfterwards final : public Ranges {
 public:
  PutsAfterwards(Ranges& ranges, KeyMap& map) : ranges_(ranges), map_(map) {}

  [[nodiscard]] const Partition& partition() const override { return ranges_.partition(); }
  void Run(RangeId range, bool alone, RangeServer::Operation operation) override {
    ranges_.Run(
        range, alone,
        [this, operation = std::move(operation)](const RangeServer::Served& served) mutable {
          operation(served);
          (void)map_.Put("k", "new");
        });
  }
  [[nodiscard]] std::optional<Lease> LeaseOf(RangeId range) const override {
    return ranges_.LeaseOf(range);
  }
  [[nodiscard]] std::vector<RangeServer::Served> Served() const override {
    return ranges_.Served();
  }
  void OnFenced(const ServedRange& served) override { ranges_.OnFenced(served); }

 private:
  Ranges& ranges_;
  KeyMap& map_;
};

TEST_CASE("a sweep spares a key that is set after it was read", "[node][expiry]") {
  TimedWorld world;
  CHECK(world.Do({"SET", "k", "old", "PX", "1"}) == "+OK");
  world.now += 2;
  const bool cold = GENERATE(false, true);
  if (cold) world.node.Close();
  TimedNode next(world.context, world.store, world.now, 2);
  TimedNode& node = cold ? next : world.node;
  PutsAfterwards ranges(node.ranges, node.map);
  node.Await(Sweep(ranges, world.store, node.service.main.deadlines, Duration::zero()));
  CHECK(Connection(node).Do({"GET", "k"}) == "$new");
}

// Has another range, which is not served.
class HasOneMore final : public Ranges {
 public:
  HasOneMore(Ranges& ranges, KeyMap& map)
      : ranges_(ranges),
        more_(std::make_shared<ServedRange>(
            ServedRange{.range = 1,
                        .epoch = 0,
                        .map = std::shared_ptr<KeyMap>(std::shared_ptr<void>(), &map),
                        .owns = [] { return true; },
                        .state = nullptr})) {}

  [[nodiscard]] const Partition& partition() const override { return ranges_.partition(); }
  void Run(RangeId range, bool alone, RangeServer::Operation operation) override {
    ranges_.Run(range, alone, std::move(operation));
  }
  [[nodiscard]] std::optional<Lease> LeaseOf(RangeId range) const override {
    return ranges_.LeaseOf(range);
  }
  [[nodiscard]] std::vector<RangeServer::Served> Served() const override {
    auto served = ranges_.Served();
    served.push_back(more_);
    return served;
  }
  void OnFenced(const ServedRange& served) override { ranges_.OnFenced(served); }

 private:
  Ranges& ranges_;
  const RangeServer::Served more_;
};

TEST_CASE("a sweep goes on although a range does not open, or is fenced", "[node][expiry]") {
  TimedWorld world;
  CHECK(world.Do({"SET", "k", "old", "PX", "1"}) == "+OK");
  world.now += 2;
  const bool fenced = GENERATE(false, true);
  CAPTURE(fenced);
  WriteBackMap other(world.context.get_executor(), world.store, {.engine = Plain()});
  if (fenced) asio::post(other.get_executor(), [&] { other.Fence(); });
  HasOneMore ranges(world.node.ranges, other);
  world.node.Await(Sweep(ranges, world.store, world.node.service.main.deadlines, Duration::zero()));
  world.context.restart();
  world.context.poll();
  CHECK(world.store.Stored("k") == "(none)");
  CHECK(world.node.service.main.deadlines.earliest == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a sweep is left out while no key can have expired", "[node][expiry]") {
  TimedWorld world;
  int sweeps = 0;
  int looks = 0;
  // The clock is looked at once before each sweep that is due.
  world.node.service.main.deadlines.now = [&] {
    ++looks;
    return world.now;
  };
  CHECK(world.Do({"SET", "k", "v"}) == "+OK");
  asio::co_spawn(world.node.map.get_executor(),
                 SweepForever(world.node.ranges, world.store, world.node.service.main.deadlines,
                              std::chrono::milliseconds(1)),
                 asio::detached);
  const auto look = [&](int times) {
    const auto enough = [&looks, end = looks + times] { return looks >= end; };
    while (!enough()) {
      world.context.restart();
      world.context.run_one();
    }
    return std::exchange(sweeps, world.store.scans) < world.store.scans;
  };
  CHECK(look(5));  // nothing is known at the start
  CHECK_FALSE(look(20));
  CHECK(world.Do({"SET", "k", "v", "PX", "5"}) == "+OK");
  CHECK_FALSE(look(20));
  world.now += 6;
  CHECK(look(20));
  CHECK(world.store.Stored("k") == "(none)");
  CHECK_FALSE(look(20));
}

TEST_CASE("a sweep repeats a page, and goes on where it was", "[node][expiry]") {
  TimedWorld world;
  const int keys = 1500;  // two pages
  for (int i = 0; i < keys; ++i) {
    CHECK(world.Do({"SET", std::to_string(i), "v", "PX", "1"}) == "+OK");
  }
  world.now += 2;
  world.store.after_scan = [&] { world.store.failures = 29; };
  world.node.SweepNow();
  CHECK(world.store.scans == 2 + 29);
  for (int i = 0; i < keys; ++i) CHECK(world.store.Stored(std::to_string(i)) == "(none)");
  CHECK(world.node.service.main.deadlines.earliest == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a sweep that fails is repeated, and the node goes on", "[node][expiry]") {
  TimedWorld world;
  CHECK(world.Do({"SET", "k", "v", "PX", "1"}) == "+OK");
  world.now += 2;
  world.store.scan_fails = true;
  world.node.SweepNow();
  CHECK(world.store.Stored("k") == Dated("v", kStart + 1));
  CHECK(world.node.service.main.deadlines.earliest == 0);
  world.store.scan_fails = false;
  world.node.Close();
  world.node.SweepNow();
  CHECK(world.node.service.main.deadlines.earliest == 0);
  TimedNode next(world.context, world.store, world.now, 2);
  next.SweepNow();
  CHECK(world.store.Stored("k") == "(none)");
}

TEST_CASE("FLUSHALL does not say that nothing was done after it has deleted keys", "[node]") {
  TimedWorld world;
  for (int i = 0; i < 1500; ++i) CHECK(world.Do({"SET", std::to_string(i), "v"}) == "+OK");
  world.store.scan_fails = true;
  CHECK(world.Do({"FLUSHALL"}).starts_with("-TRYAGAIN"));
  world.store.scan_fails = false;
  world.store.after_scan = [&] { world.store.scan_fails = true; };
  CHECK(world.Do({"FLUSHALL"}).starts_with("-ERR not all done: TRYAGAIN"));
  world.store.scan_fails = false;
  CHECK(world.Do({"DBSIZE"}) == ":500");
  CHECK(world.Do({"FLUSHALL"}) == "+OK");
  CHECK(world.Do({"DBSIZE"}) == ":0");
}

TEST_CASE("FLUSHALL that has deleted a part of a page does not say that nothing was done",
          "[node]") {
  TimedWorld world;
  EngineOptions engine = Plain();
  engine.lane.max_dirty_keys = 5;
  TimedNode node(world.context, world.store, world.now, 2, engine);
  node.service.reply_deadline = std::chrono::milliseconds(50);
  Connection client(node);
  for (int i = 0; i < 20; ++i) CHECK(client.Do({"SET", std::to_string(i), "v"}) == "+OK");
  world.store.write_hangs = true;  // so there is no room for the others
  CHECK(client.Do({"FLUSHALL"}).starts_with("-ERR not all done: TRYAGAIN"));
}

}  // namespace
}  // namespace stout::node
