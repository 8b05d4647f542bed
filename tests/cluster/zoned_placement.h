#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/placement.h"

namespace stout::sim {

/// A Placement as users write it: the members of a range are in as many zones as possible, so that
/// the loss of a zone leaves the others. Within these limits it is the order of PlaceRange, so few
/// ranges move when a datalet comes or goes.
class ZonedPlacement {
 public:
  using ZoneOf = std::function<std::string(const std::string& datalet)>;
  using Live = std::map<std::string, Recorded<Datalet>>;

  explicit ZonedPlacement(ZoneOf zone_of) : zone_of_(std::move(zone_of)) {}

  std::vector<std::string> operator()(RangeId range, const Live& live, std::size_t replicas) const {
    std::set<std::string> zones;
    std::vector<std::string> ids;
    std::vector<std::string> others;
    for (const std::string& id : PlaceRange(range, live, live.size())) {
      const bool is_first = zones.insert(zone_of_(id)).second;
      (is_first ? ids : others).push_back(id);
    }
    ids.insert(ids.end(), others.begin(), others.end());
    ids.resize(std::min(ids.size(), replicas));
    return ids;
  }

 private:
  ZoneOf zone_of_;
};

}  // namespace stout::sim
