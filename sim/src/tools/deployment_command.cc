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
#include "stout/sim/deployment.h"
#include "stout/sim/json_text.h"

namespace stout::sim::internal {
namespace {

/// Nodes times ranges. Larger simulations take minutes.
constexpr std::uint64_t kMaxSize = 500'000;

struct Point {
  DeploymentSpec spec;
  DeploymentResult result;
};

constexpr std::array<std::pair<std::string_view, DeploymentPhase DeploymentResult::*>, 4> kPhases{
    {{"start", &DeploymentResult::start},
     {"steady", &DeploymentResult::steady},
     {"death", &DeploymentResult::death},
     {"join", &DeploymentResult::join}}};

boost::json::object PhaseJson(const DeploymentPhase& phase) {
  return {{"seconds", phase.seconds},
          {"calls", phase.calls},
          {"renewals", phase.renewals},
          {"events", phase.events},
          {"busy_share", phase.busy_share},
          {"longest_wait_ms", phase.longest_wait_ms},
          {"moves", phase.moves},
          {"unserved_p50_ms", phase.unserved_p50_ms},
          {"unserved_max_ms", phase.unserved_max_ms},
          {"ended", phase.ended}};
}

std::string Json(const std::vector<Point>& points) {
  boost::json::array rows;
  for (const Point& point : points) {
    boost::json::object row{{"nodes", point.spec.nodes}, {"ranges", point.spec.ranges}};
    for (const auto& [name, phase] : kPhases) row[name] = PhaseJson(point.result.*phase);
    rows.push_back(std::move(row));
  }
  const DeploymentSpec& spec = points.front().spec;
  return JsonText(boost::json::object{{"replicas", spec.replicas},
                                      {"ttl_s", spec.ttl_s},
                                      {"member_timeout_s", spec.member_timeout_s},
                                      {"rtt_us", spec.rtt_us},
                                      {"write_us", spec.write_us},
                                      {"renew_us", spec.renew_us},
                                      {"event_us", spec.event_us},
                                      {"open_us", spec.open_us},
                                      {"hand_over_us", spec.hand_over_us},
                                      {"results", std::move(rows)}});
}

std::string Table(const std::vector<Point>& points) {
  std::string text =
      fmt::format("{:>5} {:>6} {:<6} {:>9} {:>7} {:>8} {:>8} {:>6} {:>9} {:>6} {:>10} {:>10}\n",
                  "nodes", "ranges", "phase", "lasts", "calls", "renewals", "events", "busy",
                  "max wait", "moves", "no owner", "at most");
  const auto out = std::back_inserter(text);
  for (const Point& point : points) {
    for (const auto& [name, member] : kPhases) {
      const DeploymentPhase& phase = point.result.*member;
      fmt::format_to(out, "{:>5} {:>6} {:<6} ", point.spec.nodes, point.spec.ranges, name);
      if (!phase.ended) {
        text += "does not end\n";
        continue;
      }
      fmt::format_to(
          out, "{:>7.3f} s {:>7} {:>8} {:>8} {:>5.1f}% {:>6.1f} ms {:>6} {:>7.0f} ms {:>7.0f} ms\n",
          phase.seconds, phase.calls, phase.renewals, phase.events, 100 * phase.busy_share,
          phase.longest_wait_ms, phase.moves, phase.unserved_p50_ms, phase.unserved_max_ms);
    }
  }
  return text;
}

void Check(const DeploymentOptions& options) {
  const std::uint64_t nodes = *std::max_element(options.nodes.begin(), options.nodes.end());
  const RangeId ranges = *std::max_element(options.ranges.begin(), options.ranges.end());
  if (nodes * ranges > kMaxSize) {
    throw CommandError(kBadOptions, fmt::format("--nodes times --ranges: at most {}", kMaxSize));
  }
  if (options.replicas > *std::min_element(options.nodes.begin(), options.nodes.end())) {
    throw CommandError(kBadOptions, "--replicas: at most as many as --nodes");
  }
}

}  // namespace

ExitCode Execute(const DeploymentOptions& options, const Tool& tool) {
  std::vector<Point> points;
  Check(options);
  for (const std::uint32_t nodes : options.nodes) {
    for (const RangeId ranges : options.ranges) {
      points.push_back({.spec = {.nodes = nodes,
                                 .ranges = ranges,
                                 .replicas = options.replicas,
                                 .ttl_s = options.ttl_s,
                                 .event_us = options.event_us},
                        .result = {}});
    }
  }
  const auto run = [&](std::size_t i) {
    points[i].result = SimulateDeployment(points[i].spec, &program::Interrupt::flag());
  };
  RunJobs(points.size(), options.jobs, run, [] {});
  if (program::Interrupt::flag()) return kInterrupted;
  // First, because the file may not be writable.
  if (options.json_file != "-") fmt::print(tool.out, "{}", Table(points));
  if (!options.json_file.empty()) WriteFile(options.json_file, Json(points), tool);
  return kOk;
}

}  // namespace stout::sim::internal
