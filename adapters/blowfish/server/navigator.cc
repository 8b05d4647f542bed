#include "blowfish/server/navigator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace stout::blowfish {
namespace {

// Takes donors from `donors`, the least needy first, whose finest layers have this number of bytes
// together. Takes none if all together have fewer.
std::vector<std::size_t> TakeDonors(std::vector<std::size_t>& donors,
                                    std::span<const ShardState> shards, std::uint64_t bytes) {
  std::vector<std::size_t> taken;
  std::uint64_t spared = 0;
  for (auto donor = donors.begin(); donor != donors.end() && spared < bytes; ++donor) {
    taken.push_back(*donor);
    spared += shards[*donor].finest_bytes;
  }
  if (spared < bytes) return {};
  // A large one may have made those before it superfluous.
  std::erase_if(taken, [&](std::size_t donor) {
    const bool needed = spared - shards[donor].finest_bytes < bytes;
    if (!needed) spared -= shards[donor].finest_bytes;
    return !needed;
  });
  std::erase_if(donors,
                [&](std::size_t donor) { return std::ranges::find(taken, donor) != taken.end(); });
  return taken;
}

}  // namespace

std::optional<std::string> Validate(const NavigationOptions& options) {
  // A value that is not a number is in no range.
  if (options.interval <= Duration::zero()) return "interval must be more than 0";
  if (!(options.beta > 0 && options.beta <= 1)) {
    return fmt::format("beta must be above 0 and at most 1, not {}", options.beta);
  }
  if (!(options.upper > 0 && options.upper < 1)) {
    return fmt::format("upper must be above 0 and below 1, not {}", options.upper);
  }
  if (!(options.lower >= 0 && options.lower < options.upper)) {
    return fmt::format("lower must be at least 0 and below upper, not {}", options.lower);
  }
  if (options.dwell < Duration::zero()) return "dwell must not be negative";
  return std::nullopt;
}

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
    : options_(options), shards_(shards, {.changed = now - options_.dwell}) {
  assert(!Validate(options_));
}

bool Navigator::Rests(std::size_t shard, TimePoint now) const {
  return shards_[shard].moving || now - shards_[shard].changed < options_.dwell;
}

std::vector<std::size_t> Navigator::ByShare(std::vector<std::size_t> shards) const {
  std::ranges::stable_sort(shards, {}, [&](std::size_t s) { return shards_[s].reads; });
  return shards;
}

std::vector<std::size_t> Navigator::Needy(TimePoint now, std::span<const ShardState> shards) const {
  std::vector<std::size_t> needy;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const bool drains = static_cast<double>(shards[s].queue) < shards_[s].queue;
    const bool overloaded = shards_[s].reads > options_.upper && !drains;
    const bool can_have = shards[s].next_bytes > 0 && !shards[s].filling;
    if (overloaded && can_have && !Rests(s, now)) needy.push_back(s);
  }
  // Overloaded shards have equal shares: the queue tells which of them is needier.
  std::ranges::stable_sort(needy, std::greater(), [&](std::size_t s) { return shards_[s].queue; });
  return needy;
}

std::vector<std::size_t> Navigator::Donors(TimePoint now,
                                           std::span<const ShardState> shards) const {
  std::vector<std::size_t> donors;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const bool idle = shards_[s].reads <= options_.lower;
    if (shards[s].layers > 0 && idle && !Rests(s, now)) donors.push_back(s);
  }
  return ByShare(std::move(donors));
}

std::vector<Navigation> Navigator::Observe(TimePoint now, std::span<const ShardState> shards) {
  assert(shards.size() == shards_.size());
  std::uint64_t used = 0;   // at most, until all that is under way is done
  std::uint64_t later = 0;  // from then on
  std::vector<std::size_t> layered;
  const auto follow = [&](double& average, double value) {
    average += options_.beta * (value - average);
  };
  for (std::size_t s = 0; s < shards.size(); ++s) {
    Shard& shard = shards_[s];
    follow(shard.reads, shards[s].reads);
    follow(shard.queue, static_cast<double>(shards[s].queue));
    shard.moving = shards[s].moving;
    if (!shard.moving) shard.bytes = shards[s].bytes;
    used += std::max(shard.bytes, shards[s].bytes);
    later += shard.bytes;
    if (!shard.moving && shards[s].layers > 0) layered.push_back(s);
  }

  std::vector<Navigation> moves;
  const auto move = [&](Navigation::Move what, std::size_t s) {
    moves.push_back({what, s, shards_[s].reads, shards_[s].queue});
    Shard& shard = shards_[s];
    shard.changed = now;
    shard.moving = true;
    shard.bytes = shards[s].bytes;
    if (what == Navigation::Move::kAdd) {
      shard.bytes += shards[s].next_bytes;
      used += shards[s].next_bytes;
    } else {
      shard.bytes -= std::min(shard.bytes, shards[s].finest_bytes);
      later -= std::min(later, shards[s].finest_bytes);
    }
  };
  for (const std::size_t s : ByShare(std::move(layered))) {
    if (later <= options_.budget) break;
    move(Navigation::Move::kRemove, s);
  }
  bool refused = false;
  std::vector<std::size_t> donors = Donors(now, shards);  // No needy shard is among them.
  for (const std::size_t s : Needy(now, shards)) {
    const std::uint64_t wanted = later + shards[s].next_bytes;
    const std::uint64_t missing = wanted - std::min(wanted, options_.budget);
    const std::vector<std::size_t> taken = TakeDonors(donors, shards, missing);
    if (missing > 0 && taken.empty()) {
      if (!std::exchange(refused, true))
        moves.push_back({Navigation::Move::kNoBudget, s, shards_[s].reads, shards_[s].queue});
      continue;
    }
    for (const std::size_t donor : taken) move(Navigation::Move::kRemove, donor);
    // The room is its own, also while the donors still have it.
    later += shards[s].next_bytes;
    if (used + shards[s].next_bytes <= options_.budget) move(Navigation::Move::kAdd, s);
  }
  return moves;
}

}  // namespace stout::blowfish
