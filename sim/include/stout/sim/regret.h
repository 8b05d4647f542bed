#pragma once

#include <atomic>
#include <boost/json.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/sim/grid.h"
#include "stout/sim/json_text.h"
#include "stout/sim/oracle.h"
#include "stout/sim/result.h"
#include "stout/sim/simulate.h"

namespace stout::sim {

/// The measurements at one point of a grid. With several seeds a result is that of one run: the run
/// with the median mean latency. Results have no timeline.
struct PointResults {
  GridPoint point;
  std::optional<Best> interval;            ///< The yardstick: the best fixed interval.
  std::map<std::string, Result> policies;  ///< By name; natural:W for W = 1, 2, 4, 8 among them.

  bool operator==(const PointResults&) const = default;
};

/// The policies that RunGrid adds to those asked for: who wins against the best of them, known in
/// hindsight, wins against natural batching.
[[nodiscard]] const std::vector<std::string>& NaturalPolicies();

struct GridRunOptions {
  std::vector<std::pair<std::string, Policy>> policies;  ///< Besides the natural ones.
  unsigned jobs = 1;                                     ///< Threads.
  bool without_oracle = false;                           ///< No search for the best interval.
  /// Called from the calling thread a few times a second, and at the end.
  std::function<void(const std::vector<PointResults>& so_far, double done_share)> progress;
  const std::atomic<bool>* stop = nullptr;  ///< Once true, what is under way is dropped.
};

/// Fills in what `points` do not have yet: the best interval, the natural policies, and the
/// policies asked for. False if it was stopped before the end.
bool RunGrid(std::vector<PointResults>& points, const GridRunOptions& options);

/// How a policy did on a group of points.
struct RegretRow {
  std::string group;       ///< "all", or "family", "store", "clients", "load" or "length".
  std::string name;        ///< Which of them.
  std::size_t points = 0;  ///< That have a regret, or whose best interval was not searched for.
  std::size_t unstable = 0;
  /// Statistics of the regrets; 0 if no point has one.
  double geometric_mean = 0, median = 0, p95 = 0, max = 0;
  double share_within_25_percent = 0;
  double p99_ratio = 0;  ///< Geometric mean of p99 over the best interval's p99.
  /// Statistics of the mean latency over that of the best natural policy.
  double geometric_mean_vs_natural = 0, p95_vs_natural = 0, worst_vs_natural = 0;
  std::size_t jain_points = 0;  ///< The stable ones with equal clients; Jain's indices are theirs.
  double share_jain_97_percent = 1;  ///< Both of Jain's indices are .97 or more.
  double jain_throughput_min = 1, jain_throughput_median = 1;
  double jain_latency_min = 1, jain_latency_median = 1;
  std::string worst_point;  ///< the point of `max`

  bool operator==(const RegretRow&) const = default;
};

/// The regret is the mean write latency over that of the best fixed interval. An unstable run
/// counts as at least kUnstableRegret, and no run as more than kMaxRegret. There is no regret if
/// either run is missing or no interval is stable.
inline constexpr double kUnstableRegret = 10;
inline constexpr double kMaxRegret = 50;
[[nodiscard]] std::optional<double> RegretOf(const PointResults& results,
                                             const std::string& policy);
/// The same over the best stable one of NaturalPolicies().
[[nodiscard]] std::optional<double> RatioToNatural(const PointResults& results,
                                                   const std::string& policy);

/// All points first, then by family, store, clients, load, and whether they were cut.
[[nodiscard]] std::vector<RegretRow> Summarise(const std::vector<PointResults>& results,
                                               const std::string& policy);

/// The rows as text, and the points that are worst against the best interval and against natural.
[[nodiscard]] std::string RegretTable(const std::vector<PointResults>& results,
                                      const std::string& policy);

/// The content of a file of `stout-sim grid --json`.
struct GridFile {
  std::string grid;                   ///< Its name.
  std::vector<std::string> policies;  ///< the requested ones
  std::vector<PointResults> points;

  bool operator==(const GridFile&) const = default;
};

/// All of it, and a summary of each policy.
[[nodiscard]] boost::json::object GridFileToJson(const GridFile& file);
[[nodiscard]] Parsed<GridFile> ReadGridFile(std::string_view text);

/// Points with the results of `earlier` that still hold: those of the same name and scenario.
/// Policies other than the natural ones only `with_policies`: their code may have changed since.
[[nodiscard]] std::vector<PointResults> TakeOver(const std::vector<GridPoint>& points,
                                                 const std::vector<PointResults>& earlier,
                                                 bool with_policies);

}  // namespace stout::sim
