// One table per policy reads, names and documents its options.
#include "core/policy_options.h"

#include <chrono>
#include <string>
#include <vector>

#include "stout/core/policy/stout.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::internal {
namespace {

using namespace std::chrono_literals;

struct Example {
  double gain = 0.5;
  Duration pause = 20ms;
  std::size_t count = 3;
  bool first = true;
  bool second = false;
  bool operator==(const Example&) const = default;
};

using Option = PolicyOption<Example>;
const std::vector<Option> kTable = {{"gain", &Example::gain, -1.0, 2.0, "how much"},
                                    {"pause", &Example::pause, 1us, 1s, "how long"},
                                    {"count", &Example::count, 1, 9, "how many"},
                                    {"first", &Example::first, "whether"},
                                    {"second", &Example::second, "whether too"},
                                    {"both", {&Example::first, &Example::second}, "both at once"}};

std::optional<Example> Read(std::string_view text) {
  std::string error;
  const auto options = ReadPolicyOptions<Example>(kTable, text, error);
  CHECK(options.has_value() == error.empty());
  return options;
}
std::string Error(std::string_view text) {
  std::string error;
  CHECK_FALSE(ReadPolicyOptions<Example>(kTable, text, error).has_value());
  return error;
}
std::string Name(const Example& options) { return PolicyName<Example>("p", kTable, options); }

TEST_CASE("options that are not named keep their defaults", "[policy_options]") {
  CHECK(Read("gain=-0.25") == Example{.gain = -0.25});
  CHECK(Read("pause=1500us,count=9") == Example{.pause = 1500us, .count = 9});
  CHECK(Read("first=off") == Example{.first = false});
}

TEST_CASE("a later setting overrides an earlier one", "[policy_options]") {
  CHECK(Read("count=1,count=2") == Example{.count = 2});
  CHECK(Read("both=off,second=on") == Example{.first = false, .second = true});
}

TEST_CASE("an error names the option and the remedy", "[policy_options]") {
  CHECK(Error("gian=1") == "has no option 'gian': use gain pause count first second both");
  CHECK(Error("") == "has no option '': use gain pause count first second both");
  CHECK(Error("count=2,") == "has no option '': use gain pause count first second both");
  CHECK(Error("gain=2.5") == "does not accept '2.5' as gain: use -1 ... 2");
  CHECK(Error("gain=0x1p0") == "does not accept '0x1p0' as gain: use -1 ... 2");
  CHECK(Error("gain=nan") == "does not accept 'nan' as gain: use -1 ... 2");
  CHECK(Error("gain") == "does not accept '' as gain: use -1 ... 2");
  CHECK(Error("pause=2s") == "does not accept '2s' as pause: use 1us ... 1s");
  CHECK(Error("pause=5") == "does not accept '5' as pause: use 1us ... 1s");
  CHECK(Error("count=0") == "does not accept '0' as count: use 1 ... 9");
  CHECK(Error("count=-1") == "does not accept '-1' as count: use 1 ... 9");
  CHECK(Error("count=1=2") == "does not accept '1=2' as count: use 1 ... 9");
  CHECK(Error("first=1") == "does not accept '1' as first: use on, off");
}

TEST_CASE("a name holds what differs from the defaults", "[policy_options]") {
  CHECK(Name({}) == "p");
  CHECK(Name({.gain = 0.1, .second = true}) == "p:gain=0.1,second=on");
}

TEST_CASE("options survive their name exactly", "[policy_options]") {
  SplitMix64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const Example options{
        .gain = 3 * random.Unit() - 1,
        .pause = Duration(static_cast<Duration::rep>(1000 + random.Below(999'999'001))),
        .count = 1 + random.Below(9),
        .first = random.Below(2) == 0,
        .second = random.Below(2) == 0};
    const std::string name = Name(options);
    CAPTURE(name);
    REQUIRE(name.size() >= 2);
    REQUIRE(Read(std::string_view(name).substr(2)) == options);
  }
}

TEST_CASE("each option is described", "[policy_options]") {
  CHECK(DescribePolicyOptions<Example>(kTable) ==
        "  gain=0.5 (-1 ... 2): how much\n"
        "  pause=20ms (1us ... 1s): how long\n"
        "  count=3 (1 ... 9): how many\n"
        "  first=on (on, off): whether\n"
        "  second=off (on, off): whether too\n"
        "  both (on, off): both at once\n");
}

TEST_CASE("Stout's options are those of its table, in range by default", "[policy_options]") {
  std::string error;
  const StoutOptions options{.alpha = 0.2,
                             .beta = 0.3,
                             .weight = 0.4,
                             .tolerance = 0.5,
                             .window_batches = 6,
                             .unit = 7us,
                             .floor = 8us,
                             .ceiling = 9s,
                             .start = 10ms,
                             .guard_in_flight = false,
                             .in_flight = 11,
                             .guard_round_trip = false,
                             .guard_idle = false,
                             .guard_failed = false};
  const std::string name = Stout(options).Name();
  CAPTURE(name);
  CHECK(ReadStoutOptions(name.substr(name.find(':') + 1), error) == options);
  CHECK(ReadStoutOptions("guards=off", error) == StoutOptions{.guard_in_flight = false,
                                                              .guard_round_trip = false,
                                                              .guard_idle = false,
                                                              .guard_failed = false});
  CHECK(error.empty());
}

}  // namespace
}  // namespace stout::internal
