#include "resp/server/scan_cursors.h"

#include <random>
#include <utility>

namespace stout::resp {
namespace {

std::size_t BytesOf(const ScanCursors::Place& place) {
  return place.after ? place.after->size() : 0;
}

}  // namespace

// Clients may keep a cursor in a signed integer, or in a floating-point number.
std::uint64_t ScanCursors::FirstCursor() {
  std::random_device random;
  return (std::uint64_t{random()} << 15) + 1;
}

void ScanCursors::ForgetOldest() {
  const auto oldest = places_.find(oldest_.front());
  bytes_ -= BytesOf(oldest->second);
  places_.erase(oldest);
  oldest_.pop_front();
}

std::uint64_t ScanCursors::Keep(Place place) {
  bytes_ += BytesOf(place);
  while (!oldest_.empty() && (oldest_.size() >= most_ || bytes_ > most_bytes_)) ForgetOldest();
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
