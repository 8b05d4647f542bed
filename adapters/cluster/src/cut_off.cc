#include "cut_off.h"

#include <algorithm>
#include <utility>

namespace stout {

std::optional<CutOff::Finding> CutOff::Look(
    const RegistryTable& records, const LeaseTable& owners, SessionId session,
    const std::function<bool(const std::string& datalet)>& reached, Duration grace, TimePoint now) {
  std::map<Sighting, TimePoint> seen;
  for (const auto& [range, set] : records.sets) {
    const auto& lease = range < owners.ranges.size() ? owners.ranges[range] : std::nullopt;
    if (!lease || lease->session == session) continue;
    for (const RangeRecord::Member& member : set.value.members) {
      if (!member.in || reached(member.datalet)) continue;
      const auto datalet = records.datalets.find(member.datalet);
      const bool own =
          datalet != records.datalets.end() && datalet->second.value.node == lease->address;
      if (own) continue;  // the owner reaches it even if it is the owner that is cut off
      const Sighting sighting(range, lease->epoch, member.datalet);
      const auto before = sightings_.find(sighting);
      seen[sighting] = before != sightings_.end() ? before->second : now + grace;
    }
  }
  sightings_ = std::move(seen);
  const auto oldest =
      std::min_element(sightings_.begin(), sightings_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (oldest == sightings_.end() || oldest->second > now) return std::nullopt;
  return Finding{std::get<std::string>(oldest->first), oldest->second};
}

}  // namespace stout
