// stout-node while there is no memory for large values.

#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resp/server/command_errors.h"
#include "stout/adapters/partition.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "timed_node.h"

namespace stout::node {
namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;

// While it exists, there is no memory for large values.
struct Shortage {
  Shortage() {
    test::OnAllocation([](std::size_t size) {
      if (size >= kLarge) throw std::bad_alloc();
    });
  }
  ~Shortage() { test::OnAllocation(nullptr); }
};

TEST_CASE("a command that there is no memory for is refused, and the node lives", "[node]") {
  TimedWorld world;
  const std::string large(kLarge, 'x');
  REQUIRE(world.Do({"SET", "large", large}) == "+OK");
  REQUIRE(world.Do({"SET", "small", "1"}) == "+OK");
  const std::string refused = "-" + std::string(resp::kNoMemory);
  // Made now, because the test needs memory for them.
  const std::vector<Words> commands = {{"GET", "large"},
                                       {"SET", "small", large},
                                       {"SET", "small", large, "EX", "9"},
                                       {"APPEND", "small", large},
                                       {"MGET", "small", "large"},
                                       {"GETDEL", "large"},
                                       {"MSET", "other", "2", "small", large},
                                       {"INCR", "small"},
                                       {"EXISTS", "large", "other"}};
  std::vector<std::string> replies;
  {
    const Shortage shortage;
    replies = world.client.Pipeline(commands);
  }
  CHECK(replies ==
        std::vector<std::string>{refused, refused, refused, refused, refused, refused,
                                 "-ERR not all done: not enough memory for this command at present",
                                 ":2", ":2"});
  CHECK((world.Do({"GET", "large"}) == "$" + large));
  CHECK(world.Do({"GET", "small"}) == "$2");
  CHECK(world.store.Stored("small") == "2");
  CHECK((world.store.Stored("large") == large));
}

TEST_CASE("a range that there is no memory for is refused, and the node lives", "[node][range]") {
  TimedWorld world;
  const std::string large(kLarge, 'x');
  REQUIRE(world.Do({"SET", "large", large}) == "+OK");
  // Its map does not have the value.
  TimedNode fresh(world.context, world.store, world.now, 2);
  Connection on_fresh(fresh);
  for (Connection* const client : {&world.client, &on_fresh}) {
    const Words command = {"STOUT.RANGE", "", "", "VALUES"};
    const Words keys = {"STOUT.RANGE", "", ""};
    std::optional<Shortage> shortage;
    world.store.after_scan = [&] { shortage.emplace(); };
    const std::string reply = client->Do(command);
    shortage.reset();
    CHECK(reply == "-" + std::string(resp::kNoMemory));
    CHECK(client->Do(keys) == "[$, [$large]]");
    CHECK((client->Do(command) == "[$, [$large, $" + large + "]]"));
  }
}

TEST_CASE("the memory for the filters of intervals grows with their number", "[node][range]") {
  std::vector<std::string> bounds;
  for (int i = 0; i < 1000; ++i) bounds.push_back(fmt::format("a bound with the number {:04}", i));
  const Partition partition = IntervalPartition(std::move(bounds));
  std::vector<KeyFilter> filters(partition.ranges);
  const std::size_t bytes = test::MostBytesOf([&] {
    for (RangeId range = 0; range < partition.ranges; ++range)
      filters[range] = partition.KeysOf(range);
  });
  CHECK(bytes < partition.ranges * 1000);
}

}  // namespace
}  // namespace stout::node
