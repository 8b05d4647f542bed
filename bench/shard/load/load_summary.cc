#include <fmt/format.h>

#include <boost/json.hpp>

#include "load/json.h"
#include "shard/load/load_run.h"

namespace stout::bench::shard {
namespace {

double ToMs(double nanoseconds) { return nanoseconds / 1e6; }

double QuantileMs(const Histogram& histogram, double q) {
  return ToMs(static_cast<double>(histogram.Quantile(q)));
}

}  // namespace

std::string ToText(const LoadSummary& summary) {
  const Tally& total = summary.total;
  std::string text = fmt::format(
      "offered {}, answered {}, errors {}, not sent {}, unanswered {}; {:.0f}/s for {:.1f} s; mean "
      "{:.3g} ms, p50 {:.3g} ms, p99 {:.3g} ms; generator late by {:.3g} ms at p99\n",
      total.offered, total.answered, total.failed, total.unsent, total.UnderWay(),
      summary.answered_per_s, summary.seconds, ToMs(total.latency.Mean()),
      QuantileMs(total.latency, 0.5), QuantileMs(total.latency, 0.99),
      QuantileMs(summary.lateness, 0.99));
  if (!summary.last_error.empty()) text += fmt::format("the last error: {}\n", summary.last_error);
  return text;
}

std::string ToJson(const LoadSummary& summary) {
  const Tally& total = summary.total;
  const boost::json::object object{
      {"seconds", Rounded(summary.seconds)},
      {"answered_per_s", Rounded(summary.answered_per_s)},
      {"offered", total.offered},
      {"answered", total.answered},
      {"failed", total.failed},
      {"unsent", total.unsent},
      {"unanswered", total.UnderWay()},
      {"mean_ms", Rounded(ToMs(total.latency.Mean()))},
      {"p50_ms", Rounded(QuantileMs(total.latency, 0.5))},
      {"p99_ms", Rounded(QuantileMs(total.latency, 0.99))},
      {"p999_ms", Rounded(QuantileMs(total.latency, 0.999))},
      {"generator_lateness_p99_ms", Rounded(QuantileMs(summary.lateness, 0.99))},
  };
  return boost::json::serialize(object);
}

}  // namespace stout::bench::shard
