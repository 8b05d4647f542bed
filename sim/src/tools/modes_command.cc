#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"
#include "parallel.h"
#include "program/interrupt.h"
#include "stout/sim/json_text.h"
#include "stout/sim/modes.h"

namespace stout::sim::internal {
namespace {

constexpr std::array<std::pair<std::string_view, ModesSpec::Mode>, 3> kModes{
    {{"ms+sc", ModesSpec::Mode::kMsSc},
     {"ms+ec", ModesSpec::Mode::kMsEc},
     {"aa+ec", ModesSpec::Mode::kAaEc}}};

/// Nodes times ranges in aa+ec. They take 3 GB.
constexpr std::uint64_t kMaxShares = 10'000;

struct ModesPoint {
  std::string_view mode;
  double zipf = 0;
  ModesSpec spec;
  ModesResult result;
};

std::string ModesJson(const std::vector<ModesPoint>& points) {
  boost::json::array rows;
  for (const ModesPoint& point : points) {
    const ModesResult& result = point.result;
    rows.push_back({{"mode", point.mode},
                    {"gets", point.spec.gets},
                    {"zipf", point.zipf},
                    {"nodes", point.spec.nodes},
                    {"ranges", point.spec.ranges},
                    {"requests_per_s", result.requests_per_s},
                    {"mean_ms", result.latency_ms.mean},
                    {"p99_ms", result.latency_ms.p99},
                    {"batches_per_request", result.batches_per_request},
                    {"items_per_batch", result.items_per_batch},
                    {"node_us", result.node_us},
                    {"datalet_us", result.datalet_us},
                    {"busiest_node", result.busiest_node},
                    {"busiest_datalet", result.busiest_datalet},
                    {"digest", fmt::format("{:016x}", result.digest)}});
  }
  const ModesSpec& spec = points.front().spec;
  return JsonText(boost::json::object{{"replicas", spec.replicas},
                                      {"keys", spec.keys},
                                      {"clients_per_node", spec.clients},
                                      {"rtt_us", spec.rtt_us},
                                      {"request_us", spec.request_us},
                                      {"batch_us", spec.batch_us},
                                      {"item_us", spec.item_us},
                                      {"datalet_batch_us", spec.datalet_batch_us},
                                      {"datalet_item_us", spec.datalet_item_us},
                                      {"seed", spec.seed},
                                      {"results", std::move(rows)}});
}

std::string ModesTable(const std::vector<ModesPoint>& points) {
  std::string text =
      fmt::format("{:<5} {:>5} {:>5} {:>5} {:>6} {:>10} {:>9} {:>9} {:>11} {:>11} {:>8} {:>11}\n",
                  "mode", "gets", "zipf", "nodes", "ranges", "requests/s", "mean", "p99",
                  "batches/req", "items/batch", "node us", "node, datal.");
  for (const ModesPoint& point : points) {
    const ModesResult& result = point.result;
    fmt::format_to(std::back_inserter(text),
                   "{:<5} {:>4g}% {:>5g} {:>5} {:>6} {:>10.0f} {:>6.2f} ms {:>6.2f} ms {:>11.3f} "
                   "{:>11.2f} {:>8.1f} {:>4.0f}%, {:>3.0f}%\n",
                   point.mode, 100 * point.spec.gets, point.zipf, point.spec.nodes,
                   point.spec.ranges, result.requests_per_s, result.latency_ms.mean,
                   result.latency_ms.p99, result.batches_per_request, result.items_per_batch,
                   result.node_us, 100 * result.busiest_node, 100 * result.busiest_datalet);
  }
  return text + "\nnode, datal.: the share of its time that the busiest one is busy\n";
}

bool Includes(const ModesOptions& options, std::string_view mode) {
  return std::find(options.modes.begin(), options.modes.end(), mode) != options.modes.end();
}

void CheckModes(const ModesOptions& options) {
  if (options.replicas > *std::min_element(options.nodes.begin(), options.nodes.end()))
    throw CommandError(kBadOptions, "--replicas: at most as many as --nodes");
  const std::uint64_t nodes = *std::max_element(options.nodes.begin(), options.nodes.end());
  const RangeId ranges = *std::max_element(options.ranges.begin(), options.ranges.end());
  if (nodes * ranges > kMaxShares && Includes(options, "aa+ec")) {
    throw CommandError(kBadOptions,
                       fmt::format("aa+ec: --nodes times --ranges at most {}", kMaxShares));
  }
}

}  // namespace

ExitCode Execute(const ModesOptions& options, const Tool& tool) {
  CheckModes(options);
  std::vector<ModesPoint> points;
  for (const double zipf : options.zipf) {
    const auto popularity = ZipfKeys(options.keys, zipf);
    for (const double gets : options.gets) {
      for (const auto& [name, mode] : kModes) {
        if (!Includes(options, name)) continue;
        for (const RangeId ranges : options.ranges) {
          for (const std::uint32_t nodes : options.nodes) {
            ModesPoint point{.mode = name, .zipf = zipf, .spec = {}, .result = {}};
            point.spec.mode = mode;
            point.spec.nodes = nodes;
            point.spec.ranges = ranges;
            point.spec.replicas = options.replicas;
            point.spec.gets = gets / 100;
            point.spec.keys = options.keys;
            point.spec.popularity = popularity;
            point.spec.clients = options.clients;
            point.spec.duration_s = point.spec.warmup_s + options.duration_s;
            point.spec.seed = options.seed;
            points.push_back(std::move(point));
          }
        }
      }
    }
  }
  const auto run = [&](std::size_t i) {
    points[i].result = SimulateModes(points[i].spec, &program::Interrupt::flag());
  };
  RunJobs(points.size(), options.jobs, run, [] {});
  if (program::Interrupt::flag()) return kInterrupted;
  // First, because the file may not be writable.
  if (options.json_file != "-") fmt::print(tool.out, "{}", ModesTable(points));
  if (!options.json_file.empty()) WriteFile(options.json_file, ModesJson(points), tool);
  return kOk;
}

}  // namespace stout::sim::internal
