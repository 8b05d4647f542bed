#include "node/hot_keys.h"

#include <algorithm>

namespace stout::node {

void HotKeys::Count(KeyView key) {
  const std::lock_guard lock(mutex_);
  if (++counts_ >= kWindow) Halve();
  const auto [place, is_new] = places_.try_emplace(std::string(key), counters_.size());
  if (!is_new) {
    ++counters_[place->second].count;
  } else if (counters_.size() < kCounters) {
    counters_.push_back({.key = &place->first, .count = 1});
  } else {
    Counter& least = Least();
    place->second = hand_;
    places_.erase(places_.find(*least.key));
    least = {.key = &place->first, .count = least.count + 1, .error = least.count};
  }
}

// Goes on where the last search ended, because a search of all for each new key would be slow.
HotKeys::Counter& HotKeys::Least() {
  for (;; ++hand_) {
    if (hand_ == counters_.size()) {
      hand_ = 0;
      least_ = std::ranges::min_element(counters_, {}, &Counter::count)->count;
    }
    if (counters_[hand_].count <= least_) return counters_[hand_];
  }
}

void HotKeys::Halve() {
  counts_ /= 2;
  least_ /= 2;
  for (Counter& counter : counters_) {
    counter.count /= 2;
    counter.error /= 2;
  }
}

std::vector<HotKeys::Key> HotKeys::Hottest(std::size_t most) const {
  std::vector<Key> keys;
  const std::lock_guard lock(mutex_);
  for (const Counter& counter : counters_) {
    const std::uint64_t least = counter.count - counter.error;
    if (100 * least < counts_) continue;
    keys.push_back({*counter.key, static_cast<double>(least) / static_cast<double>(counts_)});
  }
  std::ranges::sort(keys, std::ranges::greater(), &Key::share);
  if (keys.size() > most) keys.resize(most);
  return keys;
}

}  // namespace stout::node
