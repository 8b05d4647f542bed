#include "stout/sim/plot.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>

extern char** environ;  // NOLINT(readability-identifier-naming): POSIX

namespace stout::sim {
namespace {

// Colours of Okabe and Ito, which colour-blind readers can tell apart; shapes differ too.
constexpr std::string_view kStyle = R"(set encoding utf8
set linetype 1 linecolor rgb "#0072b2" linewidth 2 pointtype 5 pointsize 0.5
set linetype 2 linecolor rgb "#e69f00" linewidth 2 pointtype 7 pointsize 0.5
set linetype 3 linecolor rgb "#009e73" linewidth 2 pointtype 9 pointsize 0.5
set linetype 4 linecolor rgb "#d55e00" linewidth 2 pointtype 4 pointsize 0.5
set linetype 5 linecolor rgb "#cc79a7" linewidth 2 pointtype 6 pointsize 0.5
set linetype 6 linecolor rgb "#000000" linewidth 2 pointtype 8 pointsize 0.5
set linetype cycle 6
set grid ytics linecolor "gray85"
set border 3
set tics nomirror
set key outside right top
)";

/// In single quotes, where gnuplot knows no escape but a doubled quote. A line's end would end the
/// text, too: it becomes a space.
std::string Literal(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c == '\n' ? ' ' : c);
  return quoted + "'";
}

/// A name that the enhanced text of gnuplot would read as markup: a_b.
std::string Title(std::string_view text) { return Literal(text) + " noenhanced"; }

std::string Begin(const std::filesystem::path& output, int width, int height) {
  return fmt::format(
      "set terminal svg size {},{} font 'sans,13' background 'white'\n"
      "set output {}\n{}",
      width, height, Literal(output.string()), kStyle);
}

/// A curve: rows of numbers under a name.
struct Curve {
  std::string title;
  std::vector<std::vector<double>> rows;
};

/// `$prefix0 << EOD ...` for each curve.
std::string Data(std::string_view prefix, const std::vector<Curve>& curves) {
  std::string text;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "${}{} << EOD\n", prefix, i);
    for (const std::vector<double>& row : curves[i].rows) {
      for (const double value : row) fmt::format_to(std::back_inserter(text), "{} ", value);
      text += '\n';
    }
    text += "EOD\n";
  }
  return text;
}

/// One panel: `column` of each curve against the first.
std::string Panel(std::string_view prefix, const std::vector<Curve>& curves, int column,
                  std::string_view style, const std::string& before) {
  std::string text = before;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{} ${}{} using 1:{} with {} linetype {} title {}",
                   i == 0 ? "plot" : ", \\\n    ", prefix, i, column, style, i + 1,
                   Title(curves[i].title));
  }
  return text + "\n";
}

/// An axis label, a title, and whether the axis is logarithmic.
std::string Axes(std::string_view title, std::string_view x, std::string_view y, bool log) {
  return fmt::format("set title '{}'\nset xlabel '{}'\nset ylabel '{}'\n{}set logscale y\n", title,
                     x, y, log ? "" : "un");
}

/// By policy, and by scenario where several appear.
std::vector<Curve> TimelineCurves(const std::vector<Result>& results) {
  std::set<std::string_view> scenarios;
  for (const Result& result : results) scenarios.insert(result.scenario);
  std::vector<Curve> curves;
  for (const Result& result : results) {
    Curve& curve = curves.emplace_back();
    curve.title = scenarios.size() > 1 ? fmt::format("{}, {}", result.scenario, result.policy)
                                       : result.policy;
    for (const Slice& slice : result.timeline) {
      curve.rows.push_back({slice.at_s, slice.completed_per_s, slice.write_mean_ms,
                            slice.write_p99_ms, slice.offered_per_s});
    }
  }
  return curves;
}

std::vector<Curve> SweepCurves(const Sweep& sweep) {
  std::vector<Curve> curves;
  for (const SweepRun& run : sweep.runs) {
    if (curves.empty() || curves.back().title != run.result.policy) {
      curves.push_back({run.result.policy, {}});
    }
    if (!run.result.stable) continue;
    curves.back().rows.push_back(
        {run.rate_per_s, run.result.write_latency_ms.mean, run.result.write_latency_ms.p99});
  }
  for (Curve& curve : curves) std::sort(curve.rows.begin(), curve.rows.end());
  return curves;
}

std::vector<std::string> PoliciesToPlot(const GridFile& file) {
  std::vector<std::string> names = file.policies;
  const std::string& natural = NaturalPolicies().front();
  if (std::find(names.begin(), names.end(), natural) == names.end()) names.push_back(natural);
  return names;
}

/// Percent of the points whose regret is at most the second number.
Curve Distribution(const GridFile& file, const std::string& policy) {
  std::vector<double> regrets;
  for (const PointResults& point : file.points) {
    if (const auto regret = RegretOf(point, policy)) regrets.push_back(*regret);
  }
  std::sort(regrets.begin(), regrets.end());
  Curve curve{policy, {}};
  for (std::size_t i = 0; i < regrets.size(); ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(regrets.size());
    curve.rows.push_back({100 * share, regrets[i]});
  }
  return curve;
}

Curve ByLoad(const GridFile& file, const std::string& policy) {
  Curve curve{policy, {}};
  for (const RegretRow& row : Summarise(file.points, policy)) {
    if (row.group != "load" || row.geometric_mean == 0) continue;
    curve.rows.push_back({std::strtod(row.name.c_str(), nullptr), row.geometric_mean});
  }
  std::sort(curve.rows.begin(), curve.rows.end());
  return curve;
}

/// gnuplot refuses to plot nothing.
void RequireData(const std::vector<Curve>& curves, std::string_view what) {
  const bool some = std::any_of(curves.begin(), curves.end(),
                                [](const Curve& curve) { return !curve.rows.empty(); });
  if (!some) throw PlotError(fmt::format("there is nothing to plot: {}", what));
}

}  // namespace

std::string TimelineScript(const std::vector<Result>& results,
                           const std::filesystem::path& output) {
  std::vector<Curve> curves = TimelineCurves(results);
  RequireData(curves, "no result has a timeline");
  std::erase_if(curves, [](const Curve& curve) { return curve.rows.empty(); });
  std::string rates = Panel(
      "run", curves, 2, "lines",
      Axes("Changes that became durable", "seconds", "per second", false) + "set yrange [0:*]\n");
  rates.pop_back();  // goes on: what the first run was offered
  rates += ", \\\n     $run0 using 1:5 with lines linecolor 'gray50' dashtype 2 title 'offered'\n";
  return Begin(output, 900, 900) + Data("run", curves) + "set multiplot layout 3,1\n" + rates +
         "set yrange [*:*]\n" +
         Panel("run", curves, 3, "lines", Axes("Write latency, mean", "seconds", "ms", true)) +
         Panel("run", curves, 4, "lines",
               Axes("Write latency, 99th percentile", "seconds", "ms", true)) +
         "unset multiplot\n";
}

std::string SweepScript(const Sweep& sweep, const std::filesystem::path& output) {
  std::vector<Curve> curves = SweepCurves(sweep);
  RequireData(curves, "no run of the sweep is stable");
  std::erase_if(curves, [](const Curve& curve) { return curve.rows.empty(); });
  return Begin(output, 900, 720) + Data("policy", curves) + "set multiplot layout 2,1\n" +
         Panel("policy", curves, 2, "linespoints",
               Axes("Write latency, mean", "changes per second", "ms", true)) +
         Panel("policy", curves, 3, "linespoints",
               Axes("Write latency, 99th percentile", "changes per second", "ms", true)) +
         "unset multiplot\n";
}

std::string RegretScript(const GridFile& file, const std::filesystem::path& output) {
  std::vector<Curve> distributions;
  std::vector<Curve> by_load;
  for (const std::string& policy : PoliciesToPlot(file)) {
    Curve distribution = Distribution(file, policy);
    if (distribution.rows.empty()) continue;
    distributions.push_back(std::move(distribution));
    by_load.push_back(ByLoad(file, policy));
  }
  RequireData(distributions, "the grid has no regrets yet");
  return Begin(output, 900, 720) + Data("share", distributions) + Data("load", by_load) +
         "set multiplot layout 2,1\n" +
         Panel("share", distributions, 2, "steps",
               Axes("Mean write latency over that of the best fixed interval",
                    "percent of the points that are no worse", "regret", true)) +
         Panel("load", by_load, 2, "linespoints",
               Axes("The same by load, geometric mean", "percent of what perfect batching carries",
                    "regret", true)) +
         "unset multiplot\n";
}

void RunGnuplot(const std::string& script) {
  // A file rather than a pipe: a child that ends early then harms nobody.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> input(std::tmpfile(), std::fclose);
  if (!input || std::fwrite(script.data(), 1, script.size(), input.get()) != script.size()) {
    throw PlotError("cannot write a temporary file");
  }
  std::rewind(input.get());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), STDIN_FILENO);
  std::string name = "gnuplot";
  char* const arguments[] = {name.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) {
    throw PlotError("gnuplot is not installed; Debian has it as gnuplot-nox");
  }
  if (error != 0) throw PlotError(fmt::format("cannot run gnuplot: {}", std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw PlotError("gnuplot failed: see its message above");
  }
}

}  // namespace stout::sim
