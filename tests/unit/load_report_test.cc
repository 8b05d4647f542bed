#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "load/comparison.h"
#include "load/run_report.h"
#include "report/json_text.h"
#include "tests/support/catch.h"

namespace stout::load {
namespace {

using namespace std::chrono_literals;
using report::JsonText;

TimePoint At(Duration t) { return TimePoint(t); }

const std::vector<Step> kSteps = {{0s, 10}, {2s, 100}};

TEST_CASE("a request belongs to the step and second in which it was due", "[load]") {
  Recorder recorder(kSteps, 4s);
  recorder.OnOffered(Op::kWrite, At(-1s));  // warm-up
  recorder.OnDone(Op::kWrite, At(-1s), At(-900ms));
  recorder.OnOffered(Op::kWrite, At(1900ms));
  recorder.OnOffered(Op::kRead, At(1950ms));
  recorder.OnSent(At(1900ms), At(1910ms));
  recorder.OnDone(Op::kWrite, At(1900ms), At(2500ms));
  recorder.OnFailed(Op::kRead, At(1950ms), Failure::kTimeout);

  const std::vector<Window>& steps = recorder.steps();
  CHECK(steps[0].writes.offered == 1);
  CHECK(steps[0].writes.done == 1);
  CHECK(steps[0].writes.answered == 0);
  CHECK(steps[1].writes.answered == 1);
  CHECK(steps[0].writes.latency.max() == 600'000'000);
  CHECK(steps[0].send_delay.max() == 10'000'000);
  CHECK(steps[0].reads.Failed() == 1);
  CHECK(steps[0].reads.Outstanding() == 0);
  CHECK(recorder.Total().writes.done == 1);

  const auto& seconds = recorder.Seconds(At(4s));
  REQUIRE(seconds.size() == 4);
  CHECK(seconds[1].writes.done == 1);
  CHECK(seconds[1].reads.failed == 1);
  CHECK(seconds[2].writes.answered == 1);
  CHECK(seconds[2].writes.offered == 0);
}

TEST_CASE("a second closes only when all its requests have ended", "[load]") {
  Recorder recorder(kSteps, 60s);
  recorder.OnOffered(Op::kWrite, At(100ms));
  for (int second = 0; second < 50; ++second) {
    const TimePoint due = At(std::chrono::seconds(second) + 500ms);
    recorder.OnOffered(Op::kRead, due);
    recorder.OnDone(Op::kRead, due, due + 1ms);
  }
  REQUIRE(recorder.LastSecond(At(50s)) != nullptr);
  CHECK(recorder.LastSecond(At(50s))->reads.done == 1);
  recorder.OnDone(Op::kWrite, At(100ms), At(50s));
  const auto& seconds = recorder.Seconds(At(60s));
  REQUIRE(seconds.size() == 60);
  CHECK(seconds[0].writes.done == 1);
  CHECK(seconds[0].writes.latency.max == 49'900ms);
  CHECK(seconds[49].reads.done == 1);
  CHECK(seconds[50].writes.answered == 1);
}

TEST_CASE("a generator that was stopped for seconds still records what was due", "[load]") {
  Recorder recorder(kSteps, 60s);
  recorder.OnOffered(Op::kRead, At(0s));
  recorder.OnDone(Op::kRead, At(0s), At(9s));
  recorder.OnOffered(Op::kRead, At(1s));
  recorder.OnDone(Op::kRead, At(1s), At(9s));
  CHECK(recorder.Seconds(At(10s))[1].reads.done == 1);
}

TEST_CASE("the counters of all lanes are added up", "[load]") {
  const auto counters = ParseServerCounters(
      "# HELP stout_keys_marked_total Changes that were taken\n"
      "# TYPE stout_keys_marked_total counter\n"
      "stout_keys_marked_total{lane=\"0\"} 600\n"
      "stout_keys_marked_total{lane=\"1\"} 4e+02\n"
      "stout_keys_marked_total_created 7\n"
      "stout_writes_sent_total 100 1395066363000\n"
      "stout_batches_sent_total{lane=\"a } b\"} 20");
  CHECK(counters == ServerCounters{1000, 100, 20});
  CHECK(counters->BatchSize() == 5);
  CHECK(counters->CollapseRatio() == 10);
  CHECK_FALSE(ParseServerCounters("stout_keys_marked_total 1\n"));
  CHECK(ServerCounters{}.BatchSize() == 0);
  CHECK(ServerCounters{}.CollapseRatio() == 0);
}

TEST_CASE("a difference of counters needs a sample at either end", "[load]") {
  const std::vector<CounterSample> samples = {
      {At(0s), {0, 0, 0}}, {At(1010ms), {10, 5, 1}}, {At(2s), {30, 15, 2}}, {At(3s), {2, 1, 1}}};
  CHECK(CountersBetween(samples, At(1s), At(2s)) == ServerCounters{20, 10, 1});
  CHECK(CountersBetween(samples, At(0s), At(2s)) == ServerCounters{30, 15, 2});
  CHECK_FALSE(CountersBetween(samples, At(2s), At(3s)));  // The server began anew.
  CHECK_FALSE(CountersBetween(samples, At(3s), At(4s)));
  CHECK_FALSE(CountersBetween({}, At(0s), At(1s)));
}

RunReport Example() {
  Recorder recorder(kSteps, 4s);
  for (int i = 0; i < 40; ++i) {
    const TimePoint due = At(i * 100ms);
    recorder.OnOffered(Op::kWrite, due);
    recorder.OnDone(Op::kWrite, due, due + 2500us);
  }
  RunReport report;
  report.options.target = {"127.0.0.1", 8080};
  report.options.label = "natural";
  report.options.steps = kSteps;
  report.options.duration = 4s;
  report.end = At(4s);
  report.steps = recorder.steps();
  report.total = recorder.Total();
  report.seconds = recorder.Seconds(At(4s));
  for (int s = 0; s <= 4; ++s) {
    report.samples.push_back({At(std::chrono::seconds(s)), {s * 10.0, s * 5.0, s * 1.0}});
  }
  return report;
}

TEST_CASE("a report becomes JSON that reads back", "[load]") {
  const boost::json::value report = boost::json::parse(JsonText(ToJson(Example())));
  CHECK(report.at("label").as_string() == "natural");
  CHECK(report.at("steps").as_array().size() == 2);
  CHECK(report.at("seconds").as_array().size() == 4);
  const boost::json::value& step = report.at("steps").at(1);
  CHECK(step.at("writes").at("offered").as_int64() == 20);
  CHECK(step.at("writes").at("answered_per_s").to_number<double>() == 10);
  CHECK(step.at("writes").at("latency_us").at("max").as_int64() == 2500);
  CHECK(step.at("server").at("batch_size").to_number<double>() == 5);
  CHECK(step.at("server").at("collapse_ratio").to_number<double>() == 2);
}

TEST_CASE("an interrupted report ends where the run did", "[load]") {
  RunReport report = Example();
  report.interrupted = true;
  report.end = At(1500ms);
  CHECK(ToJson(report).at("steps").as_array().size() == 1);
  CHECK(ToTable(report).find("0 s - 1.5 s") != std::string::npos);
}

TEST_CASE("runs are compared in one table, one document and files for gnuplot", "[load]") {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / "stout-load-report-test";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const std::filesystem::path file = directory / "natural.json";
  RunReport report = Example();
  report.options.label = "natural, \"twice\"";
  std::ofstream(file) << JsonText(ToJson(report));

  const Comparison comparison({file, file});
  const std::string table = comparison.Table();
  CHECK(table.find("natural") != table.rfind("natural"));
  CHECK(table.find("2-4 s") != std::string::npos);
  CHECK(comparison.Json().at("runs").as_array().size() == 2);
  comparison.WritePlotData(directory / "plots");
  CHECK(std::filesystem::exists(directory / "plots/run-1.dat"));
  std::ifstream steps(directory / "plots/steps.dat");
  std::string line;
  for (int i = 0; i < 3; ++i) std::getline(steps, line);
  CHECK(line.starts_with("\"natural, 'twice'\" 10 "));

  const std::filesystem::path bad = directory / "bad.json";
  std::ofstream(bad) << GENERATE("", "{", "[]", "{\"label\": 1}", "{\"label\": \"x\"}");
  CHECK_THROWS_AS(Comparison({bad}), ReportError);
  boost::json::object without_seconds = ToJson(report);
  without_seconds.erase("seconds");
  std::ofstream(bad) << JsonText(without_seconds);
  CHECK_THROWS_WITH(Comparison({bad}), Catch::Contains("bad.json is not a report"));
  CHECK_THROWS_AS(Comparison({directory / "none.json"}), ReportError);
  std::filesystem::remove_all(directory);
}

TEST_CASE("a line of progress has rates, latencies, batches and errors", "[load]") {
  Window second;
  second.reads.offered = 40;
  second.writes.offered = 60;
  second.reads.answered = 30;
  second.writes.answered = 2;
  second.writes.failed[0] = 5;
  CHECK(ProgressText(7, second, {}, {}) ==
        "   7 s  due    100/s  answered     32/s  write p50     - ms  p99     - ms  batch     -  "
        "errors 5");
  Histogram writes;
  writes.Record(std::uint64_t{8'000'000});
  const ServerCounters server{.keys_marked = 90, .writes_sent = 60, .batches_sent = 8};
  const std::string text = ProgressText(7, second, writes, server);
  CHECK_THAT(text, Catch::Contains("batch   7.5"));
  CHECK_THAT(text, Catch::Contains("p50  8."));
  CHECK_THAT(ProgressText(7, second, writes, ServerCounters{}), Catch::Contains("batch     -"));
}

TEST_CASE("milliseconds keep three digits that mean something", "[load]") {
  CHECK(Milliseconds(0.4151) == "0.42");
  CHECK(Milliseconds(27.14) == "27.1");
  CHECK(Milliseconds(1250.4) == "1250");
}

}  // namespace
}  // namespace stout::load
