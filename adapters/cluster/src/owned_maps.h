#pragma once

#include <boost/asio/post.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "known_datalets.h"
#include "stout/core/registry_table.h"
#include "stout/replicated_map.h"

namespace stout {

/// Returns the options of a range's map: those of the node, and what the deployment decides.
[[nodiscard]] inline ReplicatedMapOptions OptionsOf(const ClusterConfig& config,
                                                    const std::string& local,
                                                    ReplicatedMapOptions options) {
  options.local = local;
  options.min_in = config.min_in;
  options.ack = config.ack;
  options.member_timeout = config.member_timeout;
  options.strong = config.mode == ReplicationMode::kMsSc;
  options.shared = config.mode == ReplicationMode::kAaEc;
  return options;
}

/// The maps of the ranges that this node owns, as long as their users keep them.
///
/// Threads: none of its own.
class OwnedMaps {
 public:
  void Add(RangeId range, const std::shared_ptr<ReplicatedMap>& map,
           std::vector<std::string> wanted) {
    maps_[range] = {map, std::move(wanted)};
  }

  /// Gives the maps what has changed: the datalets that they should be kept on, stores, the mode.
  void Update(const RegistryTable& records, KnownDatalets& known, const ClusterConfig& config,
              const std::vector<Replica>& replicas, TimePoint now) {
    std::erase_if(maps_, [](const auto& each) { return each.second.map.expired(); });
    for (auto& [range, each] : maps_) {
      const auto map = each.map.lock();
      if (!map) continue;
      const auto set = records.sets.find(range);
      auto wanted =
          known.Wanted(range, set != records.sets.end() ? set->second.value : RangeRecord(),
                       config.replicas, now);
      if (!wanted.empty()) each.wanted = std::move(wanted);
      const auto strand = map->get_executor();
      boost::asio::post(strand, [map, want = each.wanted, replicas, mode = config.mode] {
        map->Want(want, replicas);
        map->WantStrong(mode == ReplicationMode::kMsSc);
        map->WantShared(mode == ReplicationMode::kAaEc);
      });
    }
  }

 private:
  struct Made {
    std::weak_ptr<ReplicatedMap> map;
    std::vector<std::string> wanted;
  };
  std::map<RangeId, Made> maps_;
};

}  // namespace stout
