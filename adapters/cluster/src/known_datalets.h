#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/placement.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"

namespace stout {

/// The datalets that a node has met, among which `place` chooses the members of ranges. A member
/// that is gone keeps its place for some time: it may come back. If `place` returns too few, or is
/// empty, PlaceRange chooses the others.
///
/// Units: time points of the steady clock.
/// Owner: value type.   Threads: none of its own.   Errors: cannot fail.
class KnownDatalets {
 public:
  explicit KnownDatalets(Duration replace_after, Placement place = {})
      : replace_after_(replace_after), place_(std::move(place)) {}

  /// `present`: the datalets of the registry.
  void Learn(const std::map<std::string, Recorded<Datalet>>& present, TimePoint now);
  /// Also remembers which datalets are `in`.
  void Learn(const RegistryTable& records, TimePoint now);
  /// Returns true if some datalet has lost its place since the last call.
  [[nodiscard]] bool TakeReplaced(TimePoint now);
  /// The ids of the datalets that should be the members of a range, which has this record now.
  [[nodiscard]] std::vector<std::string> Wanted(RangeId range, const RangeRecord& record,
                                                std::size_t replicas, TimePoint now);
  /// Returns the id of the datalet that a range without a record begins with; nullopt if none is
  /// `usable`. If the range had a record, the registry has lost it. Then only a datalet that was
  /// `in` counts: another one may lack acknowledged writes.
  [[nodiscard]] std::optional<std::string> First(
      RangeId range, std::size_t replicas, TimePoint now,
      const std::function<bool(const std::string&)>& usable);

 private:
  struct Known {
    Recorded<Datalet> datalet;
    std::optional<TimePoint> gone;  // since when it is not in the registry
    bool replaced = false;
  };

  struct Seen {
    std::vector<std::string> in;  // the members that were, when the set was last seen
    bool complained = false;
  };

  Duration replace_after_;
  Placement place_;
  std::map<std::string, Known> known_;
  std::map<RangeId, Seen> sets_;
};

}  // namespace stout
