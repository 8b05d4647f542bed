#include "world/load.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "world/alias_table.h"
#include "world/units.h"

namespace stout::sim::internal {
namespace {

using Kind = ClientSpec::Arrivals;

std::vector<double> Weights(std::uint32_t count, double spread, double heavy_share) {
  std::vector<double> weights(count, 1.0);
  for (std::uint32_t i = 1; i < count; ++i) {
    weights[i] = std::pow(spread, -static_cast<double>(i) / (count - 1));
  }
  if (heavy_share > 0 && count > 1) {
    const double others = std::accumulate(weights.begin() + 1, weights.end(), 0.0);
    weights[0] = heavy_share / (1 - heavy_share) * others;
  }
  return weights;
}

std::shared_ptr<const Recording> RecordingOf(const ClientSpec& spec) {
  if (spec.arrivals != Kind::kRecorded) return nullptr;
  if (spec.recording) return spec.recording;
  auto times = std::make_shared<Recording>();
  times->has_keys = false;
  for (const double s : spec.trace_s) times->changes.push_back({.at = Seconds(s)});
  return times;
}

}  // namespace

Load::Load(const ClientSpec& spec, std::uint32_t places, Random random)
    : spec_(spec),
      weights_(Weights(places, spec.spread, spec.heavy_share)),
      random_(random),
      total_rate_(spec.total_rate_per_s),
      in_burst_(random_.Unit() >= spec.burst_share),
      recording_(RecordingOf(spec)) {
  if (spec.arrivals != Kind::kOnOff) return;
  const double share_off = spec.off_ms / (spec.on_ms + spec.off_ms);
  // The opposite, because the first turn comes at the start of the run. So do bursts.
  for (std::uint32_t i = 0; i < places; ++i) on_.push_back(random_.Unit() < share_off);
}

void Load::SetClients(std::uint32_t count) {
  clients_ = count;
  present_weight_ = std::accumulate(weights_.begin(), weights_.begin() + count, 0.0);
  if (recording_) ShareRecording();
}

bool Load::HasRate() const {
  return spec_.arrivals == Kind::kPoisson || spec_.arrivals == Kind::kMmpp ||
         spec_.arrivals == Kind::kOnOff;
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
  if (spec_.arrivals == Kind::kOnOff) {
    factor = on_[place] ? (spec_.on_ms + spec_.off_ms) / spec_.on_ms : 0;
  }
  return total_rate_ * factor * weights_[place] / present_weight_;
}

Duration Load::TurnBurst() {
  in_burst_ = !in_burst_;
  const double mean_ms =
      in_burst_ ? spec_.burst_ms : spec_.burst_ms * (1 - spec_.burst_share) / spec_.burst_share;
  return Milliseconds(mean_ms * random_.Exponential());
}

Duration Load::TurnPlace(std::uint32_t place) {
  on_[place] = !on_[place];
  return Milliseconds((on_[place] ? spec_.on_ms : spec_.off_ms) * random_.Exponential());
}

std::unique_ptr<Arrivals> Load::ArrivalsOf(std::uint32_t place, TimePoint from, Random random) {
  switch (spec_.arrivals) {
    case Kind::kPoisson:
    case Kind::kMmpp:
    case Kind::kOnOff:
      return std::make_unique<PoissonArrivals>(RateOf(place), from, random);
    case Kind::kClosed:
      return std::make_unique<ClosedArrivals>(spec_.outstanding, Microseconds(spec_.think_us), from,
                                              random);
    case Kind::kRecorded:
      return std::make_unique<RecordedArrivals>(recording_, std::move(shares_[place]), from);
  }
  return nullptr;
}

void Load::ShareRecording() {
  shares_.assign(clients_, {});
  if (clients_ == 0) return;
  const auto& changes = recording_->changes;
  if (recording_->has_keys) {
    std::vector<std::size_t> sizes(clients_);
    for (const RecordedChange& change : changes) ++sizes[change.key % clients_];
    for (std::size_t i = 0; i < clients_; ++i) shares_[i].reserve(sizes[i]);
  }
  const AliasTable random_owner(std::span<const double>(weights_).first(clients_));
  for (std::uint32_t i = 0; i < changes.size(); ++i) {
    const auto owner =
        recording_->has_keys ? changes[i].key % clients_ : random_owner.Draw(random_);
    shares_[owner].push_back(i);
  }
}

}  // namespace stout::sim::internal
