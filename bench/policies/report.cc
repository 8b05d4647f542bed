#include "policies/report.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "load/json.h"
#include "stout/adapters/store_url.h"
#include "stout/sim/json_text.h"

namespace stout::bench {
namespace {

namespace json = boost::json;

constexpr std::string_view kFixed = "tick:";
constexpr int kOpenLevels = 6;  // down to the trials

/// Three significant digits: below that a short trial is noise.
std::string Short(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  if (value >= 10) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

/// At the lowest rate; nothing if that was not measured.
std::optional<double> LightLoadMean(const PolicyResults& results) {
  if (results.points.empty() || !results.points.front().measured()) return std::nullopt;
  return results.points.front().Median().mean_ms;
}

std::string Title(const Setting& setting) {
  return fmt::format("{}, {} {}, {} documents", setting.store.name, setting.servers,
                     setting.servers == 1 ? "server" : "servers", setting.documents);
}

std::string Cell(const Point& point, Duration max_p99) {
  if (!point.measured()) return "-";
  const TrialResult median = point.Median();
  return fmt::format("{}{} ({})", point.Sustained(max_p99) ? "" : "!", Short(median.mean_ms),
                     Short(median.p99_ms));
}

std::string CapacityText(const Capacity& capacity) {
  return fmt::format("{}{}", capacity.at_least ? ">=" : "", capacity.rate);
}

json::object ToJson(const Point& point, Duration max_p99) {
  json::array trials;
  for (const TrialResult& trial : point.trials) {
    trials.push_back(json::object{{"answered_per_s", Rounded(trial.answered_per_s)},
                                  {"mean_ms", Rounded(trial.mean_ms)},
                                  {"p99_ms", Rounded(trial.p99_ms)},
                                  {"sustained", trial.Sustained(max_p99)}});
  }
  return {{"rate_per_s", point.rate},
          {"sustained", point.Sustained(max_p99)},
          {"median", ToJson(point.Median())},
          {"trials", std::move(trials)}};
}

json::object ToJson(const PolicyResults& results, Duration max_p99) {
  json::array points;
  for (const Point& point : results.points) {
    if (point.measured()) points.push_back(ToJson(point, max_p99));
  }
  json::object object{{"policy", results.policy}, {"points", std::move(points)}};
  if (results.capacity) {
    object["capacity"] = json::object{{"rate_per_s", results.capacity->rate},
                                      {"at_least", results.capacity->at_least},
                                      {"trial", ToJson(results.capacity->trial)}};
  }
  return object;
}

json::object ToJson(const Headline& headline) {
  return {{"policy", headline.policy},
          {"light_load_gain", Rounded(headline.light_load_gain)},
          {"throughput_fixed", headline.throughput_fixed},
          {"sustained_gain", Rounded(headline.sustained_gain)},
          {"latency_fixed", headline.latency_fixed}};
}

json::object ToJson(const Setting& setting, Duration max_p99) {
  json::array policies;
  for (const PolicyResults& results : setting.policies) {
    policies.push_back(ToJson(results, max_p99));
  }
  json::array headlines;
  for (const Headline& headline : Headlines(setting)) headlines.push_back(ToJson(headline));
  return {{"store", setting.store.name},     {"url", Redacted(setting.store.url)},
          {"servers", setting.servers},      {"documents", setting.documents},
          {"policies", std::move(policies)}, {"headlines", std::move(headlines)}};
}

json::object ToJson(const BenchOptions& options) {
  return {{"rates_per_s", json::value_from(options.rates)},
          {"repetitions", options.repetitions},
          {"warmup_ms", Milliseconds(options.warmup)},
          {"measure_ms", Milliseconds(options.measure)},
          {"max_p99_ms", Milliseconds(options.max_p99)},
          {"value_bytes", options.value_bytes},
          {"seed", options.seed}};
}

}  // namespace

std::vector<Headline> Headlines(const Setting& setting) {
  const PolicyResults* throughput_fixed = nullptr;
  const PolicyResults* latency_fixed = nullptr;
  for (const PolicyResults& fixed : setting.policies) {
    if (!fixed.policy.starts_with(kFixed) || !fixed.capacity || !LightLoadMean(fixed)) continue;
    if (!throughput_fixed || fixed.capacity->rate > throughput_fixed->capacity->rate) {
      throughput_fixed = &fixed;
    }
    if (!latency_fixed || *LightLoadMean(fixed) < *LightLoadMean(*latency_fixed)) {
      latency_fixed = &fixed;
    }
  }
  std::vector<Headline> headlines;
  if (throughput_fixed == nullptr) return headlines;
  for (const PolicyResults& results : setting.policies) {
    if (results.policy.starts_with(kFixed) || !results.capacity || !LightLoadMean(results)) {
      continue;
    }
    headlines.push_back(
        {results.policy, *LightLoadMean(*throughput_fixed) / *LightLoadMean(results),
         throughput_fixed->policy, results.capacity->rate / latency_fixed->capacity->rate,
         latency_fixed->policy});
  }
  return headlines;
}

std::string ToTable(const Setting& setting, Duration max_p99) {
  const std::vector<Headline> headlines = Headlines(setting);
  std::string text =
      fmt::format("{}: mean (p99) latency in ms, by changes per second\n{:14}", Title(setting), "");
  for (const Point& point : setting.policies.front().points) {
    text += fmt::format(" {:>16}", point.rate);
  }
  const bool searched = std::any_of(setting.policies.begin(), setting.policies.end(),
                                    [](const PolicyResults& r) { return r.capacity.has_value(); });
  text += searched ? fmt::format(" {:>12}\n", "sustained/s") : "\n";
  for (const PolicyResults& results : setting.policies) {
    text += fmt::format("{:14}", results.policy);
    for (const Point& point : results.points) {
      text += fmt::format(" {:>16}", Cell(point, max_p99));
    }
    if (results.capacity) text += fmt::format(" {:>12}", CapacityText(*results.capacity));
    text += '\n';
  }
  if (!headlines.empty()) {
    text +=
        fmt::format("{:14} latency of {} over its own at {}/s, rate over that of {}:\n", "",
                    headlines.front().throughput_fixed,
                    setting.policies.front().points.front().rate, headlines.front().latency_fixed);
  }
  for (const Headline& headline : headlines) {
    text += fmt::format("{:14} {:>15}x {:>15}x\n", headline.policy, Short(headline.light_load_gain),
                        Short(headline.sustained_gain));
  }
  return text;
}

std::string ToJson(const BenchOptions& options, const std::vector<Setting>& settings,
                   bool interrupted) {
  json::array array;
  for (const Setting& setting : settings) array.push_back(ToJson(setting, options.max_p99));
  const json::object document{{"format", "stout policy-bench 1"},
                              {"when", UtcNow()},
                              {"cpus", std::thread::hardware_concurrency()},
                              {"interrupted", interrupted},
                              {"options", ToJson(options)},
                              {"settings", std::move(array)}};
  return sim::JsonText(document, kOpenLevels);
}

void WritePlotData(const std::vector<Setting>& settings, const std::string& directory) {
  std::filesystem::create_directories(directory);
  for (const Setting& setting : settings) {
    const std::string file = fmt::format("{}/{}-{}-{}.dat", directory, setting.store.name,
                                         setting.servers, setting.documents);
    std::ofstream out(file);
    for (const PolicyResults& results : setting.policies) {
      if (&results != &setting.policies.front()) out << "\n\n";
      out << '"' << results.policy << "\"\n";
      for (const Point& point : results.points) {
        if (!point.measured()) continue;
        const TrialResult median = point.Median();
        out << fmt::format("{} {} {} {} {} {}\n", point.rate, median.mean_ms, median.p50_ms,
                           median.p99_ms, median.batch_items, median.answered_per_s);
      }
    }
    if (!out.flush()) throw std::runtime_error("cannot write " + file);
  }
}

}  // namespace stout::bench
