// The results of policy-bench from its trials, and one short trial as a whole.

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "load/server_record.h"
#include "load/trial_result.h"
#include "policies/bench_options.h"
#include "policies/report.h"
#include "policies/sweep.h"
#include "policies/trial.h"
#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"

namespace stout::bench {
namespace {

using namespace std::chrono_literals;

TEST_CASE("Jain's index is 1 for equals and 1/n if one has everything", "[policy-bench]") {
  JainIndex equal;
  JainIndex unfair;
  for (int i = 0; i < 4; ++i) {
    equal.Add(7);
    unfair.Add(i == 0 ? 7 : 0);
  }
  CHECK(equal.Value() == Approx(1));
  CHECK(unfair.Value() == Approx(0.25));
  CHECK(JainIndex().Value() == 1);
}

TEST_CASE("a trend is the slope of latency over time, whoever saw which change", "[policy-bench]") {
  Trend one;
  Trend other;
  CHECK(one.Slope() == 0);
  for (int i = 0; i < 100; ++i) (i % 3 == 0 ? one : other).Add(0.01 * i, 0.002 + 0.003 * i);
  one.Merge(other);
  CHECK(one.Slope() == Approx(0.3));
}

/// As sustained as can be.
TrialResult Calm() {
  TrialResult result;
  result.offered_per_s = result.answered_per_s = 1000;
  result.mean_ms = 5;
  result.p99_ms = 9;
  result.measured_s = 0.5;
  return result;
}

TrialResult Overloaded() {
  TrialResult result = Calm();
  result.unanswered = 1;
  return result;
}

TEST_CASE("sustained is: all answered, in time, and not ever later", "[policy-bench]") {
  CHECK(Calm().Sustained(9ms));
  CHECK_FALSE(Calm().Sustained(8ms));
  CHECK_FALSE(Overloaded().Sustained(9ms));
  TrialResult failed = Calm();
  failed.failed = 1;
  CHECK_FALSE(failed.Sustained(9ms));
  TrialResult growing = Calm();
  growing.growth = 0.11;  // 0.1, and a quarter of 5 ms over half a second: 0.1025
  CHECK_FALSE(growing.Sustained(9ms));
  growing.growth = 0.102;
  CHECK(growing.Sustained(9ms));
}

TEST_CASE("a point's median is one of each figure, and its counts are sums", "[policy-bench]") {
  Point point{.rate = 1000, .trials = {Calm(), Calm(), Overloaded()}};
  point.trials[0].mean_ms = 9;
  point.trials[1].mean_ms = 2;
  point.trials[2].p99_ms = 1;
  CHECK(point.Median().mean_ms == 5);
  CHECK(point.Median().p99_ms == 9);
  CHECK(point.Median().unanswered == 1);
  CHECK(point.Sustained(1s));
  point.trials.push_back(Overloaded());
  CHECK(point.Sustained(1s));  // in half of them
  point.trials.push_back(Overloaded());
  CHECK_FALSE(point.Sustained(1s));
}

/// Measured at one rate.
PolicyResults Measured(std::string policy, double mean_ms, double capacity) {
  TrialResult trial = Calm();
  trial.mean_ms = mean_ms;
  return {std::move(policy), {{100, {trial}}}, Capacity{capacity, false, trial}};
}

TEST_CASE("headlines compare with the fixed interval that is best at the one or the other",
          "[policy-bench]") {
  Setting setting{.store = {"queue", "memory:"}, .servers = 16, .documents = 10, .policies = {}};
  setting.policies = {Measured("tick:20ms", 10, 1000), Measured("tick:160ms", 80, 9000),
                      Measured("natural", 2, 8000), Measured("lost", 1, 1)};
  setting.policies[3].capacity.reset();
  const std::vector<Headline> headlines = Headlines(setting);
  REQUIRE(headlines.size() == 1);
  CHECK(headlines[0].policy == "natural");
  CHECK(headlines[0].throughput_fixed == "tick:160ms");
  CHECK(headlines[0].light_load_gain == Approx(40));  // 80 / 2
  CHECK(headlines[0].latency_fixed == "tick:20ms");
  CHECK(headlines[0].sustained_gain == Approx(8));  // 8000 / 1000
  CHECK(ToTable(setting, 1s).find("40.0x") != std::string::npos);
}

TEST_CASE("without a fixed interval there is no headline", "[policy-bench]") {
  CHECK(Headlines({.policies = {Measured("natural", 2, 8000)}}).empty());
}

BenchOptions Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "policy-bench");
  return std::get<BenchOptions>(
      ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(), "policy-bench"));
}

TEST_CASE("a store has a name: the given one, or its scheme", "[policy-bench]") {
  const BenchOptions options = Parse({"--store", "slow=memory:?latency=2ms", "memory:"});
  REQUIRE(options.stores.size() == 2);
  CHECK(options.stores[0].name == "slow");
  CHECK(options.stores[0].url == "memory:?latency=2ms");
  CHECK(options.stores[1].name == "memory");
  CHECK(options.stores[1].url == "memory:");
}

TEST_CASE("what is given goes before the defaults of --quick and --full", "[policy-bench]") {
  CHECK(Parse({"--store", "memory:", "--quick"}).repetitions == 1);
  CHECK(Parse({"--store", "memory:", "--full"}).documents == std::vector<std::size_t>{10000, 100});
  const BenchOptions options = Parse({"--store", "memory:", "--quick", "--rates", "500,50",
                                      "--repetitions", "2", "--sustained", "0"});
  CHECK(options.repetitions == 2);
  CHECK(options.rates == std::vector<double>{50, 500});
  CHECK(options.sustained.empty());
}

TEST_CASE("a rate that is no number is refused: its load would never end", "[policy-bench]") {
  for (const char* const rates : {"nan", "100,-nan", "0", "inf"}) {
    const std::vector<const char*> arguments = {"policy-bench", "--store", "memory:", "--rates",
                                                rates};
    const auto command =
        ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(), "policy-bench");
    CAPTURE(rates);
    CHECK(std::get<ExitCode>(command) == kBadOptions);
  }
}

TEST_CASE("policies that a build does not know are left out", "[policy-bench]") {
  const BenchOptions options =
      Parse({"--store", "memory:", "--policies", "natural", "no-such", "fdb"});
  REQUIRE(options.policies.size() == 2);
  CHECK(options.policies[0].Name() == "natural");
  CHECK(options.policies[1].Name() == "fdb");
}

TEST_CASE("a trial answers all that it offers, and counts what it sent", "[policy-bench]") {
  const std::atomic<bool> interrupted = false;
  const TrialResult result = RunTrial({.store_url = "memory:?latency=200us",
                                       .servers = 3,
                                       .documents = 30,
                                       .rate = 2000,
                                       .warmup = 10ms,
                                       .measure = 60ms,
                                       .patience = 60s},
                                      Natural{}, interrupted);
  CHECK(result.offered > 0);
  CHECK(result.failed == 0);
  CHECK(result.unanswered == 0);
  CHECK(result.mean_ms >= 0.2);
  CHECK(result.p50_ms <= result.p99_ms);
  CHECK(result.p99_ms <= result.max_ms);
  CHECK(result.batch_items >= 1);
  CHECK(result.collapse_ratio >= 0.5);  // the measured time may begin with old changes to send
}

TEST_CASE("a store that does not keep up shows in what is not answered", "[policy-bench]") {
  const std::atomic<bool> interrupted = false;
  const TrialResult result = RunTrial({.store_url = "memory:?per_item=1h",
                                       .servers = 1,
                                       .rate = 2000,
                                       .warmup = 0ms,
                                       .measure = 20ms,
                                       .patience = 20ms},
                                      Natural{}, interrupted);
  CHECK(result.unanswered == result.offered);
  CHECK(result.max_ms >= 20);
  CHECK_FALSE(result.Sustained(1h));
}

TEST_CASE("a trial says why a store cannot be opened", "[policy-bench]") {
  const std::atomic<bool> interrupted = false;
  CHECK_THROWS_AS(RunTrial({.store_url = "nowhere:"}, Natural{}, interrupted), std::runtime_error);
}

TEST_CASE("an interrupted bench ends, with what it has", "[policy-bench]") {
  const std::atomic<bool> interrupted = true;
  BenchOptions options;
  options.stores = {{"memory", "memory:"}};
  options.policies = {Natural{}};
  CHECK(Measure(
            options, RunTrial, [](const Setting&, const Policy&, double) {}, interrupted)
            .empty());
}

TEST_CASE("a bench stops asking a policy for more once it is overloaded", "[policy-bench]") {
  const std::atomic<bool> interrupted = false;
  BenchOptions options;
  options.stores = {{"memory", "memory:?per_item=1h"}};
  options.servers = {2};
  options.rates = {2000, 4000};
  options.policies = {Natural{}};
  options.sustained = {};
  options.repetitions = 2;
  options.warmup = options.measure = options.max_p99 = 10ms;
  std::vector<double> asked;
  const std::vector<Setting> settings = Measure(
      options, RunTrial, [&](const Setting&, const Policy&, double rate) { asked.push_back(rate); },
      interrupted);
  CHECK(asked == std::vector<double>{2000, 2000});
  REQUIRE(settings.size() == 1);
  CHECK_FALSE(settings[0].policies[0].points[0].Sustained(10ms));
  CHECK_FALSE(settings[0].policies[0].points[1].measured());
}

}  // namespace
}  // namespace stout::bench
