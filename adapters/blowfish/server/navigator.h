#pragma once

#include <array>
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

  /// A shard whose load is larger than this, on average, gets layers. Near 1 queues grow long, and
  /// clients that wait for each answer never bring the load to 1. In (0, 1); see bench shard.
  double upper = 0.75;

  /// A shard gives a layer up only if its load is at most this. If the layer made it up to three
  /// times as fast, the load stays below `upper` without it. In [0, upper).
  double lower = 0.25;

  /// A shard is left alone for this time after its layers have changed, or the new ones are full,
  /// because its averages must show the effect first: they begin anew then. >= 0
  Duration dwell = std::chrono::seconds(1);
};

/// Returns nullopt if the options are in range, otherwise one line that names the option and the
/// remedy.
[[nodiscard]] std::optional<std::string> Validate(const NavigationOptions& options);

/// The navigation's input from a shard.
struct ShardState {
  /// The time that its worker spent in the last interval on reads that layers make faster, in
  /// intervals. Neither writes nor merges are among them.
  double reads = 0;
  std::uint64_t queue = 0;     ///< Requests that wait now.
  std::uint64_t answered = 0;  ///< Requests that were answered in the last interval.
  std::size_t layers = 0;      ///< those beyond the ones it always has, and those ordered
  std::uint64_t bytes = 0;     ///< bytes of those layers
  /// Bytes of one more, of two more, and so on. A number that is not larger than the one before it,
  /// or than 0, means that it cannot have that many.
  std::array<std::uint64_t, 4> next_bytes = {};
  std::uint64_t finest_bytes = 0;  ///< bytes that the next removal frees
  bool filling = false;            ///< Layers are ordered, and do not serve yet.
  bool moving = false;             ///< The last move of its layers is not carried out yet.
};

struct Navigation {
  enum class Move : std::uint8_t {
    kAdd,     ///< The shard gets its next layers.
    kRemove,  ///< The shard loses the layers that are ordered, otherwise its finest layer: another
              ///< shard needs the memory, or the layers take more than the budget.
    kNoBudget,  ///< The shard should get a layer, but no other shard can spare the memory: the
                ///< server as a whole is overloaded.
  };

  Move move = Move::kAdd;
  std::size_t shard = 0;
  double load = 0;         ///< on average, in shards
  std::size_t layers = 1;  ///< the number that kAdd adds

  friend bool operator==(const Navigation&, const Navigation&) = default;
};

/// "add", "remove", "no budget".
[[nodiscard]] std::string_view Describe(Navigation::Move move);

/// Moves the shards of a server along the curve between storage and speed, by their loads:
///
///     load = share of the worker's time that reads take * requests that come / that are answered
///
/// Each of the three is an average, x(t) = beta * x + (1 - beta) * x(t - interval). A load of 2.8
/// is 2.8 times what the shard can answer with its layers. Of a shard whose clients wait for each
/// answer, the load is at most 1. While a queue drains, the load is less than the share.
///
/// A shard is overloaded if its load is above `upper`, and its worker is busy with reads just now.
/// Each layer doubles its speed, or more: so it gets as many at once as bring its load of the last
/// tenth of a second below `upper`, up to four. If the budget has no room for all of them, it gets
/// fewer. It gets none while layers are ordered, or until they have served for `dwell`.
///
/// If there is no room for one, the shards with the smallest loads, of those at most `lower`, lose
/// their finest layers, one each, until there is room. The needy shard gets its layers at a later
/// look, once they report that they have lost theirs. No shard loses a layer in vain. If all spare
/// layers together are not enough, no shard loses one, and the next needy shard is looked at,
/// because its layer may be a smaller one. Layers that no other shard needs stay.
///
/// A merge makes layers larger, and leaves less room for others. While they take more than the
/// budget, the shards with the smallest loads lose layers, for any loads.
///
/// Workers carry moves out late. Until then a shard counts with the larger size, before or after
/// the move, and is not moved again.
///
/// The paper navigates by the length of the queue. That misses clients that wait for each answer,
/// because their queue is never longer than their number. It also counts writes, which layers do
/// not make faster. See docs/decisions/0017-navigate-by-busy-reads.md, and
/// 0038-layers-filled-in-the-background.md for layers that are ordered several at a time.
///
/// A shard whose layers have changed is left alone for a while (dwell), and the two bounds lie
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
  // Averages of one shard.
  struct Load {
    double reads = 0;
    double coming = 0;    // requests an interval
    double answered = 0;  // likewise
    double few = 0;       // likewise; a difference of less tells nothing

    void Follow(const Load& sample, double weight);
    [[nodiscard]] double Value() const;
  };
  struct Shard {
    Load load;
    Load recent;                                  // of the last tenth of the time that `load` has
    std::uint64_t queue = 0;                      // at the last look
    std::uint64_t looks = ~std::uint64_t{0} / 2;  // since it has settled; many at the start
    TimePoint changed;
    bool moving = false;
    std::uint64_t bytes = 0;  // of its layers, once it has carried its move out
  };

  void Follow(Shard& shard, const ShardState& state, TimePoint now) const;
  [[nodiscard]] bool Rests(std::size_t shard, TimePoint now) const;
  // Returns the number of layers that bring the load of an overloaded shard below `upper`.
  [[nodiscard]] std::size_t LayersFor(const Shard& shard, const ShardState& state) const;
  // Sorted, the smallest load first.
  [[nodiscard]] std::vector<std::size_t> ByLoad(std::vector<std::size_t> shards) const;
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
