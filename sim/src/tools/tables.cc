#include "tables.h"

#include <fmt/format.h>

#include <iterator>

namespace stout::sim::internal {
namespace {

std::string LatencyRow(std::string_view name, const LatencySummary& latency) {
  return fmt::format("{:<20} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g}\n", name,
                     latency.mean, latency.p50, latency.p90, latency.p99, latency.max);
}

std::string TimelineTable(const Result& result) {
  std::string text = fmt::format(
      "\n{:>9} {:>11} {:>11} {:>10} {:>10} {:>9} {:>9} {:>12}  {:<11} {}\n", "at s", "offered/s",
      "completed/s", "mean ms", "p99 ms", "items", "batches/s", "interval ms", "regime", "reason");
  for (const Slice& slice : result.timeline) {
    fmt::format_to(std::back_inserter(text),
                   "{:>9.4g} {:>11.4g} {:>11.4g} {:>10.4g} {:>10.4g} {:>9.4g} {:>9.4g} {:>12.4g}"
                   "  {:<11} {}\n",
                   slice.at_s, slice.offered_per_s, slice.completed_per_s, slice.write_mean_ms,
                   slice.write_p99_ms, slice.batch_items, slice.batches_per_s, slice.interval_ms,
                   slice.regime, slice.reason);
  }
  return text;
}

std::string BestRow(std::string_view name, const Best& best) {
  const Result& result = best.result;
  return fmt::format("{:<16} {:>10.4g} {:>10.4g} {:>10.4g} {:>9.4g} {:>9.3f} {:>7}{}\n", name,
                     best.chosen_ms, result.write_latency_ms.mean, result.write_latency_ms.p99,
                     result.batch_items, result.store_utilisation, best.trials.size(),
                     result.stable ? "" : "  unstable");
}

}  // namespace

std::string ResultTable(const Result& result, const Scenario& scenario) {
  std::string text = fmt::format("{}, policy {}, seed {}, {:g} s measured\n\n", result.scenario,
                                 result.policy, result.seed, result.measured_s);
  text += fmt::format("{:<20} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "ms", "mean", "p50", "p90",
                      "p99", "max");
  text += LatencyRow("write latency", result.write_latency_ms);
  text += LatencyRow("reply latency", result.reply_latency_ms);
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<20} {}\n", name, value);
  };
  text += '\n';
  row("changes", fmt::format("{:.6g}/s offered, {:.6g}/s durable{}", result.offered_per_s,
                             result.completed_per_s,
                             result.stable ? "" : ": UNSTABLE, the store does not keep up"));
  row("written", fmt::format("{:.6g} items/s in {:.6g} batches/s of {:.4g}", result.written_per_s,
                             result.batches_per_s, result.batch_items));
  row("interval", fmt::format("{:.4g} ms between two sends of a client", result.interval_ms));
  row("store", fmt::format("{:.1f} % busy, answers after {:.4g} ms", 100 * result.store_utilisation,
                           result.store_latency_ms));
  row("trouble", fmt::format("{} retries, {} drops, {} refused, {} expired", result.retries,
                             result.drops, result.refused, result.expired));
  row("fairness (Jain)",
      fmt::format("{:.4f} throughput, {:.4f} latency, {:.4f} batches", result.jain_throughput,
                  result.jain_latency, result.jain_batches));
  row("digest", fmt::format("{:016x}", result.digest));
  if (scenario.steps.empty()) return text;
  constexpr std::size_t kMaxRows = 80;
  if (result.timeline.size() <= kMaxRows) return text + TimelineTable(result);
  row("timeline", fmt::format("{} slices: --json has them, `plot timeline` draws them",
                              result.timeline.size()));
  return text;
}

std::string OracleTable(const Best& interval, const Best& gap) {
  return fmt::format("{:<16} {:>10} {:>10} {:>10} {:>9} {:>9} {:>7}\n", "best fixed", "ms",
                     "mean ms", "p99 ms", "items", "busy", "trials") +
         BestRow("interval", interval) + BestRow("gap", gap);
}

std::string SweepTable(const Sweep& sweep) {
  std::string text =
      fmt::format("{:<24} {:>11} {:>8} {:>10} {:>10} {:>9} {:>12} {:>8}\n", "policy", "changes/s",
                  "load", "mean ms", "p99 ms", "items", "interval ms", "busy");
  for (const SweepRun& run : sweep.runs) {
    const Result& result = run.result;
    fmt::format_to(std::back_inserter(text),
                   "{:<24} {:>11.6g} {:>7.4g}% {:>10.4g} {:>10.4g} {:>9.4g} {:>12.4g} {:>8.3f}{}\n",
                   result.policy, run.rate_per_s, run.load_percent, result.write_latency_ms.mean,
                   result.write_latency_ms.p99, result.batch_items, result.interval_ms,
                   result.store_utilisation, result.stable ? "" : "  unstable");
  }
  return text;
}

}  // namespace stout::sim::internal
