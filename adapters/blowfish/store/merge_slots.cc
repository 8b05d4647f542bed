#include "blowfish/store/merge_slots.h"

#include <condition_variable>
#include <utility>

namespace stout::blowfish {

MergeSlots::Slot::Slot(Slot&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)), bytes_(other.bytes_) {}

MergeSlots::Slot::~Slot() {
  if (slots_) slots_->GiveBack(bytes_);
}

MergeSlots::Place::Place(Place&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)), ticket_(other.ticket_) {}

MergeSlots::Place::~Place() {
  if (slots_) slots_->Leave(ticket_);
}

bool MergeSlots::Place::may_take() const {
  const std::lock_guard lock(slots_->mutex_);
  return slots_->MayTake(ticket_);
}

MergeSlots::Slot MergeSlots::Place::Take(std::uint64_t bytes) && {
  MergeSlots& slots = *std::exchange(slots_, nullptr);
  const std::lock_guard lock(slots.mutex_);
  slots.waiting_.erase(ticket_);
  ++slots.running_;
  slots.bytes_ += bytes;
  slots.WakeNext();
  return Slot(slots, bytes);
}

MergeSlots::Usage MergeSlots::usage() const {
  const std::lock_guard lock(mutex_);
  return {.running = running_, .waiting = waiting_.size(), .bytes = bytes_};
}

MergeSlots::Place MergeSlots::Queue(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  waiting_.emplace(ticket, std::move(wake));
  if (MayTake(ticket)) WakeNext();
  return Place(*this, ticket);
}

std::optional<MergeSlots::Slot> MergeSlots::Take(std::uint64_t bytes, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool woken = false;
  Place place = Queue([&] {
    const std::lock_guard lock(mutex);
    woken = true;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  if (!changed.wait(lock, stop, [&] { return woken; })) return std::nullopt;
  lock.unlock();  // the slots call the wake-up under a lock of their own
  return std::move(place).Take(bytes);
}

void MergeSlots::Leave(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(ticket);
  WakeNext();
}

void MergeSlots::GiveBack(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  --running_;
  bytes_ -= bytes;
  WakeNext();
}

void MergeSlots::WakeNext() {
  if (running_ < limit_ && !waiting_.empty()) waiting_.begin()->second();
}

}  // namespace stout::blowfish
