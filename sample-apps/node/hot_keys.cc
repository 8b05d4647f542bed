#include "node/hot_keys.h"

#include <algorithm>
#include <utility>

namespace stout::node {

void HotKeys::Count(KeyView key) {
  const std::lock_guard lock(mutex_);
  if (++counts_ >= kWindow) Halve();
  std::string name(key);
  if (const auto known = counters_.find(name); known != counters_.end()) {
    ++known->second.count;
    return;
  }
  Counter counter{.count = 1};
  if (counters_.size() == kCounters) {
    const auto least =
        std::ranges::min_element(counters_, {}, [](const auto& each) { return each.second.count; });
    counter = {.count = least->second.count + 1, .error = least->second.count};
    counters_.erase(least);
  }
  counters_.emplace(std::move(name), counter);
}

void HotKeys::Halve() {
  counts_ /= 2;
  for (auto& [key, counter] : counters_) {
    counter.count /= 2;
    counter.error /= 2;
  }
  std::erase_if(counters_, [](const auto& each) { return each.second.count == 0; });
}

std::vector<HotKeys::Key> HotKeys::Hottest(std::size_t most) const {
  std::vector<Key> keys;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, counter] : counters_) {
    const std::uint64_t least = counter.count - counter.error;
    if (100 * least < counts_) continue;
    keys.push_back({key, static_cast<double>(least) / static_cast<double>(counts_)});
  }
  std::ranges::sort(keys, std::ranges::greater(), &Key::share);
  if (keys.size() > most) keys.resize(most);
  return keys;
}

}  // namespace stout::node
