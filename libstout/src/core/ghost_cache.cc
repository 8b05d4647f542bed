#include "stout/core/ghost_cache.h"

#include <algorithm>
#include <iterator>

namespace stout::inline v1 {

std::optional<bool> GhostCache::Touch(std::uint64_t hash, std::size_t bytes, std::size_t capacity) {
  if (!InSample(hash)) return std::nullopt;
  const auto [place, is_new] = places_.try_emplace(hash);
  if (is_new) {
    place->second = recent_.insert(recent_.end(), {hash, 0});
  } else {
    recent_.splice(recent_.end(), recent_, place->second);
  }
  bytes_ += bytes - place->second->bytes;
  place->second->bytes = bytes;
  if (keys() > max_keys_) Halve();
  const auto is_over = [&] {
    return static_cast<double>(bytes_) > rate_ * static_cast<double>(capacity);
  };
  // If keys have grown, the sample may have become too small.
  if (is_over() && keys() < max_keys_ / 4) rate_ = std::min(1.0, 2 * rate_);
  while (!recent_.empty() && is_over()) Drop(recent_.begin());
  return !is_new;
}

void GhostCache::Shrink(std::size_t capacity) {
  if (recent_.empty()) return;
  const double mean = static_cast<double>(bytes_) / static_cast<double>(keys());
  const double keys_if_full = rate_ * static_cast<double>(capacity) / mean;
  if (keys_if_full > static_cast<double>(max_keys_)) Halve();
}

void GhostCache::Halve() {
  rate_ /= 2;
  for (auto key = recent_.begin(); key != recent_.end();) {
    const auto next = std::next(key);
    if (!InSample(key->hash)) Drop(key);
    key = next;
  }
}

void GhostCache::Drop(Keys::iterator key) {
  bytes_ -= key->bytes;
  places_.erase(key->hash);
  recent_.erase(key);
}

}  // namespace stout::inline v1
