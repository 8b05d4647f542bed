#include "reservation.h"

#include <algorithm>
#include <chrono>

#include "stout/clock.h"
#include "stout/core/hybrid_clock.h"

namespace stout {
namespace {

using internal::HybridClock;

// A node that is cut off from the registry writes for this time at most, by its steady clock. It is
// a third of the time after which the members must be merged. As many versions are reserved, from
// the newest one on, which may be ahead of the clock.
constexpr std::chrono::microseconds kLongest = std::chrono::minutes(5);
constexpr std::uint64_t kAhead = kLongest.count();
// A change of the registry is done if the record already is as asked. So nodes that ask for the
// same number at once must not ask for the same time.
constexpr std::uint64_t kSpread = 1 << 24;  // us

}  // namespace

void Reservation::Tick(const RegistryTable& records) {
  Number asked;
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t now = clock_->Present();
    const TimePoint steady = SteadyNow();
    const bool lasts =
        own_ && own_->until >= now + kAhead / 2 && own_->end >= steady + kLongest / 2;
    if (asks_ || lasts) return;
    asked = own_ ? *own_ : Choose(records, now);
    // Not less than before: a node that gets the number next begins behind it.
    asked.until = std::max(std::max(now, asked.from) + kAhead, asked.until) + random_() % kSpread;
    asked.end = steady + kLongest;
    asks_ = true;
  }
  registry_.Change(ReserveVersions(asked.number, asked.until, asked.revision),
                   [self = shared_from_this(), asked](ErrorCode ec, const ChangeAnswer& answer) {
                     self->OnAnswer(asked, ec, answer);
                   });
}

// A number whose reservation has passed, or that no node has had; otherwise the one that is free
// first, whose versions begin behind the reservation. Nodes look from different numbers on, because
// they may start together.
Reservation::Number Reservation::Choose(const RegistryTable& records, std::uint64_t now) {
  std::optional<Number> best;
  const std::uint32_t first = random_() % HybridClock::kNumbers;
  for (std::uint32_t i = 0; i < HybridClock::kNumbers; ++i) {
    const std::uint32_t number = (first + i) % HybridClock::kNumbers;
    const auto found = records.clocks.find(number);
    if (found == records.clocks.end()) return {.number = number};
    const Number each{number, found->second.revision, found->second.value.until};
    if (each.from < now) return each;
    if (!best || each.from < best->from) best = each;
  }
  return *best;
}

// After another answer than success, this node does not know whether it has the number.
void Reservation::OnAnswer(Number asked, ErrorCode ec, const ChangeAnswer& answer) {
  const std::lock_guard lock(mutex_);
  asks_ = false;
  if (ec == Errc::kTransient) return;
  own_.reset();
  if (ec || answer.outcome != ChangeOutcome::kDone) return;
  asked.revision = answer.revision;
  own_ = asked;
  clock_->Reserve(
      {.number = asked.number, .from = asked.from, .until = asked.until, .end = asked.end});
}

}  // namespace stout
