#include "cluster/cluster_write.h"

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <utility>

#include "cluster/placement.h"
#include "stout/adapters/combine_parts.h"

namespace stout::redis {
namespace {

struct Place {
  Slot slot;
  bool apart;  // From the others of its slot.
  std::uint32_t item;

  auto operator<=>(const Place&) const = default;
};

std::vector<Place> SortBySlot(const WriteBatch& batch, const Layout& layout, RedisMode mode) {
  std::vector<Place> places;
  places.reserve(batch.items.size());
  for (std::uint32_t i = 0; i < batch.items.size(); ++i) {
    const WriteItem& item = batch.items[i];
    // MSET and DEL would be two commands.
    const bool apart = mode == RedisMode::kPlain && item.kind == WriteKind::kDelete;
    places.push_back({SlotOfKey(layout, item.key), apart, i});
  }
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

ClusterWrite::ClusterWrite(const WriteBatch& batch, const Layout& layout, RedisMode mode)
    : fenced_(!batch.scope.empty()) {
  const std::vector<Place> places = SortBySlot(batch, layout, mode);
  for (auto first = places.begin(); first != places.end();) {
    const auto last = std::find_if(first, places.end(), [first](const Place& place) {
      return place.slot != first->slot || place.apart != first->apart;
    });
    std::vector<std::uint32_t>& items = items_.emplace_back();
    for (auto place = first; place != last; ++place) items.push_back(place->item);
    Request& request = requests_.emplace_back(Request{.slot = first->slot});
    const std::string fence =
        batch.scope.empty() ? std::string() : FenceKeyIn(first->slot, layout, batch.scope);
    layout.AppendWrite(batch, items, fence, &request.command);
    first = last;
  }
}

std::optional<WriteResult> ClusterWrite::Decode(const Layout& layout, std::size_t request) const {
  return layout.DecodeWrite({&requests_[request].reply, 1}, items_[request], fenced_);
}

bool ClusterWrite::IsAnswer(const Layout& layout, const Request& request) const {
  return Decode(layout, static_cast<std::size_t>(&request - requests_.data())).has_value();
}

WriteResult ClusterWrite::Result(const Layout& layout) const {
  std::vector<WriteResult> parts;
  for (std::size_t r = 0; r < requests_.size(); ++r) {
    const Errc errc = requests_[r].errc;
    // kOk: the reply is an error, or IsAnswer() has accepted it.
    parts.push_back(errc == Errc::kOk ? *Decode(layout, r) : WriteResult{errc, {}});
  }
  return CombineParts(parts, items_);
}

}  // namespace stout::redis
