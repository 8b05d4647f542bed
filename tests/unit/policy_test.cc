#include "stout/core/policy.h"

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"

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

TEST_CASE("tick and gap keep theirs", "[policy]") {
  CHECK(Tick{.interval = 20ms}.Start() == Decision{.tick = 20ms, .window = Decision::kUnlimited});
  CHECK(Tick{.interval = 20ms}.Observe(Slow()) == Tick{.interval = 20ms}.Start());
  CHECK(Gap{.gap = 20ms}.Start() == Decision{.gap = 20ms, .window = 1});
  CHECK(Gap{.gap = 20ms}.Observe(Slow()) == Gap{.gap = 20ms}.Start());
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

TEST_CASE("each regime and each reason has a name of its own", "[policy]") {
  const auto names = []<typename Enum>(Enum last) {
    std::set<std::string> names;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i) {
      names.emplace(NameOf(static_cast<Enum>(i)));
    }
    return names;
  };
  const std::set<std::string> regimes = names(Regime::kSharedSync);
  const std::set<std::string> reasons = names(Reason::kOthersSync);
  CHECK(regimes.size() == kRegimes);
  CHECK(reasons.size() == kReasons);
  CHECK_FALSE(regimes.contains(""));
  CHECK_FALSE(reasons.contains(""));
  CHECK(NameOf(Regime::kPaced) == "paced");
  CHECK(NameOf(Reason::kQueue) == "queue");
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
  CHECK(decision("tick:20ms") == Tick{.interval = 20ms}.Start());
  CHECK(decision("gap:20ms") == Gap{.gap = 20ms}.Start());
  CHECK(decision("stout:start=5ms,in_flight=3") == Decision{.interval = 5ms, .window = 3});
  const std::optional<Policy> documented = MakePolicy("adaptive:ceiling=1h");
  REQUIRE(documented.has_value());
  CHECK(documented->Name() == "adaptive");
  CHECK(decision("stout:guards=off").window == Decision::kUnlimited);
}

TEST_CASE("what names no policy is refused", "[policy]") {
  const std::string text =
      GENERATE("", "Unbatched", "unbatched:1", "fixed", "fixed:", "fixed:0ms", "fixed:-1ms",
               "fixed:20", "natural:", "natural:0", "natural:-1", "natural:1.5", "natural:x",
               "natural:99999999999999999999", " natural", "stout ", "tick", "tick:0s",
               "gap:", "stout:", "stout:alpha", "stout:alpha=", "stout:alpha=x", "stout:alpha=nan",
               "stout:alpha=-1", "stout:alpha=inf", "stout:alpha=0.1,", "stout:,alpha=0.1",
               "stout:alpha =0.1", "stout:window_batches=33", "stout:window_batches=1.5",
               "stout:unit=1", "stout:guard_idle=true", "stout:floor=2s,ceiling=1s");
  CAPTURE(text);
  CHECK_FALSE(MakePolicy(text).has_value());
}

TEST_CASE("a policy's name is the text that makes it", "[policy]") {
  const std::string name =
      GENERATE("unbatched", "fixed:20ms", "fixed:250us", "tick:20ms", "gap:1500us", "natural",
               "natural:4", "stout", "stout:alpha=0.125,start=5ms,in_flight=7,guard_idle=off");
  const std::optional<Policy> policy = MakePolicy(name);
  REQUIRE(policy.has_value());
  CHECK(policy->Name() == name);
  CHECK(PolicySyntax().find(name.substr(0, name.find(':'))) != std::string_view::npos);
}

TEST_CASE("what is wrong with a policy's text is said with its remedy", "[policy]") {
  const auto error = [](std::string_view text) {
    std::string what;
    CHECK_FALSE(MakePolicy(text, &what).has_value());
    return what;
  };
  CHECK(error("nagle") == "'nagle' is not a policy: use " + std::string(PolicySyntax()));
  CHECK(error("fixed:20") == "policy fixed takes a time above zero, not '20': use fixed:20ms");
  CHECK(error("gap") == "policy gap takes a time above zero, not '': use gap:20ms");
  CHECK(error("unbatched:1") ==
        "policy unbatched takes no argument: leave out the colon and the text after it");
  CHECK(error("natural:0") ==
        "policy natural takes a window from 1 to 1000000, not '0': use natural:4");
  CHECK(error("stout:alpha=20") == "policy stout does not accept '20' as alpha: use 0 ... 10");
  CHECK(error("stout:unit=1") == "policy stout does not accept '1' as unit: use 1us ... 1s");
  CHECK(error("stout:guards=no") == "policy stout does not accept 'no' as guards: use on, off");
  CHECK(error("stout:floor=2s,ceiling=1s") ==
        "policy stout does not accept a ceiling below its floor: raise ceiling or lower floor");
  CHECK(error("stout:gamma=1").find("policy stout has no option 'gamma': use alpha beta ") == 0);
}

TEST_CASE("a policy that is read leaves the text of the error alone", "[policy]") {
  std::string what = "untouched";
  CHECK(MakePolicy("natural", &what).has_value());
  CHECK(what == "untouched");
}

TEST_CASE("each option of a policy is described with its default", "[policy]") {
  const std::string text = PolicyOptions();
  CHECK(text.find("  alpha=0.02 (0 ... 10): ") != std::string::npos);
  CHECK(text.find("  unit=1ms (1us ... 1s): ") != std::string::npos);
  CHECK(text.find("  guard_idle=on (on, off): ") != std::string::npos);
  CHECK(text.find("  guards (on, off): ") != std::string::npos);  // has no value of its own
}

}  // namespace
}  // namespace stout
