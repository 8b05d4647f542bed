#include "reclaim.h"

#include <algorithm>
#include <cassert>

namespace stout::blowfish {

ReclaimDomain::~ReclaimDomain() { assert(retired_.empty()); }

// Threads take turns at the stripes: up to kStripes of them share none.
ReclaimDomain::Stripe& ReclaimDomain::StripeOfThread() {
  static std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
  return stripes_[mine];
}

ReclaimDomain::Guard::Guard(ReclaimDomain& domain)
    : domain_(domain), stripe_(domain.StripeOfThread()) {
  while (true) {
    const std::uint64_t generation = domain_.generation_.load();
    slot_ = generation % kGenerations;
    stripe_.readers[slot_].fetch_add(1);
    if (domain_.generation_.load() == generation) return;  // Invariant 1.
    Leave();
  }
}

// Invariant 5. Slots are compared, not generations. A latecomer of an ended generation may have
// been in the count of the generation that now has its slot, and may be the one that brings it to
// zero.
void ReclaimDomain::Guard::Leave() {
  const bool last = stripe_.readers[slot_].fetch_sub(1) == 1;
  if (last && domain_.blocked_.load() == slot_) domain_.Collect();
}

void ReclaimDomain::Keep(std::unique_ptr<Retired> retired) {
  Waiting added;
  added.push_back(std::move(retired));
  Waiting unreachable;
  {
    const std::lock_guard lock(mutex_);
    added.front()->generation = generation_.load();
    retired_.splice(retired_.end(), added);
    unreachable = TakeUnreachable();
  }
}

void ReclaimDomain::Collect() {
  Waiting unreachable;
  {
    const std::lock_guard lock(mutex_);
    unreachable = TakeUnreachable();
  }
}

// Allocates nothing: readers call it as they leave.
ReclaimDomain::Waiting ReclaimDomain::TakeUnreachable() {
  Waiting unreachable;
  while (!retired_.empty()) {
    const std::uint64_t generation = generation_.load();
    const bool room = generation + 1 - oldest_ < kGenerations;
    if (room && retired_.back()->generation == generation) generation_.store(generation + 1);
    // With room or without, the oldest generation has now ended.
    const std::uint32_t slot = oldest_ % kGenerations;
    blocked_.store(slot);
    if (!IsEmpty(slot)) return unreachable;
    ++oldest_;
    while (!retired_.empty() && retired_.front()->generation < oldest_) {
      unreachable.splice(unreachable.end(), retired_, retired_.begin());
    }
  }
  blocked_.store(kNoSlot);
  return unreachable;
}

bool ReclaimDomain::IsEmpty(std::uint32_t slot) const {
  return std::all_of(stripes_.begin(), stripes_.end(),
                     [slot](const Stripe& stripe) { return stripe.readers[slot].load() == 0; });
}

std::size_t ReclaimDomain::pending() const {
  const std::lock_guard lock(mutex_);
  return retired_.size();
}

}  // namespace stout::blowfish
