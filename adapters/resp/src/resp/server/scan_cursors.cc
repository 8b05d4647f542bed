#include "resp/server/scan_cursors.h"

#include <random>
#include <utility>

namespace stout::resp {

// Clients may keep a cursor in a signed integer, or in a floating-point number.
std::uint64_t ScanCursors::FirstCursor() {
  std::random_device random;
  return (std::uint64_t{random()} << 15) + 1;
}

std::uint64_t ScanCursors::Keep(Place place) {
  if (oldest_.size() == most_) {
    places_.erase(oldest_.front());
    oldest_.pop_front();
  }
  const std::uint64_t cursor = next_++;
  places_.emplace(cursor, std::move(place));
  oldest_.push_back(cursor);
  return cursor;
}

const ScanCursors::Place* ScanCursors::Find(std::uint64_t cursor) const {
  const auto place = places_.find(cursor);
  return place == places_.end() ? nullptr : &place->second;
}

}  // namespace stout::resp
