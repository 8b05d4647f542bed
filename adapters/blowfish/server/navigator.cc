#include "blowfish/server/navigator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace stout::blowfish {
namespace {

/// So that a single long request is no load: as many requests an average must have seen before it
/// tells by half how many come and are answered. A guess.
constexpr double kFewRequests = 4;

/// Maximum ratio of requests that come and are answered: more layers than it needs do not come at a
/// time.
constexpr double kMaxBehind = 16;

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

namespace {

// Layers that are ordered for the first file of a shard take no memory yet.
bool HasLayers(const ShardState& state) { return state.layers > 0 && state.finest_bytes > 0; }

}  // namespace

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

void Navigator::Load::Follow(const Load& sample, double weight) {
  const auto follow = [weight](double& average, double value) {
    average += weight * (value - average);
  };
  follow(reads, sample.reads);
  follow(coming, sample.coming);
  follow(answered, sample.answered);
  few = kFewRequests * weight;
}

double Navigator::Load::Value() const {
  return reads * std::min((coming + few) / (answered + few), kMaxBehind);
}

void Navigator::Follow(Shard& shard, const ShardState& state, TimePoint now) const {
  const auto answered = static_cast<double>(state.answered);
  const double grown = static_cast<double>(state.queue) - static_cast<double>(shard.queue);
  const Load sample{
      .reads = state.reads, .coming = std::max(0.0, answered + grown), .answered = answered};
  shard.queue = state.queue;
  shard.moving = state.moving;
  if (!shard.moving) shard.bytes = state.bytes;
  // The averages begin anew when layers have come.
  const bool settles = state.moving || state.filling;
  if (settles) shard.changed = now;
  shard.looks = settles ? 0 : shard.looks + 1;
  const double least = settles ? 0 : 1 / static_cast<double>(shard.looks);
  shard.load.Follow(sample, std::max(options_.beta, least));
  shard.recent.Follow(sample, std::max(std::min(10 * options_.beta, 1.0), least));
}

bool Navigator::Rests(std::size_t shard, TimePoint now) const {
  return shards_[shard].moving || now - shards_[shard].changed < options_.dwell;
}

std::size_t Navigator::LayersFor(const Shard& shard, const ShardState& state) const {
  const double load = shard.recent.Value();
  std::size_t count = 1;
  for (double fast = 2 * options_.upper; fast < load; fast *= 2) ++count;
  count = std::min(count, state.next_bytes.size());
  const auto can_have = [&](std::size_t number) {
    return state.next_bytes[number - 1] > (number > 1 ? state.next_bytes[number - 2] : 0);
  };
  while (count > 0 && !can_have(count)) --count;
  return count;
}

std::vector<std::size_t> Navigator::ByLoad(std::vector<std::size_t> shards) const {
  std::ranges::stable_sort(shards, {}, [&](std::size_t s) { return shards_[s].load.Value(); });
  return shards;
}

std::vector<std::size_t> Navigator::Needy(TimePoint now, std::span<const ShardState> shards) const {
  std::vector<std::size_t> needy;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const bool overloaded =
        shards_[s].load.Value() > options_.upper && shards_[s].recent.reads > options_.upper;
    const bool can_have = shards[s].next_bytes.front() > 0 && !shards[s].filling;
    if (overloaded && can_have && !Rests(s, now)) needy.push_back(s);
  }
  std::ranges::stable_sort(needy, std::greater(),
                           [&](std::size_t s) { return shards_[s].load.Value(); });
  return needy;
}

std::vector<std::size_t> Navigator::Donors(TimePoint now,
                                           std::span<const ShardState> shards) const {
  std::vector<std::size_t> donors;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const bool idle = shards_[s].load.Value() <= options_.lower;
    if (HasLayers(shards[s]) && idle && !shards[s].filling && !Rests(s, now)) donors.push_back(s);
  }
  return ByLoad(std::move(donors));
}

std::vector<Navigation> Navigator::Observe(TimePoint now, std::span<const ShardState> shards) {
  assert(shards.size() == shards_.size());
  std::uint64_t used = 0;   // at most, until all that is under way is done
  std::uint64_t later = 0;  // from then on
  std::vector<std::size_t> layered;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    Shard& shard = shards_[s];
    Follow(shard, shards[s], now);
    used += std::max(shard.bytes, shards[s].bytes);
    later += shard.bytes;
    if (!shard.moving && HasLayers(shards[s])) layered.push_back(s);
  }

  std::vector<Navigation> moves;
  const auto begin = [&](Navigation::Move what, std::size_t s, std::size_t layers) {
    moves.push_back({what, s, shards_[s].load.Value(), layers});
    Shard& shard = shards_[s];
    shard.changed = now;
    shard.moving = true;
    shard.bytes = shards[s].bytes;
  };
  const auto remove = [&](std::size_t s) {
    begin(Navigation::Move::kRemove, s, 1);
    shards_[s].bytes -= std::min(shards_[s].bytes, shards[s].finest_bytes);
    later -= std::min(later, shards[s].finest_bytes);
  };
  for (const std::size_t s : ByLoad(std::move(layered))) {
    if (later <= options_.budget) break;
    remove(s);
  }
  bool refused = false;
  std::vector<std::size_t> donors = Donors(now, shards);  // No needy shard is among them.
  for (const std::size_t s : Needy(now, shards)) {
    std::vector<std::size_t> taken;
    std::size_t layers = LayersFor(shards_[s], shards[s]);
    for (; layers > 0; --layers) {
      const std::uint64_t wanted = later + shards[s].next_bytes[layers - 1];
      const std::uint64_t missing = wanted - std::min(wanted, options_.budget);
      taken = TakeDonors(donors, shards, missing);
      if (missing == 0 || !taken.empty()) break;
    }
    if (layers == 0) {
      if (!std::exchange(refused, true))
        moves.push_back({Navigation::Move::kNoBudget, s, shards_[s].load.Value()});
      continue;
    }
    for (const std::size_t donor : taken) remove(donor);
    // The room is its own, also while the donors still have it.
    const std::uint64_t more = shards[s].next_bytes[layers - 1];
    later += more;
    if (used + more > options_.budget) continue;
    begin(Navigation::Move::kAdd, s, layers);
    shards_[s].bytes += more;
    used += more;
  }
  return moves;
}

}  // namespace stout::blowfish
