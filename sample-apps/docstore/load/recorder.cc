#include "load/recorder.h"

#include <algorithm>
#include <numeric>

namespace stout::load {
namespace {

constexpr TimePoint kStart{};

std::size_t SecondOf(TimePoint t) {
  return static_cast<std::size_t>(t.time_since_epoch() / std::chrono::seconds(1));
}

Duration QuantileOf(const Histogram& histogram, double q) {
  return Duration(static_cast<Duration::rep>(histogram.Quantile(q)));
}

}  // namespace

std::string_view NameOf(Failure failure) {
  static constexpr std::array<std::string_view, kFailures> kNames = {
      "expired", "timeout", "connection", "pushed_back", "refused", "aborted"};
  return kNames[static_cast<std::size_t>(failure)];
}

std::uint64_t OpStats::Failed() const {
  return std::accumulate(failed.begin(), failed.end(), std::uint64_t{0});
}

void OpStats::Merge(const OpStats& other) {
  offered += other.offered;
  done += other.done;
  answered += other.answered;
  for (std::size_t i = 0; i < kFailures; ++i) failed[i] += other.failed[i];
  latency.Merge(other.latency);
}

void Window::Merge(const Window& other) {
  reads.Merge(other.reads);
  writes.Merge(other.writes);
  send_delay.Merge(other.send_delay);
}

SecondSummary::PerOp::PerOp(const OpStats& op)
    : offered(op.offered),
      done(op.done),
      answered(op.answered),
      failed(op.Failed()),
      latency(op.latency) {}

LatencySummary::LatencySummary(const Histogram& histogram)
    : mean(static_cast<Duration::rep>(histogram.Mean())),
      p50(QuantileOf(histogram, 0.5)),
      p90(QuantileOf(histogram, 0.9)),
      p99(QuantileOf(histogram, 0.99)),
      p999(QuantileOf(histogram, 0.999)),
      max(QuantileOf(histogram, 1)) {}

Recorder::Recorder(const std::vector<Step>& steps, Duration end) : steps_(steps.size()), end_(end) {
  for (const Step& step : steps) step_starts_.emplace_back(step.start);
}

void Recorder::OnOffered(Op op, TimePoint due) {
  if (due < kStart) return;
  ++StepAt(due).Of(op).offered;
  ++SecondAt(due).Of(op).offered;
  // Two seconds behind, so that the progress line finds the last whole second open.
  if (const std::size_t second = SecondOf(due); second >= 2) CloseSecondsBefore(second - 1);
}

void Recorder::OnSent(TimePoint due, TimePoint now) {
  if (due < kStart) return;
  StepAt(due).send_delay.Record(now - due);
  SecondAt(due).send_delay.Record(now - due);
}

void Recorder::OnDone(Op op, TimePoint due, TimePoint now) {
  if (now >= kStart && now < end_) {
    ++StepAt(now).Of(op).answered;
    ++SecondAt(now).Of(op).answered;
  }
  if (due < kStart) return;
  for (Window* window : {&StepAt(due), &SecondAt(due)}) {
    ++window->Of(op).done;
    window->Of(op).latency.Record(now - due);
  }
}

void Recorder::OnFailed(Op op, TimePoint due, Failure failure) {
  if (due < kStart) return;
  ++StepAt(due).Of(op).failed[static_cast<std::size_t>(failure)];
  ++SecondAt(due).Of(op).failed[static_cast<std::size_t>(failure)];
}

Window Recorder::Total() const {
  Window total;
  for (const Window& step : steps_) total.Merge(step);
  return total;
}

const std::vector<SecondSummary>& Recorder::Seconds(TimePoint end) {
  if (end > kStart) SecondAt(end - Duration(1));
  while (!open_.empty()) CloseOldest();
  return closed_;
}

const Window* Recorder::LastSecond(TimePoint now) const {
  const std::size_t second = now < kStart ? 0 : SecondOf(now);
  const bool open = second > closed_.size() && second - 1 - closed_.size() < open_.size();
  return open ? open_[second - 1 - closed_.size()].get() : nullptr;
}

Window& Recorder::StepAt(TimePoint t) {
  const auto after = std::upper_bound(step_starts_.begin(), step_starts_.end(), t);
  return steps_[static_cast<std::size_t>(after - step_starts_.begin()) - 1];
}

// A closed second never gets further requests. Seconds close only behind the newest due time, and
// once their own requests have all ended. No later request is due before that time.
Window& Recorder::SecondAt(TimePoint t) {
  const std::size_t second = SecondOf(t);
  while (second >= closed_.size() + open_.size()) open_.push_back(std::make_unique<Window>());
  return *open_[second - closed_.size()];
}

void Recorder::CloseSecondsBefore(std::size_t second) {
  while (closed_.size() < second && open_.front()->reads.Outstanding() == 0 &&
         open_.front()->writes.Outstanding() == 0) {
    CloseOldest();
  }
}

void Recorder::CloseOldest() {
  const Window& oldest = *open_.front();
  closed_.push_back({SecondSummary::PerOp(oldest.reads), SecondSummary::PerOp(oldest.writes)});
  open_.pop_front();
}

}  // namespace stout::load
