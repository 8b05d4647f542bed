#include "node/member_plans.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "stout/adapters/range_source.h"
#include "stout/core/range_actions.h"

namespace stout::node {
namespace {

// A datalet that a plan may use, and the ranges that it would give.
struct Choice {
  std::int64_t preference = 0;
  std::map<RangeId, RangeRecord::Member> ranges{};

  [[nodiscard]] auto rank() const { return std::tuple(preference, ranges.size()); }
};

}  // namespace

std::optional<MemberPlan> MemberPlans::Make(const RegistryTable& records, RangeId first,
                                            RangeId end, const Preference& preference) const {
  std::map<std::string, Choice> choices;
  std::set<RangeId> left;
  for (RangeId range = first; range < end; ++range) {
    left.insert(range);
    const auto set = records.sets.find(range);
    if (set == records.sets.end()) return std::nullopt;
    for (const RangeRecord::Member& member : set->second.value.members) {
      if (member.in) choices[member.datalet].ranges[range] = member;
    }
  }
  for (auto& [datalet, choice] : choices) {
    Store* const store = store_of_(datalet);
    const auto preferred = store == nullptr ? std::nullopt : preference(datalet, *store);
    if (!preferred) choice.ranges.clear();
    choice.preference = preferred.value_or(0);
  }
  MemberPlan plan;
  while (!left.empty()) {
    std::erase_if(choices, [](const auto& each) { return each.second.ranges.empty(); });
    const auto best = std::max_element(
        choices.begin(), choices.end(),
        [](const auto& one, const auto& other) { return one.second.rank() < other.second.rank(); });
    if (best == choices.end()) return std::nullopt;
    plan.push_back({.datalet = best->first, .ranges = std::move(best->second.ranges)});
    choices.erase(best);
    for (const auto& range : plan.back().ranges) {
      left.erase(range.first);
      for (auto& choice : choices) choice.second.ranges.erase(range.first);
    }
  }
  return plan;
}

bool MemberPlans::Takes(const MemberPart& part, KeyView key) const {
  return !key.starts_with(internal::kInternalKeys) && part.ranges.contains(partition.RangeOf(key));
}

void MemberPlans::ObserveAll(const std::vector<ScannedKey>& keys) {
  if (!observe_) return;
  WhileOpen([&] {
    const auto table = records_();
    if (table == nullptr) return;
    for (const ScannedKey& each : keys) {
      const auto set = table->sets.find(partition.RangeOf(each.key));
      if (set == table->sets.end()) continue;
      const Epoch shared = set->second.value.shared;
      if (shared != 0 && each.state.stamp.epoch == shared) observe_(each.state.stamp.version);
    }
  });
}

std::uint64_t MemberPlans::Remember(MemberPlan plan) {
  const std::lock_guard lock(mutex_);
  if (plans_.empty() || *plans_.back().second != plan) {
    plans_.emplace_back(++last_, std::make_shared<const MemberPlan>(std::move(plan)));
    if (plans_.size() > kMaxPlans) plans_.pop_front();
  }
  return plans_.back().first;
}

std::shared_ptr<const MemberPlan> MemberPlans::Find(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& each) { return each.first == number; });
  return found == plans_.end() ? nullptr : found->second;
}

bool MemberPlans::StillIn(const MemberPart& part) const {
  const auto table = records_();
  if (table == nullptr) return false;
  return std::ranges::all_of(part.ranges, [&](const auto& range) {
    const auto set = table->sets.find(range.first);
    if (set == table->sets.end()) return false;
    const auto& members = set->second.value.members;
    return std::find(members.begin(), members.end(), range.second) != members.end();
  });
}

// The read of the keys that show that a store has the data of ranges.
struct MemberPlans::Proof {
  std::shared_ptr<MemberPlans> plans;
  MemberPart part;
  std::string incarnation;
  UniqueFunction<void(Errc)> handler;
  ReadBatch batch{.id = 1, .lane = 0, .keys = {}};

  void OnRead(const ReadResult& identities) {
    const auto shows = [this](const StoredState& identity, const auto& range) {
      const RangeRecord::Member& member = range.second;
      return identity.found && member.IsShownBy(identity.value) && !member.IsRestarted(incarnation);
    };
    const bool shown = identities.errc == Errc::kOk &&
                       std::equal(identities.states.begin(), identities.states.end(),
                                  part.ranges.begin(), part.ranges.end(), shows);
    bool in = false;
    plans->WhileOpen([&] { in = plans->StillIn(part); });
    handler(shown && in ? Errc::kOk : Errc::kTransient);
  }
};

void MemberPlans::Prove(std::shared_ptr<MemberPlans> plans, const MemberPart& part, Store& store,
                        std::string incarnation, UniqueFunction<void(Errc)> handler) {
  auto proof = std::make_shared<Proof>(
      Proof{std::move(plans), part, std::move(incarnation), std::move(handler)});
  for (const auto& range : part.ranges) {
    proof->batch.keys.push_back(
        internal::IdentityKeyOf(ScopeOf(proof->plans->scope_, range.first)));
  }
  const bool open = proof->plans->WhileOpen(
      [&] { store.Read(proof->batch, [proof](const ReadResult& read) { proof->OnRead(read); }); });
  if (!open) proof->handler(Errc::kClosed);
}

}  // namespace stout::node
