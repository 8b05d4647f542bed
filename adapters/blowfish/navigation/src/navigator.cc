#include "navigator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace stout::blowfish {
namespace {

// Takes from `donors`, the least needy first, those whose finest layers have so many bytes
// together; nobody, if they have not.
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

bool IsValid(const QueueThresholds& thresholds) {
  return thresholds.lower >= 0 && thresholds.lower < thresholds.upper;
}

}  // namespace

std::optional<std::string> Validate(const NavigationOptions& options) {
  // What is no number is in no range.
  if (options.interval <= Duration::zero()) return "interval must be more than 0";
  if (!(options.beta > 0 && options.beta <= 1)) {
    return fmt::format("beta must be above 0 and at most 1, not {}", options.beta);
  }
  if (options.thresholds.empty()) return "thresholds must have an entry, for shards without layers";
  for (const QueueThresholds& thresholds : options.thresholds) {
    if (!IsValid(thresholds)) {
      return fmt::format("thresholds: lower must be at least 0 and below upper, not {} and {}",
                         thresholds.lower, thresholds.upper);
    }
  }
  if (!(options.most_busy >= 0 && options.most_busy <= 1)) {
    return fmt::format("most_busy must be in 0 to 1, not {}", options.most_busy);
  }
  if (options.burst <= Duration::zero()) return "burst must be more than 0";
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
    : options_(std::move(options)),
      shards_(shards, {.changed = now - options_.dwell, .was_short = now - options_.burst}) {
  assert(!Validate(options_));
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
    const bool overloaded = need(s) > 1 && !drains && shards_[s].busy > options_.most_busy;
    if (overloaded && shards[s].next_bytes > 0 && !Rests(s, now)) needy.push_back(s);
  }
  std::ranges::stable_sort(needy, std::greater(), need);
  return needy;
}

std::vector<std::size_t> Navigator::Donors(TimePoint now,
                                           std::span<const ShardState> shards) const {
  std::vector<std::size_t> donors;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const bool idle =
        shards_[s].busy <= options_.most_busy && now - shards_[s].was_short < options_.burst;
    if (shards[s].layers > 0 && idle && !Rests(s, now)) donors.push_back(s);
  }
  std::ranges::stable_sort(donors, {}, [&](std::size_t s) { return shards_[s].busy; });
  return donors;
}

std::vector<Navigation> Navigator::Observe(TimePoint now, std::span<const ShardState> shards) {
  assert(shards.size() == shards_.size());
  std::uint64_t used = 0;
  const auto follow = [&](double& average, double value) {
    average += options_.beta * (value - average);
  };
  for (std::size_t s = 0; s < shards.size(); ++s) {
    follow(shards_[s].average, static_cast<double>(shards[s].queue));
    follow(shards_[s].busy, shards[s].busy);
    if (static_cast<double>(shards[s].shortest) < ThresholdsOf(shards[s]).lower)
      shards_[s].was_short = now;
    used += shards[s].bytes;
  }

  std::vector<Navigation> moves;
  const auto move = [&](Navigation::Move what, std::size_t s) {
    moves.push_back({what, s, average(s)});
    shards_[s].changed = now;
  };
  bool refused = false;
  std::vector<std::size_t> donors = Donors(now, shards);  // Who is needy is none.
  for (const std::size_t s : Needy(now, shards)) {
    const std::uint64_t wanted = used + shards[s].next_bytes;
    const std::uint64_t missing = wanted - std::min(wanted, options_.budget);
    const std::vector<std::size_t> taken = TakeDonors(donors, shards, missing);
    if (missing > 0 && taken.empty()) {
      if (!std::exchange(refused, true))
        moves.push_back({Navigation::Move::kNoBudget, s, average(s)});
      continue;
    }
    for (const std::size_t donor : taken) {
      used -= shards[donor].finest_bytes;
      move(Navigation::Move::kRemove, donor);
    }
    used += shards[s].next_bytes;
    move(Navigation::Move::kAdd, s);
  }
  return moves;
}

}  // namespace stout::blowfish
