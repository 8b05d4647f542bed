#include "load/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <iterator>
#include <string_view>

#include "stout/core/policy/basic.h"

namespace stout::load {
namespace {

namespace json = boost::json;

// How long the server may still write what the step before has left.
constexpr std::chrono::seconds kSettle{1};

double Seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
double Ms(Duration d) { return std::chrono::duration<double, std::milli>(d).count(); }
std::int64_t Us(Duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}
// Two decimals: more would claim a precision that is not there.
double Rounded(double value) { return static_cast<double>(std::int64_t(value * 100 + 0.5)) / 100; }

double PerSecond(std::uint64_t count, Duration length) {
  return length > Duration::zero() ? static_cast<double>(count) / Seconds(length) : 0;
}

json::object LatencyJson(const LatencySummary& latency) {
  return {{"mean", Us(latency.mean)}, {"p50", Us(latency.p50)},   {"p90", Us(latency.p90)},
          {"p99", Us(latency.p99)},   {"p999", Us(latency.p999)}, {"max", Us(latency.max)}};
}

json::object OpJson(const OpStats& op, Duration length) {
  json::object errors;
  for (std::size_t i = 0; i < kFailures; ++i) {
    if (op.failed[i] > 0) errors.emplace(NameOf(static_cast<Failure>(i)), op.failed[i]);
  }
  return {{"offered", op.offered},
          {"done", op.done},
          {"answered_per_s", Rounded(PerSecond(op.answered, length))},
          {"errors", std::move(errors)},
          {"latency_us", LatencyJson(LatencySummary(op.latency))}};
}

json::object SecondOpJson(const SecondSummary::PerOp& op) {
  return {{"offered", op.offered},
          {"done", op.done},
          {"answered", op.answered},
          {"errors", op.failed},
          {"latency_us", LatencyJson(op.latency)}};
}

json::value ServerJson(const std::optional<ServerCounters>& counters) {
  if (!counters) return nullptr;
  return json::object{{"keys_marked", std::int64_t(counters->keys_marked)},
                      {"writes_sent", std::int64_t(counters->writes_sent)},
                      {"batches_sent", std::int64_t(counters->batches_sent)},
                      {"batch_size", Rounded(counters->BatchSize())},
                      {"collapse_ratio", Rounded(counters->CollapseRatio())}};
}

json::object WindowJson(const RunReport& report, const Window& window, TimePoint from,
                        TimePoint to) {
  return {{"start_s", Rounded(Seconds(from.time_since_epoch()))},
          {"end_s", Rounded(Seconds(to.time_since_epoch()))},
          {"reads", OpJson(window.reads, to - from)},
          {"writes", OpJson(window.writes, to - from)},
          {"send_delay_us", LatencyJson(LatencySummary(window.send_delay))},
          {"server", ServerJson(report.ServerDuring(from, to))}};
}

json::object OptionsJson(const LoadOptions& options) {
  return {{"documents", options.corpus.documents},
          {"sections", options.corpus.sections},
          {"value_bytes", options.value_bytes},
          {"read_fraction", options.read_fraction},
          {"distribution", options.distribution.Name()},
          {"arrivals", options.arrivals == Arrivals::kPoisson ? "poisson" : "uniform"},
          {"connections", options.connections},
          {"pipeline", options.pipeline},
          {"preload", options.preload},
          {"warmup_s", Rounded(Seconds(options.warmup))},
          {"timeout_s", Rounded(Seconds(options.timeout))},
          {"seed", options.seed}};
}

json::object VerifyJson(const VerifyResult& verify) {
  json::array examples;
  for (const std::string& example : verify.findings.examples) examples.emplace_back(example);
  return {{"acknowledged", verify.acknowledged},
          {"open", verify.open},
          {"read_back", verify.read_back},
          {"unread", verify.unread},
          {"lost", verify.findings.lost},
          {"stale", verify.findings.stale},
          {"stale_reads", verify.findings.stale_reads},
          {"invalid", verify.findings.invalid},
          {"examples", std::move(examples)}};
}

void AppendRow(std::string& out, std::string_view name, std::string_view kind, const OpStats& op,
               Duration length) {
  const LatencySummary latency(op.latency);
  fmt::format_to(std::back_inserter(out), "{:<14} {:<6} {:>9.0f} {:>10.0f} {:>8}", name, kind,
                 PerSecond(op.offered, length), PerSecond(op.answered, length), op.Failed());
  for (const Duration d :
       {latency.mean, latency.p50, latency.p90, latency.p99, latency.p999, latency.max}) {
    fmt::format_to(std::back_inserter(out), " {:>8}",
                   op.latency.count() == 0 ? "-" : Milliseconds(Ms(d)));
  }
}

void AppendWindow(std::string& out, const RunReport& report, std::string_view name,
                  const Window& window, TimePoint from, TimePoint to) {
  AppendRow(out, name, "read", window.reads, to - from);
  out += '\n';
  AppendRow(out, "", "write", window.writes, to - from);
  if (const auto server = report.ServerDuring(from, to)) {
    fmt::format_to(std::back_inserter(out), " {:>8.1f} {:>9.2f}", server->BatchSize(),
                   server->CollapseRatio());
  }
  out += '\n';
}

std::string_view Explain(Failure failure) {
  switch (failure) {
    case Failure::kExpired:
      return "not sent within the time-out: every connection was full or down";
    case Failure::kTimeout:
      return "sent, but not answered within the time-out";
    case Failure::kConnection:
      return "sent, but the connection was lost";
    case Failure::kPushedBack:
      return "answered 503: the server reached a limit, or is stopping";
    case Failure::kRefused:
      return "answered with an unexpected status";
    case Failure::kAborted:
      return "not answered when the run was interrupted";
  }
  return "";
}

}  // namespace

std::optional<ServerCounters> CountersBetween(const std::vector<CounterSample>& samples,
                                              TimePoint from, TimePoint to) {
  const auto at_or_after = [&](TimePoint t) {
    return std::lower_bound(samples.begin(), samples.end(), t,
                            [](const CounterSample& s, TimePoint time) { return s.at < time; });
  };
  const auto first = at_or_after(from);
  if (first == samples.end()) return std::nullopt;
  auto last = at_or_after(to);
  if (last == samples.end()) --last;
  if (last <= first) return std::nullopt;
  const ServerCounters between = last->counters - first->counters;
  // A server that was restarted counts from zero again.
  if (between.keys_marked < 0 || between.writes_sent < 0) return std::nullopt;
  return between;
}

TimePoint RunReport::StepEnd(std::size_t step) const {
  return step + 1 < options.steps.size() ? std::min(end, TimePoint(options.steps[step + 1].start))
                                         : end;
}

std::optional<ServerCounters> RunReport::ServerDuring(TimePoint from, TimePoint to) const {
  const Duration settle = std::min<Duration>(kSettle, (to - from) / 2);
  return CountersBetween(samples, from == TimePoint{} ? from : from + settle, to);
}

json::object ToJson(const RunReport& report) {
  json::object out{{"label", report.options.label},
                   {"target", "http://" + report.options.target.Text()},
                   {"interrupted", report.interrupted},
                   {"options", OptionsJson(report.options)}};
  out.emplace("total", WindowJson(report, report.total, TimePoint{}, report.end));
  json::array steps;
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const TimePoint start(report.options.steps[i].start);
    if (start >= report.end) break;
    json::object step = WindowJson(report, report.steps[i], start, report.StepEnd(i));
    step.emplace("rate", report.options.steps[i].rate);
    steps.push_back(std::move(step));
  }
  out.emplace("steps", std::move(steps));
  json::array seconds;
  for (std::size_t i = 0; i < report.seconds.size(); ++i) {
    const TimePoint start{std::chrono::seconds(i)};
    seconds.push_back({{"second", i},
                       {"reads", SecondOpJson(report.seconds[i].reads)},
                       {"writes", SecondOpJson(report.seconds[i].writes)},
                       {"server", ServerJson(CountersBetween(report.samples, start,
                                                             start + std::chrono::seconds(1)))}});
  }
  out.emplace("seconds", std::move(seconds));
  if (report.verify) out.emplace("verify", VerifyJson(*report.verify));
  return out;
}

std::string ToTable(const RunReport& report) {
  std::string out = fmt::format("{:<14} {:<6} {:>9} {:>10} {:>8}", "step", "kind", "due/s",
                                "answered/s", "errors");
  for (const char* name : {"mean ms", "p50", "p90", "p99", "p99.9", "max"}) {
    fmt::format_to(std::back_inserter(out), " {:>8}", name);
  }
  if (!report.samples.empty()) out += "    batch  collapse";
  out += '\n';
  for (std::size_t i = 0; i < report.steps.size(); ++i) {
    const TimePoint start(report.options.steps[i].start);
    if (start >= report.end) break;
    const std::string name = fmt::format("{:g} s - {:g} s", Seconds(start.time_since_epoch()),
                                         Rounded(Seconds(report.StepEnd(i).time_since_epoch())));
    AppendWindow(out, report, name, report.steps[i], start, report.StepEnd(i));
  }
  if (report.steps.size() > 1) {
    AppendWindow(out, report, "total", report.total, TimePoint{}, report.end);
  }
  for (std::size_t i = 0; i < kFailures; ++i) {
    const std::uint64_t count = report.total.reads.failed[i] + report.total.writes.failed[i];
    if (count == 0) continue;
    const auto failure = static_cast<Failure>(i);
    fmt::format_to(std::back_inserter(out), "{:>10} {}: {}\n", count, NameOf(failure),
                   Explain(failure));
  }
  if (!report.first_refusal.empty()) out += "first refusal: " + report.first_refusal + "\n";
  return out;
}

std::string ToText(const VerifyResult& verify) {
  const Findings& findings = verify.findings;
  const char* const outcome = !findings.clean() ? "FAILED" : verify.unread > 0 ? "not done" : "ok";
  std::string out = fmt::format(
      "verify: {} writes acknowledged, {} without an answer, {} sections read back\n"
      "verify: {} lost, {} stale, {} stale reads, {} invalid, {} unread: {}\n",
      verify.acknowledged, verify.open, verify.read_back, findings.lost, findings.stale,
      findings.stale_reads, findings.invalid, verify.unread, outcome);
  for (const std::string& example : findings.examples) {
    fmt::format_to(std::back_inserter(out), "  {}\n", example);
  }
  return out;
}

std::string Milliseconds(double ms) {
  if (ms < 10) return fmt::format("{:.2f}", ms);
  if (ms < 100) return fmt::format("{:.1f}", ms);
  return fmt::format("{:.0f}", ms);
}

std::string ProgressText(std::int64_t second, const Window& counts, const Histogram& writes,
                         const std::optional<ServerCounters>& server) {
  const auto quantile = [&](double q) {
    return writes.count() == 0 ? "-" : Milliseconds(writes.Quantile(q) / 1e6);
  };
  const bool batches = server && server->batches_sent > 0;
  return fmt::format(
      "{:>4} s  due {:>6}/s  answered {:>6}/s  write p50 {:>5} ms  p99 {:>5} ms  batch {:>5}  "
      "errors {}",
      second, counts.reads.offered + counts.writes.offered,
      counts.reads.answered + counts.writes.answered, quantile(0.5), quantile(0.99),
      batches ? fmt::format("{:.1f}", server->BatchSize()) : "-",
      counts.reads.Failed() + counts.writes.Failed());
}

}  // namespace stout::load
