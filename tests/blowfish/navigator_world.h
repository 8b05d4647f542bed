#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <vector>

#include "blowfish/server/navigator.h"

namespace stout::blowfish {

// Shards with queues, in steps of the interval. Each layer doubles what a shard serves of reads,
// once it is full; writes take the worker's time whatever its layers are. A worker carries out its
// moves late. A shard without layers serves one unit of load an interval, which is a hundred
// requests.
class NavigatorWorld {
 public:
  static constexpr std::uint64_t kLayerBytes = 100;
  static constexpr std::size_t kMaxLayers = 4;

  NavigatorWorld(NavigationOptions options, std::size_t shards)
      : navigator_(options, shards, TimePoint()),
        shards_(shards),
        waiting_(shards),
        load_(shards),
        clients_(shards),
        writes_(shards),
        burst_(shards),
        layer_bytes_(shards, kLayerBytes),
        late_(shards, 3),
        under_way_(shards),
        full_(shards),
        filling_(shards) {
    for (std::size_t s = 0; s < shards; ++s) Change(s, 0);
  }

  // Units of reads an interval.
  void Load(std::size_t shard, double requests) { load_[shard] = requests; }
  // Clients that wait for each answer of a read before they ask again, for as long as `pause`
  // intervals; `pause` > 0.
  void Clients(std::size_t shard, double clients, double pause) {
    clients_[shard] = {clients, pause};
  }
  // The worker writes all the time, and this many writes wait.
  void Writes(std::size_t shard, double waiting) { writes_[shard] = waiting; }
  // This number of units of reads comes at once.
  void Spike(std::size_t shard, double queue) { waiting_[shard] += queue; }
  // At each look, this number of requests has just come at once.
  void Burst(std::size_t shard, double requests) { burst_[shard] = requests; }
  // A move of the shard is carried out after this number of intervals.
  void Late(std::size_t shard, std::size_t intervals) { late_[shard] = intervals; }
  // A merge has made each layer of the shard this large.
  void Merge(std::size_t shard, std::uint64_t layer_bytes) {
    layer_bytes_[shard] = layer_bytes;
    Change(shard, 0);
  }

  void Run(Duration duration) {
    for (Duration passed{}; passed < duration; passed += navigator_.options().interval) Step();
  }
  void Step() {
    now_ += navigator_.options().interval;
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      std::deque<UnderWay>& moves = under_way_[s];
      if (!moves.empty() && moves.front().left-- == 0) {
        Change(s, moves.front().layers);
        moves.pop_front();
      }
      shards_[s].moving = !moves.empty();
      if (shards_[s].filling && --filling_[s] == 0) {
        shards_[s].filling = false;
        full_[s] = shards_[s].layers;
      }
    }
    within_budget_ = within_budget_ && bytes() <= navigator_.options().budget;
    for (const Navigation& n : navigator_.Observe(now_, shards_)) {
      moves_.push_back(n);
      if (n.move == Navigation::Move::kNoBudget) continue;
      under_way_[n.shard].push_back(
          {late_[n.shard], n.move == Navigation::Move::kAdd ? static_cast<int>(n.layers) : -1});
      shards_[n.shard].moving = true;
    }
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      const double served = static_cast<double>(1ULL << full_[s]);
      // Each of them asks once in a pause and the time of a read; all of them at most what is
      // served.
      const double asked = std::min(served, clients_[s].count / (clients_[s].pause + 1 / served));
      const double wanted = waiting_[s] + load_[s] + asked;
      shards_[s].reads = writes_[s] > 0 ? 0 : std::min(1.0, wanted / served);
      shards_[s].answered = static_cast<std::uint64_t>(100 * std::min(wanted, served));
      waiting_[s] = std::max(0.0, wanted - served);
      shards_[s].queue = static_cast<std::uint64_t>(100 * waiting_[s] + burst_[s] + writes_[s]);
    }
  }

  [[nodiscard]] const std::vector<Navigation>& moves() const { return moves_; }
  [[nodiscard]] std::size_t layers(std::size_t shard) const { return shards_[shard].layers; }
  [[nodiscard]] std::uint64_t queue(std::size_t shard) const { return shards_[shard].queue; }
  /// At every moment.
  [[nodiscard]] bool within_budget() const { return within_budget_; }
  [[nodiscard]] std::uint64_t bytes() const {
    return std::accumulate(shards_.begin(), shards_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const ShardState& s) { return sum + s.bytes; });
  }

 private:
  void Change(std::size_t s, int layers) {
    ShardState& shard = shards_[s];
    if (layers < 0 && shard.filling) layers = static_cast<int>(full_[s] - shard.layers);
    shard.layers += layers;
    shard.filling = shard.layers > full_[s];
    if (layers > 0) filling_[s] = 30;
    full_[s] = std::min(full_[s], shard.layers);
    shard.bytes = shard.layers * layer_bytes_[s];
    const std::size_t next_removal = shard.filling ? shard.layers - full_[s] : shard.layers > 0;
    shard.finest_bytes = next_removal * layer_bytes_[s];
    for (std::size_t i = 0; i < shard.next_bytes.size(); ++i)
      shard.next_bytes[i] = std::min(i + 1, kMaxLayers - shard.layers) * layer_bytes_[s];
  }

  Navigator navigator_;
  std::vector<ShardState> shards_;
  std::vector<double> waiting_;
  struct Waiting {
    double count = 0;
    double pause = 1;
  };
  std::vector<double> load_;
  std::vector<Waiting> clients_;
  std::vector<double> writes_;
  std::vector<double> burst_;
  std::vector<std::uint64_t> layer_bytes_;
  struct UnderWay {
    std::size_t left = 0;  // intervals
    int layers = 0;
  };
  std::vector<std::size_t> late_;
  std::vector<std::deque<UnderWay>> under_way_;
  std::vector<std::size_t> full_;     // layers that serve
  std::vector<std::size_t> filling_;  // intervals that it lasts
  TimePoint now_;
  std::vector<Navigation> moves_;
  bool within_budget_ = true;
};

}  // namespace stout::blowfish
