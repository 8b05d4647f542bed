#include "blowfish/server/reshard_page.h"

#include <algorithm>
#include <span>

namespace stout::blowfish {
namespace {

// Keys that are read at once, at most: enough to walk side by side.
constexpr std::size_t kMaxTogether = 256;

}  // namespace

std::vector<KeyState> ReadPage(Shard& shard, std::optional<std::string_view> after,
                               const PageLimits& limits) {
  const auto keys = shard.KeysAfter(after, limits.keys, Shard::Keys::kAll);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<KeyState> page;
  std::size_t bytes = 0;
  // Keys that are read at once. The first values say nothing of the next ones. Therefore a group
  // has one key at first, and then at most twice as many as the group before it.
  std::size_t together = 1;
  while (page.size() < keys.size() && bytes < limits.bytes) {
    const std::size_t first = page.size();
    const std::size_t before = bytes;
    const auto group = std::span(views).subspan(first, std::min(together, keys.size() - first));
    page.resize(first + group.size());
    std::size_t last = page.size();  // The next page has the keys from here on.
    shard.Read(group, [&](std::size_t i, Stamp stamp, std::optional<std::string_view> value) {
      if (bytes >= limits.bytes) {
        last = std::min(last, first + i);
        return;
      }
      KeyState& state = page[first + i];
      state = {.key = keys[first + i], .stamp = stamp, .value = std::nullopt};
      if (value) state.value.emplace(*value);
      bytes += state.key.size() + (value ? value->size() : 0);
    });
    page.resize(last);
    // A group takes about an eighth of the page.
    together = std::clamp<std::size_t>(limits.bytes / 8 * group.size() / (bytes - before + 1), 1,
                                       std::min(2 * group.size(), kMaxTogether));
  }
  return page;
}

}  // namespace stout::blowfish
