#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "stout/core/lease_table.h"
#include "stout/core/registry_table.h"

namespace stout {

/// Finds out that this node is cut off from datalets that other nodes reach.
///
/// An owner drops a member that it does not reach. So a member that stays in, under one owner, is
/// reached by that owner. If this node does not reach it and cannot open ranges, this node should
/// own nothing: it would take ranges from owners that can.
///
/// Units: time points of the steady clock.
/// Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class CutOff {
 public:
  struct Finding {
    std::string datalet;
    TimePoint since;
  };

  /// Takes what this node sees now: the records, the owners, and which datalets it reaches.
  /// `session` is its own. `grace` is the time in which an owner finds out that a member does not
  /// answer. Returns the datalet that is out of reach for the longest time.
  std::optional<Finding> Look(const RegistryTable& records, const LeaseTable& owners,
                              SessionId session,
                              const std::function<bool(const std::string& datalet)>& reached,
                              Duration grace, TimePoint now);

 private:
  using Sighting = std::tuple<RangeId, Epoch, std::string>;  // of a datalet that is in
  std::map<Sighting, TimePoint> sightings_;  // when it counts as out of reach; may be in the future
};

}  // namespace stout
