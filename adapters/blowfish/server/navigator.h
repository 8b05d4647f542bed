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

struct NavigationOptions {
  /// All layers of all shards together, in bytes.
  std::uint64_t budget = 0;

  /// How often the shards are looked at: the paper's delta. > 0.
  Duration interval = std::chrono::milliseconds(10);

  /// The weight of the newest interval in the averages, in (0, 1]: with the interval it tells a
  /// spike from a load. An average has come 63 % of the way to a new value after interval / beta,
  /// 1 s.
  double beta = 0.01;

  /// A shard whose worker spends a larger share of its time than this on reads, on average, gets a
  /// layer. Near 1 queues grow long, and clients that wait for each answer never bring the share
  /// to 1. In (0, 1); see bench shard.
  double upper = 0.75;

  /// A shard gives a layer up only if that share is at most this. If the layer made it up to three
  /// times as fast, the share stays below `upper` without it. In [0, upper).
  double lower = 0.25;

  /// A shard whose layers have changed is left alone for this time, because its average must show
  /// the effect first. >= 0
  Duration dwell = std::chrono::seconds(3);
};

/// Returns nullopt if the options are in range, otherwise one line that names the option and the
/// remedy.
[[nodiscard]] std::optional<std::string> Validate(const NavigationOptions& options);

/// The navigation's input from a shard.
struct ShardState {
  /// The time that its worker spent in the last interval on reads that layers make faster, in
  /// intervals. Neither writes nor merges are among them.
  double reads = 0;
  std::uint64_t queue = 0;         ///< Requests that wait now.
  std::size_t layers = 0;          ///< That it has beyond those it always has.
  std::uint64_t bytes = 0;         ///< bytes of those layers
  std::uint64_t next_bytes = 0;    ///< bytes of one more; 0: it can have no more
  std::uint64_t finest_bytes = 0;  ///< bytes of the finest of them
  bool filling = false;  ///< Its layers lack values: they do not make it as fast as they will.
  bool moving = false;   ///< The last move of its layers is not carried out yet.
};

struct Navigation {
  enum class Move : std::uint8_t {
    kAdd,       ///< The shard gets its next layer.
    kRemove,    ///< The shard loses its finest layer: another one needs the memory, or the layers
                ///< take more than the budget.
    kNoBudget,  ///< The shard should get a layer, but nobody can spare the memory: the server as a
                ///< whole is overloaded.
  };

  Move move = Move::kAdd;
  std::size_t shard = 0;
  double reads = 0;  ///< The share of its worker's time that reads took, on average.
  double queue = 0;  ///< The requests that waited, on average.

  friend bool operator==(const Navigation&, const Navigation&) = default;
};

/// "add", "remove", "no budget".
[[nodiscard]] std::string_view Describe(Navigation::Move move);

/// Moves the shards of a server along the curve between storage and speed, by the share of time
/// that reads keep their workers busy:
///
///     share(t) = beta * reads(t) + (1 - beta) * share(t - interval)
///
/// A shard whose share is above `upper` is overloaded by reads and gets a layer, if the budget has
/// room for it. It gets none while its queue drains, that is, while the queue is shorter than its
/// own average: then the shard is fast enough and has only a backlog left. It also gets none while
/// the last one is being filled. If there is no room, the shards with the smallest shares, of those
/// at most `lower`, lose their finest layers, one each, until there is room. The needy shard gets
/// its layer at a later look, once they report that they have lost theirs. No shard loses a layer
/// in vain. If all spare layers together are not enough, no shard loses one, and the next needy
/// shard is looked at, because its layer may be a smaller one. Layers that no other shard needs
/// stay.
///
/// A merge makes layers larger, and leaves less room for others. While they take more than the
/// budget, the shards with the smallest shares lose their finest layers, for any shares.
///
/// Workers carry moves out late. Until then a shard counts with the larger size, before or after
/// the move, and is not moved again.
///
/// The paper navigates by the length of the queue. That misses clients that wait for each answer,
/// because their queue is never longer than their number. It also counts writes, which layers do
/// not make faster. See docs/decisions/0017-navigate-by-busy-reads.md.
///
/// A shard whose layers have changed is left alone for a while (dwell), and the two shares lie
/// apart. So no layer goes back and forth between two shards that need it equally.
///
/// Cost: some nanoseconds a shard and interval.
/// Owner: value type; it decides, the caller acts.   Threads: none of its own; callers serialise.
/// Paper: BlowFish (NSDI'16) 3.2.4 "Dynamically Navigating the Tradeoff", equation 1, Figure 5.
class Navigator {
 public:
  /// `now`: from when on shards may change. Requires valid options (see Validate).
  Navigator(NavigationOptions options, std::size_t shards, TimePoint now);

  /// Call it every interval. Returns at most one move per shard, in the order of execution, and at
  /// most one kNoBudget, for the neediest.
  [[nodiscard]] std::vector<Navigation> Observe(TimePoint now, std::span<const ShardState> shards);

  [[nodiscard]] const NavigationOptions& options() const { return options_; }
  /// Sets the budget of the layers from now on.
  void set_budget(std::uint64_t budget) { options_.budget = budget; }

 private:
  struct Shard {
    double reads = 0;  // averages
    double queue = 0;
    TimePoint changed;
    bool moving = false;
    std::uint64_t bytes = 0;  // of its layers, once it has carried its move out
  };

  [[nodiscard]] bool Rests(std::size_t shard, TimePoint now) const;
  // Sorted, the smallest share first.
  [[nodiscard]] std::vector<std::size_t> ByShare(std::vector<std::size_t> shards) const;
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
