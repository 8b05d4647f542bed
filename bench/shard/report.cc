#include "shard/report.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>

#include "load/json.h"
#include "stout/sim/json_text.h"

namespace stout::bench::shard {
namespace {

namespace json = boost::json;

constexpr int kOpenLevels = 4;  // down to the peers of a workload

double LatencyUs(const Timing& timing, double quantile) {
  return static_cast<double>(timing.call_latency.Quantile(quantile)) / 1000;
}

json::object ToJson(const PeerCost& peer, std::uint64_t raw_bytes) {
  json::object parts;
  for (const Space::Part& part : peer.space.parts()) parts[part.name] = part.bytes;
  return {{"name", peer.name},
          {"bytes", peer.space.Total()},
          {"ratio", Rounded(peer.space.Ratio(raw_bytes))},
          {"parts", std::move(parts)},
          {"pss_growth_bytes", peer.pss_growth_bytes},
          {"build_s", Rounded(peer.build_s)},
          {"build_cpu_s", Rounded(peer.build_cpu_s)}};
}

json::object ToJson(const Workload::Entry& entry) {
  const Timing& timing = entry.timing;
  return {{"name", entry.peer},
          {"operations", timing.operations},
          {"best_per_cpu_s", Rounded(timing.BestPerCpuSecond())},
          {"median_per_cpu_s", Rounded(timing.MedianPerCpuSecond())},
          {"best_per_s", Rounded(timing.BestPerSecond())},
          {"median_per_s", Rounded(timing.MedianPerSecond())},
          {"call_p50_us", Rounded(LatencyUs(timing, 0.5))},
          {"call_p99_us", Rounded(LatencyUs(timing, 0.99))}};
}

json::object ToJson(const Workload& workload) {
  json::array entries;
  for (const Workload::Entry& entry : workload.entries) entries.push_back(ToJson(entry));
  return {{"name", workload.name},
          {"hits_per_operation", Rounded(workload.hits_per_operation)},
          {"peers", std::move(entries)}};
}

json::object ToJson(const CompareOptions& options) {
  return {{"data_bytes", options.data.bytes},
          {"data_seed", options.data.seed},
          {"kind", options.kind},
          {"distribution", options.distribution.Name()},
          {"gets", options.gets},
          {"depth", options.depth},
          {"most_searches", options.searches.searches},
          {"most_hits", options.searches.hits},
          {"substrings", options.substrings.searches},
          {"repeats", options.repeats},
          {"longest_s", options.longest_s},
          {"seed", options.seed}};
}

/// "1.23k", "12.3M": three digits tell all that a measurement knows.
std::string Short(double number) {
  if (number >= 1e6) return fmt::format("{:.3g}M", number / 1e6);
  if (number >= 1e3) return fmt::format("{:.3g}k", number / 1e3);
  return fmt::format("{:.3g}", number);
}

}  // namespace

std::string ToJson(const CompareOptions& options, const Comparison& comparison) {
  json::array peers;
  for (const PeerCost& peer : comparison.peers) peers.push_back(ToJson(peer, comparison.raw_bytes));
  json::array left_out;
  for (const LeftOut& left : comparison.left_out) {
    left_out.push_back(json::object{{"name", left.peer}, {"why", left.why}});
  }
  json::array workloads;
  for (const Workload& workload : comparison.workloads) workloads.push_back(ToJson(workload));
  const json::object document{{"format", "stout shard-bench 1"},
                              {"when", UtcNow()},
                              {"cpus", std::thread::hardware_concurrency()},
                              {"options", ToJson(options)},
                              {"records", comparison.records},
                              {"raw_bytes", comparison.raw_bytes},
                              {"peers", std::move(peers)},
                              {"left_out", std::move(left_out)},
                              {"workloads", std::move(workloads)}};
  return sim::JsonText(document, kOpenLevels);
}

std::string ToText(const Comparison& comparison) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{} records, {} bytes of values\n", comparison.records, comparison.raw_bytes);
  fmt::format_to(out, "\n{:<16}{:>10}{:>10}{:>12}\n", "", "ratio", "build s", "PSS ratio");
  for (const PeerCost& peer : comparison.peers) {
    const double pss =
        static_cast<double>(peer.pss_growth_bytes) / static_cast<double>(comparison.raw_bytes);
    fmt::format_to(out, "{:<16}{:>10.3f}{:>10.3g}{:>12.3f}\n", peer.name,
                   peer.space.Ratio(comparison.raw_bytes), peer.build_s, pss);
  }
  for (const Workload& workload : comparison.workloads) {
    fmt::format_to(out, "\n{:<16}{:>10}{:>10}{:>12}{:>12}   {:.3g} hits per operation\n",
                   workload.name, "/CPU s", "median", "p50 us", "p99 us",
                   workload.hits_per_operation);
    for (const auto& [peer, timing] : workload.entries) {
      fmt::format_to(out, "{:<16}{:>10}{:>10}{:>12.3g}{:>12.3g}\n", peer,
                     Short(timing.BestPerCpuSecond()), Short(timing.MedianPerCpuSecond()),
                     LatencyUs(timing, 0.5), LatencyUs(timing, 0.99));
    }
  }
  for (const LeftOut& left : comparison.left_out) {
    fmt::format_to(out, "\nleft out: {}, {}\n", left.peer, left.why);
  }
  return text;
}

}  // namespace stout::bench::shard
