#include "blowfish/store/merge_slots.h"

#include <utility>

namespace stout::blowfish {

MergeSlots::Slot::Slot(Slot&& other) noexcept
    : slots_(std::exchange(other.slots_, nullptr)), bytes_(other.bytes_) {}

MergeSlots::Slot::~Slot() {
  if (slots_) slots_->GiveBack(bytes_);
}

MergeSlots::Usage MergeSlots::usage() const {
  const std::lock_guard lock(mutex_);
  return {.running = running_, .waiting = waiting_.size(), .bytes = bytes_};
}

std::optional<MergeSlots::Slot> MergeSlots::Take(std::uint64_t bytes, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto ticket = waiting_.insert(next_ticket_++).first;
  const bool taken =
      changed_.wait(lock, stop, [&] { return running_ < limit_ && ticket == waiting_.begin(); });
  waiting_.erase(ticket);
  if (taken) {
    ++running_;
    bytes_ += bytes;
  }
  changed_.notify_all();  // Another one is the first now.
  if (!taken) return std::nullopt;
  return Slot(*this, bytes);
}

void MergeSlots::GiveBack(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  --running_;
  bytes_ -= bytes;
  changed_.notify_all();
}

}  // namespace stout::blowfish
