#include "world/load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "world/alias_table.h"
#include "world/units.h"

namespace stout::sim::internal {
namespace {

using Kind = ClientSpec::Arrivals;

std::vector<double> Weights(std::uint32_t count, double spread) {
  std::vector<double> weights(count, 1.0);
  for (std::uint32_t i = 1; i < count; ++i) {
    weights[i] = std::pow(spread, -static_cast<double>(i) / (count - 1));
  }
  return weights;
}

/// A trace begins anew a mean gap after its last arrival, and takes a moment at least.
Duration PeriodOf(const std::vector<double>& trace_s) {
  if (trace_s.empty()) return Seconds(1);
  const double span = trace_s.back() - trace_s.front();
  const double gap = span > 0 ? span / static_cast<double>(trace_s.size() - 1) : 1;
  return std::max<Duration>(std::chrono::microseconds(1), Seconds(trace_s.back() + gap));
}

}  // namespace

Load::Load(const ClientSpec& spec, std::uint32_t places, Random random)
    : spec_(spec),
      weights_(Weights(places, spec.spread)),
      random_(random),
      total_rate_(spec.total_rate_per_s),
      in_burst_(random_.Unit() >= spec.burst_share),
      trace_period_(PeriodOf(spec.trace_s)) {}

void Load::SetClients(std::uint32_t count) {
  clients_ = count;
  present_weight_ = std::accumulate(weights_.begin(), weights_.begin() + count, 0.0);
  if (spec_.arrivals == Kind::kRecorded) ShareTrace();
}

bool Load::HasRate() const {
  return spec_.arrivals == Kind::kPoisson || spec_.arrivals == Kind::kMmpp;
}

// The long-run rate is what the scenario says: so the calm is below it by what the bursts are
// above.
double Load::RateOf(std::uint32_t place) const {
  double factor = 1;
  if (spec_.arrivals == Kind::kMmpp) {
    const double share = spec_.burst_share;
    factor = in_burst_ ? spec_.burst_factor
                       : std::max(0.0, (1 - share * spec_.burst_factor) / (1 - share));
  }
  return total_rate_ * factor * weights_[place] / present_weight_;
}

Duration Load::TurnBurst() {
  in_burst_ = !in_burst_;
  const double mean_ms =
      in_burst_ ? spec_.burst_ms : spec_.burst_ms * (1 - spec_.burst_share) / spec_.burst_share;
  return Milliseconds(mean_ms * random_.Exponential());
}

std::unique_ptr<Arrivals> Load::ArrivalsOf(std::uint32_t place, TimePoint from,
                                           Random random) const {
  switch (spec_.arrivals) {
    case Kind::kPoisson:
    case Kind::kMmpp:
      return std::make_unique<PoissonArrivals>(RateOf(place), from, random);
    case Kind::kClosed:
      return std::make_unique<ClosedArrivals>(spec_.outstanding, Microseconds(spec_.think_us), from,
                                              random);
    case Kind::kRecorded:
      return std::make_unique<RecordedArrivals>(trace_shares_[place], trace_period_, from);
  }
  return nullptr;
}

void Load::ShareTrace() {
  trace_shares_.assign(clients_, {});
  if (clients_ == 0) return;
  const AliasTable owner(std::span<const double>(weights_).first(clients_));
  for (const double s : spec_.trace_s) trace_shares_[owner.Draw(random_)].push_back(Seconds(s));
}

}  // namespace stout::sim::internal
