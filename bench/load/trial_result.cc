#include "load/trial_result.h"

#include <algorithm>
#include <chrono>
#include <memory>

namespace stout::bench {
namespace {

constexpr double kMillisecond = 1e6;  // ns

double MedianOf(const std::vector<TrialResult>& trials, double TrialResult::*field) {
  std::vector<double> values;
  values.reserve(trials.size());
  for (const TrialResult& trial : trials) values.push_back(trial.*field);
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

TrialResult Summarize(const std::vector<const ServerRecord*>& records, Duration measured) {
  TrialResult result;
  auto latency = std::make_unique<Histogram>();  // of 15 KiB each
  auto lateness = std::make_unique<Histogram>();
  Trend trend;
  Totals totals;
  JainIndex jain_latency;
  JainIndex jain_throughput;
  std::uint64_t answered = 0;
  for (const ServerRecord* record : records) {
    result.offered += record->offered;
    result.failed += record->failed;
    result.unanswered += record->unanswered;
    result.overrun |= record->overrun;
    answered += record->answered_in_time;
    latency->Merge(record->latency);
    lateness->Merge(record->lateness);
    trend.Merge(record->trend);
    totals += record->totals;
    if (record->latency.count() > 0) jain_latency.Add(record->latency.Mean());
    jain_throughput.Add(static_cast<double>(record->answered_in_time));
  }
  const double seconds = std::chrono::duration<double>(measured).count();
  result.measured_s = seconds;
  const auto quantile = [&](double q) {
    return static_cast<double>(latency->Quantile(q)) / kMillisecond;
  };
  result.offered_per_s = static_cast<double>(result.offered) / seconds;
  result.answered_per_s = static_cast<double>(answered) / seconds;
  result.mean_ms = latency->Mean() / kMillisecond;
  result.p50_ms = quantile(0.5);
  result.p99_ms = quantile(0.99);
  result.p999_ms = quantile(0.999);
  result.max_ms = quantile(1);
  result.growth = trend.Slope();
  result.lateness_p99_ms = static_cast<double>(lateness->Quantile(0.99)) / kMillisecond;
  result.jain_latency = jain_latency.Value();
  result.jain_throughput = jain_throughput.Value();
  if (totals.batches > 0) {
    const auto batches = static_cast<double>(totals.batches);
    result.batch_items = static_cast<double>(totals.writes) / batches;
    result.interval_ms = seconds * 1000 * static_cast<double>(records.size()) / batches;
    result.collapse_ratio =
        static_cast<double>(totals.changes) / static_cast<double>(totals.writes);
  }
  return result;
}

TrialResult Median(const std::vector<TrialResult>& trials) {
  TrialResult median = trials.front();
  for (double TrialResult::*const field :
       {&TrialResult::offered_per_s, &TrialResult::answered_per_s, &TrialResult::mean_ms,
        &TrialResult::p50_ms, &TrialResult::p99_ms, &TrialResult::p999_ms, &TrialResult::max_ms,
        &TrialResult::growth, &TrialResult::batch_items, &TrialResult::interval_ms,
        &TrialResult::collapse_ratio, &TrialResult::jain_latency, &TrialResult::jain_throughput,
        &TrialResult::lateness_p99_ms}) {
    median.*field = MedianOf(trials, field);
  }
  for (std::size_t i = 1; i < trials.size(); ++i) {
    median.offered += trials[i].offered;
    median.failed += trials[i].failed;
    median.unanswered += trials[i].unanswered;
  }
  return median;
}

bool TrialResult::Sustained(Duration bound) const {
  const double bound_ms = std::chrono::duration<double, std::milli>(bound).count();
  const double max_growth = kMaxGrowth + kSwing * mean_ms / 1000 / measured_s;
  return !overrun && failed == 0 && unanswered == 0 && p99_ms <= bound_ms && growth <= max_growth;
}

}  // namespace stout::bench
