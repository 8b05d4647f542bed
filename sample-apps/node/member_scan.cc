#include "node/member_scan.h"

#include <fmt/format.h>

#include <algorithm>
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

#include "stout/adapters/range_source.h"
#include "stout/core/range_actions.h"

namespace stout::node {
namespace {

// The ranges that a scan takes from one datalet.
struct Part {
  std::string datalet;
  std::map<RangeId, RangeRecord::Member> ranges;  // with the datalet as a member that is in

  bool operator==(const Part&) const = default;
};

using Plan = std::vector<Part>;

bool Holds(const Part& part, const RegistryTable& records) {
  return std::all_of(part.ranges.begin(), part.ranges.end(), [&](const auto& range) {
    const auto set = records.sets.find(range.first);
    if (set == records.sets.end()) return false;
    const auto& members = set->second.value.members;
    return std::find(members.begin(), members.end(), range.second) != members.end();
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
  Plans(Partition partition, Scope scope, Records records, MemberScan::StoreOf store_of, Self self)
      : partition(std::move(partition)),
        scope_(std::move(scope)),
        records_(std::move(records)),
        store_of_(std::move(store_of)),
        self_(std::move(self)) {}

  const Partition partition;

  // Runs `use()` unless what the functions refer to may be gone. Returns whether it did.
  template <typename Use>
  bool WhileOpen(Use use) {
    const std::lock_guard lock(open_mutex_);
    if (open_) use();
    return open_;
  }
  void Close() {
    const std::lock_guard lock(open_mutex_);
    open_ = false;
  }

  [[nodiscard]] Store* StoreOf(const Part& part) const { return store_of_(part.datalet); }
  // Returns true if the datalet of the part is in for all its ranges since the plan was made.
  [[nodiscard]] bool StillIn(const Part& part) const {
    const auto table = records_();
    return table != nullptr && Holds(part, *table);
  }
  // The keys that show that the store has the data of the part's ranges.
  [[nodiscard]] std::vector<std::string> ProofsOf(const Part& part) const {
    std::vector<std::string> keys;
    keys.reserve(part.ranges.size());
    for (const auto& [range, member] : part.ranges) {
      keys.push_back(internal::IdentityKeyOf(ScopeOf(scope_, range)));
    }
    return keys;
  }

  // Returns nullopt if a range has no member that is in and can be called.
  [[nodiscard]] std::optional<Plan> Make() const {
    const auto table = records_();
    if (!table) return std::nullopt;
    Plan plan;
    std::map<std::string, Part> choices;
    std::set<RangeId> left;
    for (RangeId range = 0; range < partition.ranges; ++range) {
      left.insert(range);
      const auto set = table->sets.find(range);
      if (set == table->sets.end()) return std::nullopt;
      for (const RangeRecord::Member& member : set->second.value.members) {
        if (member.in) choices[member.datalet].ranges[range] = member;
      }
    }
    std::erase_if(choices, [&](const auto& each) { return store_of_(each.first) == nullptr; });
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
  const Scope scope_;
  const Records records_;
  const MemberScan::StoreOf store_of_;
  const Self self_;
  std::recursive_mutex open_mutex_;  // a store may answer at once
  bool open_ = true;
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<const Plan>>> plans_;
};

MemberScan::MemberScan(Partition partition, Scope scope, Records records, StoreOf store_of,
                       Self self)
    : traits_{.name = "members",
              .compares_stamps = true,
              .fences = true,
              .durable = true,
              .scans = true},
      plans_(std::make_shared<Plans>(std::move(partition), std::move(scope), std::move(records),
                                     std::move(store_of), std::move(self))) {}

std::unique_ptr<MemberScan> MakeScan(const Config& config, const Cluster& cluster) {
  return std::make_unique<MemberScan>(
      config.partition(), config.scope,
      [&cluster] { return cluster.server.joined() ? cluster.members->records() : nullptr; },
      [&cluster](const std::string& id) { return cluster.members->StoreOf(id); },
      [&cluster] { return cluster.self; });
}

MemberScan::~MemberScan() { Close(); }

void MemberScan::Close() { plans_->Close(); }

// One page on its way, from one datalet.
struct MemberScan::Page {
  std::shared_ptr<Plans> plans;
  std::shared_ptr<const Plan> plan;
  Place place;
  ScanHandler handler;
  Store* store = nullptr;
  std::string incarnation;  // of the store, which may be gone when it answers
  ScanResult result{};
  ReadBatch proofs{};

  [[nodiscard]] const Part& part() const { return (*plan)[place.part]; }
  void Fail(Errc errc) { handler({errc == Errc::kLost ? Errc::kTransient : errc, {}, {}}); }

  // The store may have lost its data before its owners notice: it must have the proofs still.
  static void OnScanned(std::shared_ptr<Page> page, ScanResult result) {
    if (result.errc != Errc::kOk) return page->Fail(result.errc);
    page->result = std::move(result);
    page->proofs = {.id = 1, .lane = 0, .keys = page->plans->ProofsOf(page->part())};
    const bool open = page->plans->WhileOpen([&page] {
      page->store->Read(page->proofs, [page](const ReadResult& proofs) { page->OnProved(proofs); });
    });
    if (!open) page->Fail(Errc::kClosed);
  }

  void OnProved(const ReadResult& proofs) {
    const auto proves = [this](const StoredState& identity, const auto& range) {
      const RangeRecord::Member& member = range.second;
      return identity.found && member.IsShownBy(identity.value) && !member.IsRestarted(incarnation);
    };
    const bool proved =
        proofs.errc == Errc::kOk && std::equal(proofs.states.begin(), proofs.states.end(),
                                               part().ranges.begin(), part().ranges.end(), proves);
    bool in = false;
    plans->WhileOpen([&] { in = plans->StillIn(part()); });
    if (!proved || !in) return Fail(Errc::kTransient);
    KeepPart(part(), plans->partition, result.keys);
    place.cursor = std::move(result.cursor);
    if (place.cursor.empty()) ++place.part;
    result.cursor = place.part < plan->size() ? Encode(place) : "";
    handler(std::move(result));
  }
};

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
  Store* const store = plans_->StoreOf((*plan)[place->part]);
  if (store == nullptr) return handler({Errc::kTransient, {}, {}});
  ScanRequest inner = request;
  inner.cursor = place->cursor;
  auto page = std::make_shared<Page>(Page{plans_, plan, *std::move(place), std::move(handler),
                                          store, store->traits().incarnation});
  store->Scan(inner, [page = std::move(page)](ScanResult result) mutable {
    Page::OnScanned(std::move(page), std::move(result));
  });
}

}  // namespace stout::node
