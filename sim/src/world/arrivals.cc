#include "world/arrivals.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "world/units.h"

namespace stout::sim::internal {

void Arrivals::SetRate(double, TimePoint) {}
void Arrivals::Replied(TimePoint) {}

// --- Poisson -------------------------------------------------------------------------------------

PoissonArrivals::PoissonArrivals(double per_s, TimePoint now, Random random)
    : random_(random), per_s_(per_s), due_(random_.Exponential()) {
  Plan(now);
}

void PoissonArrivals::Advance() {
  due_ = random_.Exponential();
  Plan(next_);
}

// The wait so far counts: the draw stays, only its time changes.
void PoissonArrivals::SetRate(double per_s, TimePoint now) {
  if (next_ != kNever) due_ = ToSeconds(next_ - now) * per_s_;
  per_s_ = per_s;
  Plan(now);
}

void PoissonArrivals::Plan(TimePoint from) {
  constexpr double kCenturyS = 100.0 * 366 * 24 * 3600;
  next_ = due_ < per_s_ * kCenturyS ? from + Seconds(due_ / per_s_) : kNever;
}

// --- Closed loop
// -----------------------------------------------------------------------------------

ClosedArrivals::ClosedArrivals(std::size_t callers, Duration mean_think, TimePoint now,
                               Random random)
    : random_(random), mean_think_(mean_think) {
  for (std::size_t i = 0; i < callers; ++i) Replied(now);
}

void ClosedArrivals::Advance() {
  std::pop_heap(thinking_.begin(), thinking_.end(), std::greater<>());
  thinking_.pop_back();
  next_ = thinking_.empty() ? kNever : thinking_.front();
}

void ClosedArrivals::Replied(TimePoint now) {
  // A caller without a thought still takes a moment, or one that reads clean keys never ends.
  constexpr Duration kMoment = std::chrono::microseconds(1);
  const double think_ns = static_cast<double>(mean_think_.count()) * random_.Exponential();
  thinking_.push_back(now + kMoment + Nanoseconds(think_ns));
  std::push_heap(thinking_.begin(), thinking_.end(), std::greater<>());
  next_ = thinking_.front();
}

// --- Recorded
// --------------------------------------------------------------------------------------

RecordedArrivals::RecordedArrivals(std::shared_ptr<const Recording> recording,
                                   std::vector<std::uint32_t> mine, TimePoint now)
    : recording_(std::move(recording)), mine_(std::move(mine)) {
  if (mine_.empty()) return;
  period_ = recording_->Length();
  const Duration since = now.time_since_epoch() % period_;
  round_ = now - since;
  const auto first = std::partition_point(mine_.begin(), mine_.end(), [&](std::uint32_t position) {
    return recording_->changes[position].at < since;
  });
  taken_ = static_cast<std::size_t>(first - mine_.begin());
  Plan();
}

void RecordedArrivals::Advance() {
  ++taken_;
  Plan();
}

void RecordedArrivals::Plan() {
  if (taken_ == mine_.size()) {
    taken_ = 0;
    round_ += period_;
  }
  const RecordedChange& change = recording_->changes[mine_[taken_]];
  next_ = round_ + change.at;
  if (recording_->has_keys) next_key_ = change.key;
}

}  // namespace stout::sim::internal
