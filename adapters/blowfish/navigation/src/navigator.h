#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/types.h"

namespace stout::blowfish {

/// Requests that wait at a shard.
struct QueueThresholds {
  double upper = 0;  ///< An average above it asks for a layer;
  double lower = 0;  ///< a queue that keeps getting below it lets one go.
};

struct NavigationOptions {
  /// All layers of all shards together, in bytes.
  std::uint64_t budget = 0;

  /// How often queues are looked at: the paper's delta. > 0.
  Duration interval = std::chrono::milliseconds(10);

  /// The weight of the newest length in the average, in (0, 1]: with the interval it tells a spike
  /// from a load. The average has come 63 % of the way to a new length after interval / beta, 1 s.
  double beta = 0.01;

  /// By how many layers a shard has; the last holds for all beyond. At least one, and in each
  /// 0 <= lower < upper.
  ///
  /// A shard takes the requests of its queue 16 at a time, and is up to three times as fast so: a
  /// queue of that length is no sign of trouble. Guess, see bench shard.
  std::vector<QueueThresholds> thresholds = {{.upper = 48, .lower = 8}};

  /// A shard that is busy for more of the time than this, on average, gives no layer up: a layer
  /// may double the speed of a shard, so that without it this one would be overloaded. One that is
  /// not gets none: its queue is of what layers do not make faster, like writes that wait for the
  /// disk. In [0, 1].
  double most_busy = 0.4;

  /// Requests come in bursts: a queue that is short at any moment of such a time is no standing
  /// queue. > 0.
  Duration burst = std::chrono::milliseconds(100);

  /// A shard whose layers have changed is left alone so long: what it gained by them, or lost, must
  /// show in its average first. >= 0.
  Duration dwell = std::chrono::seconds(3);
};

/// Nothing if the options are in range, else one line that names the option and the remedy.
[[nodiscard]] std::optional<std::string> Validate(const NavigationOptions& options);

/// What the navigation is told of a shard.
struct ShardState {
  std::uint64_t queue = 0;         ///< Requests that wait now.
  std::uint64_t shortest = 0;      ///< The fewest that waited at any time in the last interval.
  double busy = 0;                 ///< The work that ended in the last interval, in intervals.
  std::size_t layers = 0;          ///< That it has beyond those it always has.
  std::uint64_t bytes = 0;         ///< Of those layers.
  std::uint64_t next_bytes = 0;    ///< What one more would take; 0: it can have no more.
  std::uint64_t finest_bytes = 0;  ///< What the finest of them takes.
};

struct Navigation {
  enum class Move : std::uint8_t {
    kAdd,       ///< The shard gets its next layer.
    kRemove,    ///< The shard loses its finest layer, for another needs the memory.
    kNoBudget,  ///< The shard should get a layer, but nobody can spare the memory: the server as a
                ///< whole is overloaded.
  };

  Move move = Move::kAdd;
  std::size_t shard = 0;
  double average = 0;  ///< Of its queue.

  friend bool operator==(const Navigation&, const Navigation&) = default;
};

/// "add", "remove", "no budget".
[[nodiscard]] std::string_view Describe(Navigation::Move move);

/// Moves the shards of a server along the curve between storage and speed, by the lengths of their
/// request queues:
///
///     average(t) = beta * queue(t) + (1 - beta) * average(t - interval)
///
/// A shard whose average is above its upper threshold is overloaded for good, and gets a layer, if
/// the budget has room for it; but not while its queue drains, being shorter than the average: then
/// it is fast enough, and has to make up for the past only. If there is no room, the shards that
/// need their layers least lose their finest ones, of one shard each, until there is room: of those
/// that are idle most of the time, and whose queue was below the lower threshold a moment ago.
/// Nobody loses a layer for any other reason, nor in vain: if all that can be spared is not enough,
/// nobody does, and a shard that needs less is looked at next, as its layer may be a smaller one.
/// Memory that nobody needs is not missed.
///
/// The paper looks neither at whether a queue drains nor at how busy a shard is. Without the first,
/// layers are added until the queue is gone. Without the second, two shards take a layer from each
/// other for ever: the one that has it has no queue, as it has the layer. And it asks of an idle
/// shard that its average queue is short, too. But requests come in bursts, by which an idle shard
/// has a long queue for a short time, and so on average: it is its idle time that is averaged here,
/// and a queue counts by how short it was lately, as CoDel tells a standing queue from a burst.
///
/// Who has changed is left alone for a while (dwell), and the two thresholds lie apart: so no layer
/// goes back and forth between two shards that need it equally.
///
/// Cost: some nanoseconds a shard and interval.
/// Owner: value type; it decides, the caller acts.   Threads: none of its own; callers serialise.
/// Paper: BlowFish (NSDI'16) 3.2.4 "Dynamically Navigating the Tradeoff", equation 1, Figure 5;
/// Nichols and Jacobson, "Controlling Queue Delay" (ACM Queue, 2012), of standing queues.
class Navigator {
 public:
  /// `now`: from when on shards may change. Requires valid options (see Validate).
  Navigator(NavigationOptions options, std::size_t shards, TimePoint now);

  /// To be called every interval. At most one move a shard; in the order in which they are to be
  /// done. Of kNoBudget one at most, for the neediest.
  [[nodiscard]] std::vector<Navigation> Observe(TimePoint now, std::span<const ShardState> shards);

  [[nodiscard]] double average(std::size_t shard) const { return shards_[shard].average; }
  [[nodiscard]] const NavigationOptions& options() const { return options_; }
  /// What the layers may take from now on.
  void set_budget(std::uint64_t budget) { options_.budget = budget; }

 private:
  struct Shard {
    double average = 0;
    double busy = 0;  // likewise
    TimePoint changed;
    TimePoint was_short;  // its queue, by the lower threshold
  };

  [[nodiscard]] const QueueThresholds& ThresholdsOf(const ShardState& shard) const;
  [[nodiscard]] bool Rests(std::size_t shard, TimePoint now) const;
  // Overloaded shards that can have one more layer, the neediest first.
  [[nodiscard]] std::vector<std::size_t> Needy(TimePoint now,
                                               std::span<const ShardState> shards) const;
  // Shards that can spare their finest layer, the one that needs it least first.
  [[nodiscard]] std::vector<std::size_t> Donors(TimePoint now,
                                                std::span<const ShardState> shards) const;

  NavigationOptions options_;
  std::vector<Shard> shards_;
};

}  // namespace stout::blowfish
