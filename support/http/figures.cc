#include "http/figures.h"

#include <prometheus/text_serializer.h>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <utility>

namespace stout::http {
namespace {

namespace json = boost::json;

double Scale(Unit unit) { return unit == Unit::kNanoseconds ? kNanosPerSecond : 1; }

// Bucket bounds in the published unit.
const std::vector<double>& Bounds(Unit unit) {
  static const std::vector<double> seconds = {.0001, .00025, .0005, .001, .0025, .005, .01, .025,
                                              .05,   .1,     .25,   .5,   1,     2.5,  5,   10};
  static const std::vector<double> items = {1,   2,   4,   8,    16,   32,  64,
                                            128, 256, 512, 1024, 2048, 4096};
  return unit == Unit::kNanoseconds ? seconds : items;
}

}  // namespace

ClientMetric ToMetric(const Histogram& histogram, Unit unit, Labels labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.histogram.sample_count = histogram.count();
  metric.histogram.sample_sum = histogram.sum() / Scale(unit);
  for (const double bound : Bounds(unit)) {
    const auto in_own_unit = static_cast<std::uint64_t>(bound * Scale(unit));
    metric.histogram.bucket.push_back({histogram.CountAtMost(in_own_unit), bound});
  }
  return metric;
}

ClientMetric ToMetric(double value, MetricType type, Labels labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (type == kCounter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

MetricFamily Family(std::string_view name, std::string_view help, MetricType type) {
  return {std::string(name), std::string(help), type, {}};
}

std::string ToText(const std::vector<MetricFamily>& families) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

json::object ToObject(const Histogram& histogram, Unit unit) {
  const auto quantile = [&](double q) {
    return static_cast<double>(histogram.Quantile(q)) / Scale(unit);
  };
  return {{"count", histogram.count()}, {"mean", histogram.Mean() / Scale(unit)},
          {"p50", quantile(.5)},        {"p90", quantile(.9)},
          {"p99", quantile(.99)},       {"p999", quantile(.999)},
          {"max", quantile(1)}};
}

json::value Number(double value) {
  constexpr double kLargestWhole = 9007199254740992;  // 2^53
  if (value == std::floor(value) && std::abs(value) <= kLargestWhole) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

}  // namespace stout::http
