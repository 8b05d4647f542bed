#include "load/json.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace stout::bench {

namespace json = boost::json;

double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 4 - std::ceil(std::log10(std::fabs(value))));
  return scale > 1 ? std::round(value * scale) / scale : std::round(value);
}

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

json::object ToJson(const TrialResult& trial) {
  json::object object;
  const auto add = [&](std::string_view name, double value) { object[name] = Rounded(value); };
  add("offered_per_s", trial.offered_per_s);
  add("answered_per_s", trial.answered_per_s);
  object["latency_ms"] = json::object{{"mean", Rounded(trial.mean_ms)},
                                      {"p50", Rounded(trial.p50_ms)},
                                      {"p99", Rounded(trial.p99_ms)},
                                      {"p999", Rounded(trial.p999_ms)},
                                      {"max", Rounded(trial.max_ms)}};
  add("latency_growth", trial.growth);
  add("batch_items", trial.batch_items);
  add("interval_ms", trial.interval_ms);
  add("collapse_ratio", trial.collapse_ratio);
  add("jain_latency", trial.jain_latency);
  add("jain_throughput", trial.jain_throughput);
  add("generator_lateness_p99_ms", trial.lateness_p99_ms);
  object["offered"] = trial.offered;
  object["failed"] = trial.failed;
  object["unanswered"] = trial.unanswered;
  if (!trial.timeline.empty()) {
    json::array timeline;
    for (const TrialSlice& slice : trial.timeline) {
      timeline.push_back(
          json::array{Rounded(slice.at_s), Rounded(slice.mean_ms), Rounded(slice.interval_ms)});
    }
    object["timeline"] = std::move(timeline);
  }
  return object;
}

void WriteFile(const std::string& file, const std::string& text) {
  if (file == "-") {
    fmt::print("{}\n", text);
    return;
  }
  std::ofstream out(file);
  if (!(out << text << '\n' << std::flush)) throw std::runtime_error("cannot write " + file);
}

}  // namespace stout::bench
