// STOUT.RANGE of a node that is alone: arguments, deadlines of values, and limits.

#include <optional>
#include <string>
#include <vector>

#include "node/config.h"
#include "stout/core/registry_table.h"
#include "tests/integration/timed_node.h"
#include "tests/support/catch.h"

namespace stout::node {
namespace {

TEST_CASE("STOUT.RANGE has the keys of an interval in byte order", "[node][range]") {
  TimedWorld world;
  for (const char* const key : {"b", "a", "ab", "c", "\xff"}) {
    CHECK(world.Do({"SET", key, std::string("of ") + key}) == "+OK");
  }
  CHECK(world.Do({"STOUT.RANGE", "", ""}) == "[$, [$a, $ab, $b, $c, $\xff]]");
  CHECK(world.Do({"stout.range", "a", "b", "values"}) == "[$, [$a, $of a, $ab, $of ab]]");
  CHECK(world.Do({"STOUT.RANGE", "aa", "", "LIMIT", "2"}) ==
        "[$b" + std::string(1, '\0') + ", [$ab, $b]]");
  const std::string next = "b" + std::string(1, '\0');
  CHECK(world.Do({"STOUT.RANGE", next, "", "VALUES", "LIMIT", "9"}) ==
        "[$, [$c, $of c, $\xff, $of \xff]]");
  CHECK(world.Do({"STOUT.RANGE", "b", "b"}) == "[$, []]");
  CHECK(world.Do({"STOUT.RANGE", "c", "b"}) == "[$, []]");
  CHECK(world.Do({"STOUT.RANGE", "d", "e"}) == "[$, []]");
  const std::vector<Words> wrong = {{"LIMIT"},        {"LIMIT", "0"}, {"LIMIT", "x"},
                                    {"VALUES", "no"}, {"KEYS"},       {"LIMIT", "1000001"}};
  for (Words words : wrong) {
    words.insert(words.begin(), {"STOUT.RANGE", "", ""});
    CHECK(world.Do(words).starts_with("-ERR syntax: STOUT.RANGE start end"));
  }
  CHECK(world.Do({"STOUT.RANGE", ""}).starts_with("-ERR wrong number of arguments"));
  CHECK(world.client.Pipeline({{"MULTI"}, {"STOUT.RANGE", "", ""}, {"EXEC"}}) ==
        Words{"+OK", "-ERR Command not allowed inside a transaction",
              "-EXECABORT Transaction discarded because of previous errors."});
}

TEST_CASE("STOUT.RANGE shows values without their deadlines, until they expire", "[node][range]") {
  TimedWorld world;
  CHECK(world.Do({"SET", "dated", "v", "PX", "100"}) == "+OK");
  CHECK(world.Do({"SET", "a", "v", "PX", "1"}) == "+OK");
  CHECK(world.Do({"SET", "bare", "w"}) == "+OK");
  world.now += 2;
  CHECK(world.Do({"STOUT.RANGE", "", "", "VALUES"}) == "[$, [$bare, $w, $dated, $v]]");
  CHECK(world.Do({"STOUT.RANGE", "a", "", "LIMIT", "1"}) ==
        "[$bare" + std::string(1, '\0') + ", [$bare]]");
  world.now += 1000;
  CHECK(world.Do({"STOUT.RANGE", "", ""}) == "[$, [$bare]]");
}

TEST_CASE("STOUT.RANGE has what was changed while the store was read", "[node][range]") {
  TimedWorld world;
  CHECK(world.client.Pipeline({{"SET", "a", "1"}, {"SET", "b", "1"}, {"SET", "c", "1"}}).size() ==
        3);
  world.store.after_scan = [&] {
    (void)world.node.map.Put("a", "2");
    (void)world.node.map.Delete("b");
  };
  CHECK(world.Do({"STOUT.RANGE", "", "", "VALUES"}) == "[$, [$a, $2, $c, $1]]");
  CHECK(world.store.Stored("a") == "2");  // it was durable before it was shown
  CHECK(world.store.Stored("b") == "(none)");
}

TEST_CASE("STOUT.RANGE ends an answer after 4 MiB, and goes on", "[node][range]") {
  TimedWorld world;
  const std::string large(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 9; ++i) CHECK(world.Do({"SET", std::to_string(i), large}) == "+OK");
  std::string next;
  std::vector<std::size_t> sizes;
  do {
    const std::string reply = world.Do({"STOUT.RANGE", next, "", "VALUES"});
    REQUIRE(reply.starts_with("[$"));
    next = reply.substr(2, reply.find(',') - 2);
    sizes.push_back(reply.size() >> 20);
  } while (!next.empty());
  CHECK(sizes == std::vector<std::size_t>{4, 4, 1});
  world.store.scan_fails = true;
  CHECK(world.Do({"STOUT.RANGE", "", ""}).starts_with("-TRYAGAIN not done"));
}

// Returns the exit code of a command line that is refused; its reason is printed.
std::optional<int> Parse(std::vector<const char*> words, Config& config) {
  words.insert(words.begin(), {"stout-node", "--join", "etcd://127.0.0.1:1/kv"});
  return ParseCommandLine(static_cast<int>(words.size()), words.data(), config);
}

TEST_CASE("a node is refused a partition that its deployment does not have", "[node][range]") {
  const ClusterConfig kept{.partition = "range:b,c", .ranges = 3};
  // Returns true if a node with these words joins a deployment with `theirs`.
  const auto joins = [](const std::vector<const char*>& words, const ClusterConfig& theirs) {
    std::vector<const char*> all = {"--datalet", "memory:"};
    all.insert(all.end(), words.begin(), words.end());
    Config config;
    CHECK_FALSE(Parse(all, config));
    ClusterConfig asked = theirs;
    config.given(asked);
    return !WhyRefused(asked, theirs);
  };
  CHECK(joins({}, kept));
  CHECK(joins({"--partition", "range:b,c"}, kept));
  CHECK(joins({"--partition", "range:%62,c", "--ranges", "3"}, kept));
  CHECK_FALSE(joins({"--partition", "range:b,d"}, kept));
  CHECK_FALSE(joins({"--partition", "range:b"}, kept));
  CHECK_FALSE(joins({"--partition", "slots"}, kept));
  CHECK_FALSE(joins({"--ranges", "4"}, kept));
  CHECK(joins({}, {}));
  CHECK(joins({"--partition", "slots"}, {}));
  CHECK_FALSE(joins({"--partition", "range:b,c"}, {}));
  CHECK_FALSE(joins({}, {.partition = "hash/documents"}));
  Config config;
  CHECK_FALSE(Parse({"--datalet", "memory:", "--partition", "range:b,%63"}, config));
  CHECK(config.cluster.partition == "range:b,c");
  CHECK(config.ranges == 3);
  CHECK(config.partition().RangeOf("bb") == 1);
  for (const char* const wrong : {"range:c,b", "range:b,", "other"})
    CHECK(Parse({"--store", "postgres://h/d", "--partition", wrong}, config));
  CHECK(Parse({"--datalet", "memory:", "--partition", "range:b", "--ranges", "3"}, config));
}

}  // namespace
}  // namespace stout::node
