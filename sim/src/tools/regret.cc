#include "stout/sim/regret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace stout::sim {
namespace {

/// Regrets beyond which a point is listed, and how many are.
constexpr double kListedRegret = 1.25;
constexpr double kListedVsNatural = 1.05;
constexpr std::size_t kListed = 12;
/// Servers are treated alike if both of Jain's indices are as large as this.
constexpr double kFairJain = 0.97;

const Result* ResultOf(const PointResults& results, const std::string& policy) {
  const auto found = results.policies.find(policy);
  return found == results.policies.end() ? nullptr : &found->second;
}

double Ratio(const Result& result, double reference_ms) {
  const double ratio = result.write_latency_ms.mean / reference_ms;
  if (!std::isfinite(ratio) || result.completed_per_s <= 0) return kMaxRegret;
  return std::min(result.stable ? ratio : std::max(ratio, kUnstableRegret), kMaxRegret);
}

/// Nearest rank; sorts. Requires values.
double Quantile(std::vector<double>& values, double q) {
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

/// `count` of the values; requires values.
double Share(std::size_t count, const std::vector<double>& values) {
  return static_cast<double>(count) / static_cast<double>(values.size());
}

RegretRow MakeRow(std::string group, std::string name,
                  const std::vector<const PointResults*>& points, const std::string& policy) {
  RegretRow row{.group = std::move(group), .name = std::move(name)};
  std::vector<double> regrets;
  std::vector<double> vs_natural;
  std::vector<double> p99_ratios;
  std::vector<double> jain_throughput;
  std::vector<double> jain_latency;
  std::size_t fair = 0;
  for (const PointResults* const point : points) {
    const Result* const found = ResultOf(*point, policy);
    const std::optional<double> regret = RegretOf(*point, policy);
    if (found == nullptr || (point->interval && !regret)) continue;  // no interval is stable
    ++row.points;
    const Result& result = *found;
    const std::optional<double> ratio = RatioToNatural(*point, policy);
    if (regret) regrets.push_back(*regret);
    if (regret.value_or(0) > row.max) {
      row.max = *regret;
      row.worst_point = point->point.name;
    }
    if (ratio) vs_natural.push_back(*ratio);
    if (!result.stable) {
      ++row.unstable;
      continue;
    }
    if (regret) {
      const double p99 = result.write_latency_ms.p99 / point->interval->result.write_latency_ms.p99;
      if (std::isfinite(p99) && p99 > 0) p99_ratios.push_back(p99);
    }
    const ClientSpec& clients = point->point.scenario.clients;
    if (clients.spread == 1 && clients.heavy_share == 0) {
      jain_throughput.push_back(result.jain_throughput);
      jain_latency.push_back(result.jain_latency);
      if (std::min(result.jain_throughput, result.jain_latency) >= kFairJain) ++fair;
    }
  }
  if (!regrets.empty()) {
    row.geometric_mean = GeometricMean(regrets);
    row.median = Quantile(regrets, 0.5);
    row.p95 = Quantile(regrets, 0.95);
    const auto beyond = std::upper_bound(regrets.begin(), regrets.end(), 1.25);
    row.share_within_25_percent =
        Share(static_cast<std::size_t>(beyond - regrets.begin()), regrets);
    row.p99_ratio = GeometricMean(p99_ratios);
  }
  if (!vs_natural.empty()) {
    row.geometric_mean_vs_natural = GeometricMean(vs_natural);
    row.p95_vs_natural = Quantile(vs_natural, 0.95);
    row.worst_vs_natural = vs_natural.back();
  }
  row.jain_points = jain_throughput.size();
  if (!jain_throughput.empty()) {
    row.jain_throughput_median = Quantile(jain_throughput, 0.5);
    row.jain_throughput_min = jain_throughput.front();
    row.jain_latency_median = Quantile(jain_latency, 0.5);
    row.jain_latency_min = jain_latency.front();
    row.share_jain_97_percent = Share(fair, jain_throughput);
  }
  return row;
}

std::string StoreName(const GridPoint& point) {
  return point.variant.empty() ? point.store : point.store + "/" + point.variant;
}

std::string IntervalText(const PointResults& point) {
  if (!point.interval) return "";
  return fmt::format(", best interval {:.4g} ms at {:.4g} ms",
                     point.interval->result.write_latency_ms.mean, point.interval->chosen_ms);
}

/// A figure that is 0 where there is none.
std::string Cell(double figure, int digits) {
  return figure == 0 ? "-" : fmt::format("{:.{}f}", figure, digits);
}

/// The least and the median index of Jain.
std::string LeastAndMedian(double least, double median, std::size_t points) {
  return points == 0 ? "-" : fmt::format("{:.4f} {:.4f}", least, median);
}

/// The worst points by `measure`, of those beyond `bound`.
std::string WorstPoints(const std::vector<PointResults>& results, const std::string& policy,
                        std::optional<double> (*measure)(const PointResults&, const std::string&),
                        double bound, std::string_view title) {
  std::vector<std::pair<double, const PointResults*>> worst;
  for (const PointResults& point : results) {
    const std::optional<double> value = measure(point, policy);
    if (value && *value > bound) worst.emplace_back(*value, &point);
  }
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("{} point{} {}{}\n", worst.size(), worst.size() == 1 ? "" : "s",
                                 title, worst.size() > kListed ? "; the worst are" : "");
  for (std::size_t i = 0; i < std::min(worst.size(), kListed); ++i) {
    const auto& [value, point] = worst[i];
    const Result& result = *ResultOf(*point, policy);
    const std::string mean = result.completed_per_s > 0
                                 ? fmt::format("mean {:.4g} ms", result.write_latency_ms.mean)
                                 : "nothing became durable";
    fmt::format_to(std::back_inserter(text), "  {:<32} {:>7.3f}   {}{}{}{}\n", point->point.name,
                   value, mean, IntervalText(*point), result.stable ? "" : ", unstable",
                   point->point.cut ? ", cut" : "");
  }
  return text;
}

}  // namespace

std::optional<double> RegretOf(const PointResults& results, const std::string& policy) {
  const Result* const result = ResultOf(results, policy);
  if (result == nullptr || !results.interval || !results.interval->result.stable) {
    return std::nullopt;
  }
  return Ratio(*result, results.interval->result.write_latency_ms.mean);
}

std::optional<double> RatioToNatural(const PointResults& results, const std::string& policy) {
  const Result* const result = ResultOf(results, policy);
  double best = std::numeric_limits<double>::infinity();
  for (const std::string& name : NaturalPolicies()) {
    const Result* const natural = ResultOf(results, name);
    if (natural != nullptr && natural->stable)
      best = std::min(best, natural->write_latency_ms.mean);
  }
  if (result == nullptr || !std::isfinite(best)) return std::nullopt;
  return Ratio(*result, best);
}

std::vector<RegretRow> Summarise(const std::vector<PointResults>& results,
                                 const std::string& policy) {
  using Members = std::vector<const PointResults*>;
  // Keeps the order in which names first appear: that of the grid file.
  const auto add_group = [&](std::vector<RegretRow>& rows, const std::string& group,
                             auto&& name_of) {
    std::vector<std::pair<std::string, Members>> groups;
    for (const PointResults& point : results) {
      const std::string name = name_of(point.point);
      auto found = std::find_if(groups.begin(), groups.end(),
                                [&](const auto& entry) { return entry.first == name; });
      if (found == groups.end()) found = groups.insert(groups.end(), {name, {}});
      found->second.push_back(&point);
    }
    for (const auto& [name, members] : groups)
      rows.push_back(MakeRow(group, name, members, policy));
  };
  std::vector<RegretRow> rows;
  add_group(rows, "all", [](const GridPoint&) { return ""; });
  add_group(rows, "family", [](const GridPoint& point) { return point.family; });
  add_group(rows, "store", StoreName);
  add_group(rows, "clients", [](const GridPoint& point) { return fmt::to_string(point.clients); });
  add_group(rows, "load",
            [](const GridPoint& point) { return fmt::format("{:g}%", point.load_percent); });
  // Points that were cut short show a start more than a steady state.
  add_group(rows, "length", [](const GridPoint& point) { return point.cut ? "cut" : "whole"; });
  return rows;
}

std::string RegretTable(const std::vector<PointResults>& results, const std::string& policy) {
  static constexpr const char* kColumns =
      "{:<24} {:>6} {:>5} {:>6} {:>6} {:>6} {:>6} {:>7} {:>6} {:>15} {:>15} {:>6} {:>8} {:>8} "
      "{:>8}\n";
  std::string text =
      policy + "\n" +
      fmt::format(kColumns, "", "points", "unst.", "geo", "median", "p95", "max", "<=1.25", "p99",
                  "Jain throughput", "Jain latency", ">=.97", "nat. geo", "nat. p95", "vs nat.");
  for (const RegretRow& row : Summarise(results, policy)) {
    if (row.points == 0) continue;
    text += fmt::format(
        kColumns, row.group + " " + row.name, row.points, row.unstable, Cell(row.geometric_mean, 3),
        Cell(row.median, 3), Cell(row.p95, 3), Cell(row.max, 2),
        row.median == 0 ? "-" : fmt::format("{:.1f}%", 100 * row.share_within_25_percent),
        Cell(row.p99_ratio, 3),
        LeastAndMedian(row.jain_throughput_min, row.jain_throughput_median, row.jain_points),
        LeastAndMedian(row.jain_latency_min, row.jain_latency_median, row.jain_points),
        row.jain_points == 0 ? "-" : fmt::format("{:.0f}%", 100 * row.share_jain_97_percent),
        Cell(row.geometric_mean_vs_natural, 3), Cell(row.p95_vs_natural, 3),
        Cell(row.worst_vs_natural, 3));
  }
  // A point whose best interval was not searched for lacks nothing.
  const auto missing = std::count_if(results.begin(), results.end(), [&](const auto& point) {
    return ResultOf(point, policy) == nullptr || (point.interval && !RegretOf(point, policy));
  });
  if (missing > 0) {
    fmt::format_to(std::back_inserter(text),
                   "points without a regret, not run or without a stable interval: {}\n", missing);
  }
  return text + WorstPoints(results, policy, RegretOf, kListedRegret, "with a regret above 1.25") +
         WorstPoints(results, policy, RatioToNatural, kListedVsNatural,
                     "more than 5 % behind the best natural batching");
}

}  // namespace stout::sim
