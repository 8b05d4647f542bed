#include "world/recorder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "world/units.h"

namespace stout::sim::internal {
namespace {

/// Returns the scenario's choice, otherwise one second. Short and long runs get the round length
/// (1, 2 or 5 times a power of ten) that makes 100 to 300 slices.
Duration SliceLength(const Scenario& scenario) {
  if (scenario.timeline_s > 0) return std::max(Duration(1), Seconds(scenario.timeline_s));
  if (scenario.duration_s >= 10 && scenario.duration_s <= 600) return Seconds(1);
  const double wanted = scenario.duration_s / 300;
  double length = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (length < wanted) length *= factor;
  }
  return std::max(Duration(1), Seconds(length));
}

double PerSecond(std::uint64_t count, Duration time) {
  return time > Duration::zero() ? static_cast<double>(count) / ToSeconds(time) : 0;
}

double Ratio(double sum, std::uint64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

/// Jain's index: 1 if all have the same, 1/n if one has it all.
template <typename Value>
double Jain(const std::vector<ClientTally>& clients, Value value) {
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (const ClientTally& client : clients) {
    const double x = value(client);
    if (x < 0) continue;  // it has none
    ++count;
    sum += x;
    squares += x * x;
  }
  return squares == 0 ? 1 : sum * sum / (count * squares);
}

}  // namespace

Recorder::Recorder(const Scenario& scenario)
    : warmup_(kStart + Seconds(scenario.warmup_s)),
      middle_(kStart + Seconds((scenario.warmup_s + scenario.duration_s) / 2)),
      end_(kStart + Seconds(scenario.duration_s)),
      slice_length_(SliceLength(scenario)),
      closed_loop_(scenario.clients.arrivals == ClientSpec::Arrivals::kClosed),
      boundary_(kStart),
      measuring_(false),
      slices_(static_cast<std::size_t>((end_ - kStart) / slice_length_ + 1)) {
  Cross(kStart);
}

void Recorder::Cross(TimePoint now) {
  while (now >= slice_begin_ + slice_length_) EndSlice();
  measuring_ = now >= warmup_;
  if (now >= middle_ && !past_middle_) {
    past_middle_ = true;
    first_half_ = {writes_.count(), writes_.sum()};
  }
  boundary_ = slice_begin_ + slice_length_;
  if (!measuring_) boundary_ = std::min(boundary_, warmup_);
  if (!past_middle_) boundary_ = std::min(boundary_, middle_);
}

void Recorder::EndSlice() {
  SliceTally& slice = slices_[slice_];
  slice.completed = slice_writes_.count();
  slice.latency_ns = slice_writes_.Mean();
  slice.p99_ns = slice_writes_.Quantile(0.99);
  slice_writes_.Clear();
  const auto batches = [](const Reasons& reasons) {
    return std::accumulate(reasons.begin(), reasons.end(), std::uint64_t{0});
  };
  const auto regime =
      std::max_element(slice_regimes_.begin(), slice_regimes_.end(),
                       [&](const Reasons& a, const Reasons& b) { return batches(a) < batches(b); });
  slice.regime = static_cast<Regime>(regime - slice_regimes_.begin());
  slice.reason =
      static_cast<Reason>(std::max_element(regime->begin(), regime->end()) - regime->begin());
  slice_regimes_ = {};
  slice_begin_ += slice_length_;
  ++slice_;
}

void Recorder::Sent(std::size_t items, Duration spacing, const Decision& decision, TimePoint now) {
  MoveTo(now);
  const auto spaced = static_cast<std::uint64_t>(spacing > Duration::zero());
  const auto spacing_ns = static_cast<double>(spacing.count());
  SliceTally& slice = slices_[slice_];
  ++slice.batches;
  slice.items += items;
  slice.spacings += spaced;
  slice.spacing_ns += spacing_ns;
  ++slice_regimes_[static_cast<std::size_t>(decision.regime)]
                  [static_cast<std::size_t>(decision.reason)];
  ++batches_;
  if (!measuring_) return;
  ++sent_batches_;
  sent_items_ += items;
  spacings_ += spaced;
  spacing_ns_ += spacing_ns;
}

void Recorder::Answered(std::size_t items, std::size_t failed, std::size_t drops, Duration latency,
                        TimePoint now) {
  MoveTo(now);
  if (!measuring_) return;
  ++answers_;
  store_latency_ns_ += static_cast<double>(latency.count());
  written_items_ += items - failed;
  retries_ += failed;
  drops_ += drops;
}

// The store has kept up if what was offered was completed; and even if nearly all was, a latency
// that grows tells of a queue that does. (In few changes there is too little to tell by.)
bool Recorder::IsStable(bool gave_up) const {
  constexpr std::uint64_t kFew = 2000;
  if (gave_up) return false;
  const auto completed = static_cast<double>(writes_.count());
  const auto offered = static_cast<double>(offered_);
  if (offered_ > kFew && completed < 0.97 * offered) return false;
  if (completed < 0.45 * offered) return false;
  const double first = Ratio(first_half_.sum, first_half_.count);
  const double second = Ratio(writes_.sum() - first_half_.sum, writes_.count() - first_half_.count);
  const bool grows = first > 0 && second > 1.6 * first;
  return !grows || completed >= 0.985 * offered;
}

std::vector<Slice> Recorder::Timeline(TimePoint end) const {
  std::vector<Slice> timeline;
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    const SliceTally& slice = slices_[i];
    const TimePoint begin = kStart + static_cast<std::int64_t>(i) * slice_length_;
    const Duration length = std::min(slice_length_, end - begin);
    if (length <= Duration::zero()) break;
    timeline.push_back({.at_s = ToSeconds(begin - kStart),
                        .offered_per_s = PerSecond(slice.offered, length),
                        .completed_per_s = PerSecond(slice.completed, length),
                        .write_mean_ms = slice.latency_ns / kNsPerMs,
                        .write_p99_ms = slice.p99_ns / kNsPerMs,
                        .batch_items = Ratio(static_cast<double>(slice.items), slice.batches),
                        .batches_per_s = PerSecond(slice.batches, length),
                        .interval_ms = Ratio(slice.spacing_ns, slice.spacings) / kNsPerMs,
                        .regime = std::string(NameOf(slice.regime)),
                        .reason = std::string(NameOf(slice.reason))});
  }
  return timeline;
}

Result Recorder::Finish(TimePoint end, bool gave_up,
                        const std::vector<ClientTally>& present_clients) {
  MoveTo(end);
  if (slice_ < slices_.size()) EndSlice();
  const Duration measured = std::max(Duration::zero(), end - warmup_);

  Result result;
  result.measured_s = ToSeconds(measured);
  result.write_latency_ms = writes_.Summary();
  result.offered_per_s = PerSecond(offered_, measured);
  result.completed_per_s = PerSecond(writes_.count(), measured);
  result.written_per_s = PerSecond(written_items_, measured);
  result.batch_items = Ratio(static_cast<double>(sent_items_), sent_batches_);
  result.batches_per_s = PerSecond(sent_batches_, measured);
  result.interval_ms = Ratio(spacing_ns_, spacings_) / kNsPerMs;
  result.store_latency_ms = Ratio(store_latency_ns_, answers_) / kNsPerMs;
  result.retries = retries_;
  result.drops = drops_;
  result.refused = refused_;
  result.expired = expired_;
  result.pending = pending_;
  // In a closed loop what is offered follows what is completed: their ratio says nothing.
  result.jain_throughput = Jain(present_clients, [&](const ClientTally& client) {
    if (closed_loop_) return PerSecond(client.completed, client.present);
    return client.offered == 0 ? -1 : Ratio(static_cast<double>(client.completed), client.offered);
  });
  result.jain_latency = Jain(present_clients, [](const ClientTally& client) {
    return client.completed == 0 ? -1 : Ratio(client.latency_ns, client.completed);
  });
  result.jain_batches = Jain(present_clients, [](const ClientTally& client) {
    return PerSecond(client.batches, client.present);
  });
  result.stable = IsStable(gave_up);
  result.timeline = Timeline(end);
  LatencyHistogram replies = writes_;
  replies.Merge(reads_);
  result.reply_latency_ms = replies.Summary();
  return result;
}

}  // namespace stout::sim::internal
