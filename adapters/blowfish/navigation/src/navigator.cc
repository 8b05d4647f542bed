#include "navigator.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace stout::blowfish {

std::string_view Describe(Navigation::Move move) {
  switch (move) {
    case Navigation::Move::kAdd:
      return "add";
    case Navigation::Move::kRemove:
      return "remove";
    case Navigation::Move::kNoBudget:
      return "no budget";
  }
  return "";
}

Navigator::Navigator(NavigationOptions options, std::size_t shards, TimePoint now)
    : options_(std::move(options)), shards_(shards, {.changed = now - options_.dwell}) {
  assert(!options_.thresholds.empty());
}

const QueueThresholds& Navigator::ThresholdsOf(const ShardState& shard) const {
  return options_.thresholds[std::min(shard.layers, options_.thresholds.size() - 1)];
}

bool Navigator::Rests(std::size_t shard, TimePoint now) const {
  return now - shards_[shard].changed < options_.dwell;
}

std::vector<std::size_t> Navigator::Needy(TimePoint now, std::span<const ShardState> shards) const {
  std::vector<std::size_t> needy;
  const auto need = [&](std::size_t s) { return average(s) / ThresholdsOf(shards[s]).upper; };
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const bool drains = static_cast<double>(shards[s].queue) < average(s);
    if (shards[s].next_bytes > 0 && !Rests(s, now) && need(s) > 1 && !drains) needy.push_back(s);
  }
  std::ranges::stable_sort(needy, std::greater(), need);
  return needy;
}

std::size_t Navigator::Donor(TimePoint now, std::span<const ShardState> shards) const {
  std::size_t donor = shards.size();
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const double lower = ThresholdsOf(shards[s]).lower;
    const bool idle = average(s) < lower && static_cast<double>(shards[s].queue) < lower &&
                      shards_[s].busy <= options_.most_busy;
    if (shards[s].layers == 0 || !idle || Rests(s, now)) continue;
    if (donor == shards.size() || average(s) < average(donor)) donor = s;
  }
  return donor;
}

std::vector<Navigation> Navigator::Observe(TimePoint now, std::span<const ShardState> shards) {
  assert(shards.size() == shards_.size());
  std::uint64_t used = 0;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    shards_[s].average += options_.beta * (static_cast<double>(shards[s].queue) - average(s));
    shards_[s].busy += options_.beta * (shards[s].busy - shards_[s].busy);
    used += shards[s].bytes;
  }

  std::vector<Navigation> moves;
  const auto move = [&](Navigation::Move what, std::size_t s) {
    moves.push_back({what, s, average(s)});
    shards_[s].changed = now;
  };
  for (const std::size_t s : Needy(now, shards)) {
    while (used + shards[s].next_bytes > options_.budget) {
      const std::size_t donor = Donor(now, shards);
      if (donor == shards.size()) {
        moves.push_back({Navigation::Move::kNoBudget, s, average(s)});
        return moves;  // Who needs it less does not get it instead.
      }
      used -= shards[donor].finest_bytes;
      move(Navigation::Move::kRemove, donor);
    }
    used += shards[s].next_bytes;
    move(Navigation::Move::kAdd, s);
  }
  return moves;
}

}  // namespace stout::blowfish
