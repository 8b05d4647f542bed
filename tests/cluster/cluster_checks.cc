// What a ClusterWorld checks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/cluster/cluster_world.h"

namespace stout::sim {
namespace {

using namespace std::chrono_literals;
using Kind = test::Operation::Kind;
using Outcome = test::Operation::Outcome;

}  // namespace

/// The members that are in, without those that came back with less, which the owner will notice.
std::vector<std::size_t> ClusterWorld::In() const {
  std::vector<std::size_t> in;
  for (const RangeRecord::Member& member : registry_.record().members) {
    const std::size_t datalet = DataletOf(member.datalet);
    if (member.in && datalets_[datalet].Has(member)) in.push_back(datalet);
  }
  return in;
}

void ClusterWorld::OnRecord(const RangeRecord& before) {
  const RangeRecord& record = registry_.record();
  ++counts_.changes;
  counts_.shared += record.shared != 0 && before.shared == 0 ? 1 : 0;
  counts_.merges += record.shared != 0 && record.merged > before.merged ? 1 : 0;
  counts_.sweeps += record.swept > before.swept ? 1 : 0;
  std::string in;
  bool left = false;
  for (MemberIndex d = 0; d < options_.datalets; ++d) {
    const auto find = [name = DataletName(d)](const RangeRecord& in_record) {
      const auto& members = in_record.members;
      const auto found = std::find_if(members.begin(), members.end(),
                                      [&](const auto& member) { return member.datalet == name; });
      return found == members.end() ? nullptr : &*found;
    };
    const RangeRecord::Member* const old = find(before);
    const RangeRecord::Member* const present = find(record);
    const bool was_in = old != nullptr && old->in;
    const bool is_in = present != nullptr && present->in;
    in += is_in ? '1' : '0';
    counts_.joins += old == nullptr && is_in ? 1 : 0;
    counts_.fills += !was_in && is_in ? 1 : 0;
    counts_.drops += was_in && !is_in ? 1 : 0;
    left |= was_in && !is_in;
    if (is_in) apart_.erase(d);
    if (was_in && !is_in && IsAwaited(d, *old)) apart_.insert(d);
  }
  last_shared_ = std::max(last_shared_, record.shared);
  if (record.swept >= last_shared_) apart_.clear();
  trace_.Add(now(), "record", registry_.revision(), record.swept, record.strong, in);
  if (In().empty()) return verdict_.Fail("no member with all data is in");
  if (before.strong && !record.strong) {
    strong_.back().until = now();
    acked_.clear();
  } else if (!before.strong && record.strong) {
    BeginStrong();
  }
  for (const auto& [key, stamp] : acked_) CheckAcked(key, stamp, "when the members change");
  if (!left && !Forgets()) CheckOwed();
  owed_.clear();
  for (const std::size_t write : all_acked_) {
    if (IsKept(write)) owed_.insert(write);
  }
}

void ClusterWorld::BeginStrong() {
  Strong& strong = strong_.emplace_back();
  strong.from = now();
  for (std::uint32_t k = 0; k < options_.keys; ++k) {
    const std::string key = fmt::format("k{}", k);
    std::optional<StoredState> oldest;  // a newer one belongs to a request under way
    for (const std::size_t m : In()) {
      const StoredState state = datalets_[m].state(key);
      if (!oldest || state.stamp < oldest->stamp) oldest = state;
    }
    if (oldest && oldest->found) strong.states[key] = oldest->value;
  }
}

/// The state is older than the write: by their stamps, which order the changes of a key. If one
/// owner at a time changes the range, a change that ended before the write began is older as well.
/// Nothing may be left of a delete.
bool ClusterWorld::IsOlder(const StoredState& state, std::size_t write) const {
  const Stamp stamp = changed_.at(write);
  if (!state.found) {
    const auto erased = erased_.find(history_[write].key);
    return erased == erased_.end() || erased->second < stamp;
  }
  const std::size_t other = writer_.at(state.value);
  if (changed_.at(other) < stamp) return true;
  const test::Operation& earlier = history_[other];
  return !options_.shared && earlier.outcome == Outcome::kOk &&
         earlier.return_ns < history_[write].call_ns;
}

/// The datalet leaves before the states of a range that was shared are at all members. So it may be
/// the only one that has an acknowledged write. No store forgets a delete before it is back.
bool ClusterWorld::IsAwaited(std::size_t datalet, const RangeRecord::Member& member) const {
  const RangeRecord& record = registry_.record();
  return record.shared == 0 && record.swept < last_shared_ && datalets_[datalet].Has(member) &&
         options_.keeper.tombstone_ttl > 1h;
}

bool ClusterWorld::IsKept(std::size_t write) const {
  const auto has = [&](std::size_t m) {
    return !IsOlder(datalets_[m].state(history_[write].key), write);
  };
  return std::ranges::any_of(In(), has) || std::ranges::any_of(apart_, has);
}

void ClusterWorld::CheckOwed() {
  if (verdict_.failed()) return;
  for (const std::size_t write : owed_) {
    if (IsKept(write)) continue;
    verdict_.Fail(fmt::format("the acknowledged write {} is lost to an older one", write));
  }
}

/// A tombstone of this epoch may have been there. The member has nothing, or an older tombstone.
bool ClusterWorld::IsForgotten(const std::string& key, std::size_t member, Stamp stamp) const {
  if (options_.erases == 0) return false;
  if (stamp.epoch > registry_.record().swept && !options_.shared) return false;
  const StoredState state = datalets_[member].state(key);
  if (state.stamp == Stamp{}) return true;
  const auto erased = erased_.find(key);
  return !state.found && erased != erased_.end() && erased->second >= stamp;
}

void ClusterWorld::CheckAcked(const std::string& key, Stamp stamp, const char* when) {
  for (const std::size_t m : In()) {
    const Stamp has = datalets_[m].state(key).stamp;
    if (has >= stamp) continue;
    if (IsForgotten(key, m, stamp)) continue;
    verdict_.Fail(fmt::format(
        "datalet {} is in and lacks an acknowledged write of {} {}: ({},{}), has ({},{})", m, key,
        when, stamp.epoch, stamp.version, has.epoch, has.version));
  }
}

void ClusterWorld::OnMark(const Mark& mark) {
  trace_.Add(now(), "mark", mark.epoch, mark.version);
  for (const auto& [key, epochs] : changes_) {
    const auto versions = epochs.find(mark.epoch);
    if (versions == epochs.end()) continue;
    Version newest = 0;
    for (const Version version : versions->second) {
      if (version <= mark.version) newest = std::max(newest, version);
    }
    if (newest == 0) continue;
    for (const std::size_t m : In()) {
      const Stamp has = datalets_[m].state(key).stamp;
      const Stamp covered{mark.epoch, newest};
      if (has >= covered || IsForgotten(key, m, covered)) continue;
      verdict_.Fail(fmt::format("the mark ({},{}) covers a version of {} that datalet {} lacks",
                                mark.epoch, mark.version, key, m));
    }
  }
}

void ClusterWorld::CheckHistory() {
  for (const Strong& strong : strong_) {
    if (!verdict_.failed()) CheckHistory(strong);
  }
}

void ClusterWorld::CheckHistory(const Strong& strong) {
  std::vector<test::Operation> history;
  for (const auto& [key, value] : strong.states) {
    history.push_back({.op = Kind::kSet, .key = key, .value = value, .call_ns = -1});
  }
  const std::int64_t from = Nanoseconds(strong.from);
  const std::int64_t until = Nanoseconds(strong.until);
  for (test::Operation operation : history_) {
    if (operation.call_ns >= until) continue;
    if (operation.outcome == Outcome::kOk && operation.return_ns > until) {
      operation.outcome = Outcome::kUnknown;
    }
    const bool before = operation.outcome == Outcome::kOk && operation.return_ns < from;
    if (before || (operation.op == Kind::kGet && operation.call_ns < from)) continue;
    history.push_back(std::move(operation));
  }
  const test::Judgement judgement = test::JudgeHistory(history, 200'000);
  if (judgement.verdict == test::Judgement::Verdict::kUndecided) ++counts_.undecided;
  if (judgement.verdict != test::Judgement::Verdict::kViolated) return;
  verdict_.Fail(fmt::format("{}: {}", judgement.key, judgement.reason));
}

}  // namespace stout::sim
