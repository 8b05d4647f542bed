#include "known_datalets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stout {

void KnownDatalets::Learn(const std::map<std::string, Recorded<Datalet>>& present, TimePoint now) {
  for (auto& [id, known] : known_) {
    if (known.gone || present.contains(id)) continue;
    // STOUT.DATALET REMOVE removes one that no node serves. It does not come back.
    known.gone = known.datalet.value.node.empty() ? now - replace_after_ : now;
  }
  for (const auto& [id, datalet] : present) known_[id] = {datalet, std::nullopt};
}

void KnownDatalets::Learn(const RegistryTable& records, TimePoint now) {
  Learn(records.datalets, now);
  for (const auto& [range, set] : records.sets) {
    Seen& seen = sets_[range] = {};
    for (const RangeRecord::Member& member : set.value.members) {
      if (member.in) seen.in.push_back(member.datalet);
    }
  }
}

bool KnownDatalets::TakeReplaced(TimePoint now) {
  bool any = false;
  for (auto& [id, known] : known_) {
    if (known.gone && now - *known.gone >= replace_after_) {
      any |= !std::exchange(known.replaced, true);
    }
  }
  return any;
}

std::vector<std::string> KnownDatalets::Wanted(RangeId range, const RangeRecord& record,
                                               std::size_t replicas, TimePoint now) {
  // A datalet that left before this node came may have had the largest capacity.
  std::uint32_t largest = 1;
  for (const auto& [id, known] : known_) largest = std::max(largest, known.datalet.value.capacity);
  for (const RangeRecord::Member& member : record.members) {
    if (known_.contains(member.datalet)) continue;
    Known& known = known_[member.datalet];
    known.datalet.value.capacity = largest;
    known.gone = now;
  }
  std::map<std::string, Recorded<Datalet>> candidates;
  for (const auto& [id, known] : known_) {
    const bool member = std::any_of(record.members.begin(), record.members.end(),
                                    [&id = id](const auto& each) { return each.datalet == id; });
    if (!known.gone || (member && now - *known.gone < replace_after_)) {
      candidates[id] = known.datalet;
    }
  }
  std::vector<std::string> ids;
  if (place_) ids = place_(range, candidates, replicas);
  const std::vector<std::string> others = PlaceRange(range, candidates, candidates.size());
  ids.insert(ids.end(), others.begin(), others.end());
  std::vector<std::string> wanted;
  for (const std::string& id : ids) {
    if (wanted.size() == replicas) break;
    if (!candidates.contains(id)) continue;
    if (std::find(wanted.begin(), wanted.end(), id) == wanted.end()) wanted.push_back(id);
  }
  return wanted;
}

std::optional<std::string> KnownDatalets::First(
    RangeId range, std::size_t replicas, TimePoint now,
    const std::function<bool(const std::string&)>& usable) {
  const auto seen = sets_.find(range);
  const bool lost = seen != sets_.end();
  const std::vector<std::string> ids = lost ? seen->second.in : Wanted(range, {}, replicas, now);
  const auto first = std::find_if(ids.begin(), ids.end(), usable);
  if (lost && (first != ids.end() || !std::exchange(seen->second.complained, true))) {
    spdlog::error(
        "range {}: the lease service has lost its record. These datalets were in sync: {}. {}",
        range, fmt::join(ids, ", "),
        first != ids.end() ? fmt::format("The range begins again with {}", *first)
                           : "The range waits for one of them; if none comes back, restart all "
                             "nodes: the range then begins with another datalet, and loses what "
                             "that one lacks");
  }
  return first != ids.end() ? std::optional(*first) : std::nullopt;
}

}  // namespace stout
