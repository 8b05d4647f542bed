#include "stout/core/policy.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "stout/core/policy/basic.h"

namespace stout {
namespace {

using namespace std::chrono_literals;

BatchSample Slow() { return {.items = 7, .bytes = 700, .sent = {}, .done = TimePoint(3s)}; }

TEST_CASE("a sample's latency is from sending to answer", "[policy]") {
  CHECK(BatchSample{.sent = TimePoint(5s), .done = TimePoint(7s)}.latency() == 2s);
}

TEST_CASE("unbatched sends each change by itself, at once", "[policy]") {
  const Decision decision{.interval = 0s, .window = Decision::kUnlimited, .max_items = 1};
  CHECK(Unbatched().Start() == decision);
  CHECK(Unbatched().Observe(Slow()) == decision);
}

TEST_CASE("fixed keeps its interval however slow the store is", "[policy]") {
  Fixed fixed{.interval = 20ms};
  const Decision decision{.interval = 20ms, .window = Decision::kUnlimited};
  CHECK(fixed.Start() == decision);
  CHECK(fixed.Observe(Slow()) == decision);
}

TEST_CASE("natural has no interval: its window is all that holds it back", "[policy]") {
  Natural natural{.window = 4};
  CHECK(natural.Start() == Decision{.interval = 0s, .window = 4});
  CHECK(natural.Observe(Slow()) == Decision{.interval = 0s, .window = 4});
  CHECK(Natural().Start().window == 1);
}

// Counts what it observes, to tell copies apart.
struct Counting {
  std::size_t observed = 0;
  [[nodiscard]] Decision Start() const { return {}; }
  Decision Observe(const BatchSample&) { return {.window = ++observed}; }
  [[nodiscard]] std::string Name() const { return "counting"; }
};

TEST_CASE("a policy is a value: a copy answers \"what if\"", "[policy]") {
  Policy policy = Counting{};
  CHECK(policy.Observe(Slow()).window == 1);
  Policy copy = policy;
  CHECK(copy.Observe(Slow()).window == 2);
  CHECK(copy.Observe(Slow()).window == 3);
  CHECK(policy.Observe(Slow()).window == 2);
  policy = std::move(copy);
  CHECK(policy.Observe(Slow()).window == 4);
}

TEST_CASE("policies are read from text", "[policy]") {
  const auto decision = [](std::string_view text) {
    CAPTURE(std::string(text));
    const std::optional<Policy> policy = MakePolicy(text);
    REQUIRE(policy.has_value());
    return policy->Start();
  };
  CHECK(decision("unbatched") == Unbatched().Start());
  CHECK(decision("fixed:20ms") == Fixed{.interval = 20ms}.Start());
  CHECK(decision("fixed:1.5s") == Fixed{.interval = 1500ms}.Start());
  CHECK(decision("natural") == Natural{.window = 1}.Start());
  CHECK(decision("natural:4") == Natural{.window = 4}.Start());
}

TEST_CASE("what names no policy is refused", "[policy]") {
  const std::string text =
      GENERATE("", "Unbatched", "unbatched:1", "fixed", "fixed:", "fixed:0ms", "fixed:-1ms",
               "fixed:20", "natural:", "natural:0", "natural:-1", "natural:1.5", "natural:x",
               "natural:99999999999999999999", " natural", "stout ");
  CAPTURE(text);
  CHECK_FALSE(MakePolicy(text).has_value());
}

TEST_CASE("a policy's name is the text that makes it", "[policy]") {
  const std::string name =
      GENERATE("unbatched", "fixed:20ms", "fixed:250us", "natural", "natural:4");
  const std::optional<Policy> policy = MakePolicy(name);
  REQUIRE(policy.has_value());
  CHECK(policy->Name() == name);
  CHECK(PolicySyntax().find(name.substr(0, name.find(':'))) != std::string_view::npos);
}

}  // namespace
}  // namespace stout
