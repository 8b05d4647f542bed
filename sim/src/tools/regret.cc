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

RegretRow MakeRow(std::string group, std::string name,
                  const std::vector<const PointResults*>& points, const std::string& policy) {
  RegretRow row{.group = std::move(group), .name = std::move(name)};
  std::vector<double> regrets;
  std::vector<double> p99_ratios;
  std::vector<double> jain_throughput;
  std::vector<double> jain_latency;
  for (const PointResults* const point : points) {
    const std::optional<double> regret = RegretOf(*point, policy);
    if (!regret) continue;
    const Result& result = *ResultOf(*point, policy);
    regrets.push_back(*regret);
    if (*regret > row.max) {
      row.max = *regret;
      row.worst_point = point->point.name;
    }
    row.worst_vs_natural =
        std::max(row.worst_vs_natural, RatioToNatural(*point, policy).value_or(0));
    if (!result.stable) {
      ++row.unstable;
      continue;
    }
    const double p99 = result.write_latency_ms.p99 / point->interval->result.write_latency_ms.p99;
    if (std::isfinite(p99) && p99 > 0) p99_ratios.push_back(p99);
    if (point->point.scenario.clients.spread == 1) {
      jain_throughput.push_back(result.jain_throughput);
      jain_latency.push_back(result.jain_latency);
    }
  }
  row.points = regrets.size();
  if (regrets.empty()) return row;
  row.geometric_mean = GeometricMean(regrets);
  row.median = Quantile(regrets, 0.5);
  row.p95 = Quantile(regrets, 0.95);
  const auto beyond = std::upper_bound(regrets.begin(), regrets.end(), 1.25);
  row.share_within_25_percent =
      static_cast<double>(beyond - regrets.begin()) / static_cast<double>(regrets.size());
  row.p99_ratio = GeometricMean(p99_ratios);
  if (!jain_throughput.empty()) {
    row.jain_throughput_median = Quantile(jain_throughput, 0.5);
    row.jain_throughput_min = jain_throughput.front();
    row.jain_latency_median = Quantile(jain_latency, 0.5);
    row.jain_latency_min = jain_latency.front();
  }
  return row;
}

std::string StoreName(const GridPoint& point) {
  return point.variant.empty() ? point.store : point.store + "/" + point.variant;
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
    fmt::format_to(std::back_inserter(text),
                   "  {:<32} {:>7.3f}   {}, best interval {:.4g} ms at {:.4g} ms{}{}\n",
                   point->point.name, value, mean, point->interval->result.write_latency_ms.mean,
                   point->interval->chosen_ms, result.stable ? "" : ", unstable",
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
  std::string text = fmt::format(
      "{}\n{:<24} {:>6} {:>5} {:>6} {:>6} {:>6} {:>6} {:>7} {:>6} {:>15} {:>15} {:>8}\n", policy,
      "", "points", "unst.", "geo", "median", "p95", "max", "<=1.25", "p99", "Jain throughput",
      "Jain latency", "vs nat.");
  std::size_t measured = 0;
  for (const RegretRow& row : Summarise(results, policy)) {
    if (row.group == "all") measured = row.points;
    if (row.points == 0) continue;
    fmt::format_to(
        std::back_inserter(text),
        "{:<24} {:>6} {:>5} {:>6.3f} {:>6.3f} {:>6.3f} {:>6.2f} {:>6.1f}% {:>6.3f} {:>15} {:>15} "
        "{:>8.3f}\n",
        row.group + " " + row.name, row.points, row.unstable, row.geometric_mean, row.median,
        row.p95, row.max, 100 * row.share_within_25_percent, row.p99_ratio,
        fmt::format("{:.4f} {:.4f}", row.jain_throughput_min, row.jain_throughput_median),
        fmt::format("{:.4f} {:.4f}", row.jain_latency_min, row.jain_latency_median),
        row.worst_vs_natural);
  }
  if (measured < results.size()) {
    fmt::format_to(std::back_inserter(text),
                   "points without a regret, not run or without a stable interval: {}\n",
                   results.size() - measured);
  }
  return text + WorstPoints(results, policy, RegretOf, kListedRegret, "with a regret above 1.25") +
         WorstPoints(results, policy, RatioToNatural, kListedVsNatural,
                     "more than 5 % behind the best natural batching");
}

}  // namespace stout::sim
