#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "commands.h"
#include "fields.h"
#include "program/interrupt.h"
#include "progress.h"
#include "stout/sim/grid.h"
#include "stout/sim/regret.h"
#include "stout/sim/scenario_json.h"

namespace stout::sim::internal {
namespace {

/// How often a long run writes what it has, should the machine go down.
constexpr std::chrono::seconds kSaveEvery{30};
/// A line for each result.
constexpr int kGridFileLevels = 4;

/// The text of a file with `points`, and with the points of earlier runs in `file`.
std::string SavedText(GridFile file, const std::vector<PointResults>& points) {
  file.points.insert(file.points.begin(), points.begin(), points.end());
  return JsonText(GridFileToJson(file), kGridFileLevels);
}

// A grid takes hours, so a run whose results nobody sees must not begin.
void CheckOutput(const GridOptions& options) {
  if (options.policies.empty() && options.json_file.empty() && !options.list &&
      options.print_scenario.empty()) {
    throw CommandError(kBadOptions,
                       "nothing to print: give --policy, --json, --list or --print-scenario");
  }
  if (options.resume && options.json_file == "-") {
    throw CommandError(kBadOptions, "--resume needs a file: --json - is stdout");
  }
}

/// The points that this call runs.
std::vector<GridPoint> Selected(std::vector<GridPoint> points, const GridOptions& options) {
  std::erase_if(points, [&](const GridPoint& point) {
    return point.name.find(options.only) == std::string::npos;
  });
  if (points.empty()) {
    throw CommandError(
        kBadOptions,
        fmt::format("--only: no point's name has \"{}\" in it; --list shows them", options.only));
  }
  return points;
}

/// Keeps what `file` has and this run does not touch: other points of the grid, and other policies.
void Keep(GridFile file, const std::vector<GridPoint>& all, const std::vector<GridPoint>& points,
          GridFile& kept) {
  for (std::string& policy : file.policies) {
    if (std::find(kept.policies.begin(), kept.policies.end(), policy) == kept.policies.end()) {
      kept.policies.push_back(std::move(policy));
    }
  }
  // The summary is of one grid: results from before it was edited have no place in it.
  std::erase_if(file.points, [&](const PointResults& results) {
    const auto named = [&](const GridPoint& point) { return point.name == results.point.name; };
    const auto same = [&](const GridPoint& point) {
      return named(point) && point.scenario == results.point.scenario;
    };
    return std::any_of(points.begin(), points.end(), named) ||
           std::none_of(all.begin(), all.end(), same);
  });
  kept.points = std::move(file.points);
}

/// Earlier results that still hold: of the baseline, and of the file that is to be resumed. What
/// else that file has of `all` points of the grid goes to `kept`.
std::vector<PointResults> Begin(const std::vector<GridPoint>& all,
                                const std::vector<GridPoint>& points, const GridOptions& options,
                                GridFile& kept) {
  std::vector<PointResults> earlier;
  if (!options.baseline.empty()) {
    const GridFile file = FromFile(ReadGridFile(ReadFile(options.baseline)), options.baseline);
    earlier = TakeOver(points, file.points, false);
  }
  if (!options.resume || !std::filesystem::exists(options.json_file)) {
    return TakeOver(points, earlier, false);
  }
  GridFile file = FromFile(ReadGridFile(ReadFile(options.json_file)), options.json_file);
  if (file.grid != kept.grid) {
    throw CommandError(
        kBadOptions,
        fmt::format("--resume: {} has results of grid \"{}\", not of \"{}\"; choose another --json",
                    options.json_file, file.grid, kept.grid));
  }
  std::vector<PointResults> results = TakeOver(points, file.points, true);
  Keep(std::move(file), all, points, kept);
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    if (!results[i].interval) results[i].interval = std::move(earlier[i].interval);
    results[i].policies.merge(earlier[i].policies);
  }
  return results;
}

std::string ListOf(const std::vector<GridPoint>& points) {
  std::string text = fmt::format("{:<32} {:>14} {:>16} {:>12} {:>12}\n", "point", "changes/s",
                                 "round trip, ms", "round trips", "seconds");
  for (const GridPoint& point : points) {
    text += fmt::format("{:<32} {:>14.6g} {:>16.4g} {:>12.4g} {:>12.4g}{}\n", point.name,
                        point.scenario.clients.total_rate_per_s, point.round_trip_ms,
                        point.round_trips, point.scenario.duration_s, point.cut ? "  cut" : "");
  }
  return text;
}

std::string TextOfPoint(const std::vector<GridPoint>& points, const std::string& name) {
  const auto found = std::find_if(points.begin(), points.end(),
                                  [&](const GridPoint& point) { return point.name == name; });
  if (found != points.end()) return JsonText(ScenarioToJson(found->scenario));
  std::vector<std::string_view> names;
  names.reserve(points.size());
  for (const GridPoint& point : points) names.push_back(point.name);
  const std::string hint = DidYouMean(name, names);
  throw CommandError(kBadOptions, fmt::format("--print-scenario: there is no point \"{}\"{}", name,
                                              hint.empty() ? "; --list shows them" : hint));
}

}  // namespace

ExitCode Execute(const GridOptions& options, const Tool& tool) {
  CheckOutput(options);
  Grid grid = FromFile(ReadGrid(ReadFile(options.grid)), options.grid);
  if (grid.name.empty()) grid.name = options.grid.stem().string();
  grid.seeds = options.seeds.value_or(grid.seeds);
  const std::vector<GridPoint> all = Expand(grid);
  const std::vector<GridPoint> points = Selected(all, options);
  if (options.list || !options.print_scenario.empty()) {
    fmt::print(tool.out, "{}",
               options.list ? ListOf(points) : TextOfPoint(points, options.print_scenario));
    return kOk;
  }
  GridRunOptions run{.policies = PoliciesOf(options.policies, tool),
                     .jobs = options.jobs,
                     .without_oracle = options.without_oracle,
                     .progress = {},
                     .stop = &program::Interrupt::flag()};
  GridFile kept{.grid = grid.name, .policies = options.policies, .points = {}};
  std::vector<PointResults> results = Begin(all, points, options, kept);
  const bool save = !options.json_file.empty() && options.json_file != "-";
  if (save && !options.resume && std::filesystem::is_regular_file(options.json_file)) {
    const std::string earlier = options.json_file + "~";
    std::filesystem::rename(options.json_file, earlier);
    fmt::print(tool.err, "stout-sim: without --resume: what {} held is in {} now\n",
               options.json_file, earlier);
  }
  // Now rather than after an hour.
  if (save) WriteFile(options.json_file, SavedText(kept, results), tool);

  bool complete = false;
  {
    Progress progress(tool.err, fmt::format("{} points", points.size()));
    auto saved = std::chrono::steady_clock::now();
    run.progress = [&](const std::vector<PointResults>& so_far, double share) {
      progress.Show(share);
      const auto now = std::chrono::steady_clock::now();
      if (!save || now < saved + kSaveEvery) return;
      saved = now;
      WriteFile(options.json_file, SavedText(kept, so_far), tool);
    };
    try {
      complete = RunGrid(results, run);
    } catch (...) {
      if (save) WriteFile(options.json_file, SavedText(kept, results), tool);
      throw;
    }
  }
  if (!options.json_file.empty() && (complete || save)) {
    WriteFile(options.json_file, SavedText(kept, results), tool);
  }
  if (!complete) {
    fmt::print(tool.err, "stout-sim: interrupted{}\n",
               save ? "; --resume goes on from " + options.json_file : "");
    return kInterrupted;
  }
  if (options.json_file == "-") return kOk;
  for (const std::string& policy : options.policies) {
    fmt::print(tool.out, "{}\n", RegretTable(results, policy));
  }
  const auto cut =
      std::count_if(points.begin(), points.end(), [](const GridPoint& point) { return point.cut; });
  if (cut > 0) {
    fmt::print(tool.out,
               "{} of {} points are shorter than {:g} round trips, cut at {} changes; --list "
               "shows which\n",
               cut, points.size(), grid.round_trips, grid.max_changes);
  }
  return kOk;
}

}  // namespace stout::sim::internal
