#include "node/member_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "stout/core/range_actions.h"

namespace stout::node {
namespace {

// The ranges that a scan takes from one datalet.
struct Part {
  std::string datalet;
  std::map<RangeId, TimePoint> ranges;  // with the time since which the datalet is in

  bool operator==(const Part&) const = default;
};

using Plan = std::vector<Part>;

// Returns the time since which the datalet is in; nullopt if it is not.
std::optional<TimePoint> InSince(const RegistryTable& records, RangeId range,
                                 const std::string& datalet) {
  const auto set = records.sets.find(range);
  if (set == records.sets.end()) return std::nullopt;
  for (const RangeRecord::Member& member : set->second.value.members) {
    if (member.in && member.datalet == datalet) return member.since;
  }
  return std::nullopt;
}

bool Holds(const Part& part, const RegistryTable& records) {
  return std::all_of(part.ranges.begin(), part.ranges.end(), [&](const auto& range) {
    return InSince(records, range.first, part.datalet) == range.second;
  });
}

// The place of a scan: "PLAN/PART/CURSOR".
struct Place {
  std::uint64_t plan = 0;
  std::size_t part = 0;
  std::string cursor;  // of the datalet
};

std::string Encode(const Place& place) {
  return fmt::format("{}/{}/{}", place.plan, place.part, place.cursor);
}

template <typename Number>
bool TakeNumber(std::string_view& text, Number& number) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, number);
  if (error != std::errc() || end != text.data() + slash) return false;
  text.remove_prefix(slash + 1);
  return true;
}

std::optional<Place> Decode(std::string_view text) {
  Place place;
  if (!TakeNumber(text, place.plan) || !TakeNumber(text, place.part)) return std::nullopt;
  place.cursor = text;
  return place;
}

// Removes the keys that the plan does not take from this datalet.
void KeepPart(const Part& part, const Partition& partition, std::vector<ScannedKey>& keys) {
  std::erase_if(keys, [&](const ScannedKey& key) {
    return key.key.starts_with(internal::kInternalKeys) ||
           !part.ranges.contains(partition.RangeOf(key.key));
  });
}

}  // namespace

class MemberScan::Plans {
 public:
  Plans(Partition partition, Records records, MemberScan::StoreOf store_of, Self self)
      : partition(std::move(partition)),
        records(std::move(records)),
        store_of(std::move(store_of)),
        self_(std::move(self)) {}

  const Partition partition;
  const Records records;
  const MemberScan::StoreOf store_of;
  // What the functions refer to may be gone.
  std::atomic<bool> closed = false;

  // Returns nullopt if a range has no member that is in and can be called.
  [[nodiscard]] std::optional<Plan> Make() const {
    const auto table = records();
    Plan plan;
    std::map<std::string, Part> choices;
    std::set<RangeId> left;
    for (RangeId range = 0; range < partition.ranges; ++range) {
      left.insert(range);
      const auto set = table->sets.find(range);
      if (set == table->sets.end()) return std::nullopt;
      for (const RangeRecord::Member& member : set->second.value.members) {
        if (member.in) choices[member.datalet].ranges[range] = member.since;
      }
    }
    std::erase_if(choices, [&](const auto& each) { return store_of(each.first) == nullptr; });
    const std::string self = self_ ? self_() : "";
    const auto is_own = [&](const std::string& id) {
      const auto found = table->datalets.find(id);
      return !self.empty() && found != table->datalets.end() && found->second.value.node == self;
    };
    while (!left.empty()) {
      const auto best =
          std::max_element(choices.begin(), choices.end(), [&](const auto& one, const auto& other) {
            const bool own = is_own(one.first);
            if (own != is_own(other.first)) return !own;
            return one.second.ranges.size() < other.second.ranges.size();
          });
      if (best == choices.end() || best->second.ranges.empty()) return std::nullopt;
      Part part = std::move(best->second);
      part.datalet = best->first;
      choices.erase(best);
      for (const auto& range : part.ranges) {
        left.erase(range.first);
        for (auto& choice : choices) choice.second.ranges.erase(range.first);
      }
      plan.push_back(std::move(part));
      std::erase_if(choices, [](const auto& each) { return each.second.ranges.empty(); });
    }
    return plan;
  }

  // Returns the number of the plan, which scans with the same plan share.
  [[nodiscard]] std::uint64_t Keep(Plan plan) {
    const std::lock_guard lock(mutex_);
    if (plans_.empty() || *plans_.back().second != plan) {
      plans_.emplace_back(++last_, std::make_shared<const Plan>(std::move(plan)));
      if (plans_.size() > kMostPlans) plans_.pop_front();
    }
    return plans_.back().first;
  }
  [[nodiscard]] std::shared_ptr<const Plan> Find(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const auto& each) { return each.first == number; });
    return found == plans_.end() ? nullptr : found->second;
  }

 private:
  const Self self_;
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<const Plan>>> plans_;
};

MemberScan::MemberScan(Partition partition, Records records, StoreOf store_of, Self self)
    : traits_{.name = "members",
              .compares_stamps = true,
              .fences = true,
              .durable = true,
              .scans = true},
      plans_(std::make_shared<Plans>(std::move(partition), std::move(records), std::move(store_of),
                                     std::move(self))) {}

MemberScan::~MemberScan() { plans_->closed = true; }

void MemberScan::Scan(const ScanRequest& request, ScanHandler handler) {
  std::optional<Place> place;
  if (!request.cursor.empty()) {
    place = Decode(request.cursor);
    if (!place) return handler({Errc::kRefused, {}, {}});
  } else if (auto plan = plans_->Make()) {
    place = Place{.plan = plans_->Keep(std::move(*plan)), .part = 0, .cursor = {}};
  }
  const auto plan = place ? plans_->Find(place->plan) : nullptr;
  if (!plan) return handler({Errc::kTransient, {}, {}});
  if (place->part >= plan->size()) return handler({Errc::kRefused, {}, {}});
  Store* const store = plans_->store_of((*plan)[place->part].datalet);
  if (store == nullptr) return handler({Errc::kTransient, {}, {}});
  ScanRequest inner = request;
  inner.cursor = place->cursor;
  store->Scan(inner, [plans = plans_, plan, place = *std::move(place),
                      handler = std::move(handler)](ScanResult page) mutable {
    if (plans->closed) return handler({Errc::kClosed, {}, {}});
    if (page.errc != Errc::kOk) return handler({page.errc, {}, {}});
    const Part& part = (*plan)[place.part];
    if (!Holds(part, *plans->records())) return handler({Errc::kTransient, {}, {}});
    KeepPart(part, plans->partition, page.keys);
    place.cursor = std::move(page.cursor);
    if (place.cursor.empty()) ++place.part;
    page.cursor = place.part < plan->size() ? Encode(place) : "";
    handler(std::move(page));
  });
}

}  // namespace stout::node
