#pragma once

#include <prometheus/metric_family.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/histogram.h"

/// \file
/// Publishes metrics as Prometheus text and as JSON, both from the same tables. Each owner of
/// metrics has such tables: the name, the help text and the accessor of each metric.

namespace stout::http {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

inline constexpr auto kCounter = MetricType::Counter;
inline constexpr auto kGauge = MetricType::Gauge;
inline constexpr double kNanosPerSecond = 1e9;

template <typename Stats>
struct Scalar {
  const char* name;
  MetricType type;
  const char* help;
  double (*get)(const Stats&);
};

template <auto Member>
double Get(const auto& stats) {
  return static_cast<double>(stats.*Member);
}

/// The unit of the values in a histogram. Published values are in seconds or items.
enum class Unit { kNanoseconds, kItems };

template <typename Stats>
struct Distribution {
  const char* name;
  Unit unit;
  const char* help;
  const Histogram& (*get)(const Stats&);
};

// --- Prometheus ---------------------------------------------------------------------------------

[[nodiscard]] ClientMetric ToMetric(const Histogram& histogram, Unit unit, Labels labels);
[[nodiscard]] ClientMetric ToMetric(double value, MetricType type, Labels labels);
[[nodiscard]] MetricFamily Family(std::string_view name, std::string_view help, MetricType type);

/// Appends one family for each row of the table, with one metric without labels. `prefix` precedes
/// each name.
template <typename Stats, std::size_t N>
void AppendScalars(std::vector<MetricFamily>& families, const Scalar<Stats> (&scalars)[N],
                   const Stats& stats, const std::string& prefix = {}) {
  for (const auto& [name, type, help, get] : scalars) {
    families.push_back(Family(prefix + name, help, type));
    families.back().metric.push_back(ToMetric(get(stats), type, {}));
  }
}

/// Returns Prometheus' text format 0.0.4.
[[nodiscard]] std::string ToText(const std::vector<MetricFamily>& families);

// --- JSON ---------------------------------------------------------------------------------------

/// Returns an object with the members count, mean, p50, p90, p99, p999 and max.
[[nodiscard]] boost::json::object ToObject(const Histogram& histogram, Unit unit);

/// Returns an integer for a whole number, because 12 is easier to read than 1.2E1.
[[nodiscard]] boost::json::value Number(double value);

template <typename Stats, std::size_t N>
boost::json::object ToObject(const Scalar<Stats> (&scalars)[N], const Stats& stats,
                             const std::string& prefix = {}) {
  boost::json::object object;
  for (const auto& scalar : scalars) object[prefix + scalar.name] = Number(scalar.get(stats));
  return object;
}

}  // namespace stout::http
