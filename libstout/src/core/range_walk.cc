#include "stout/core/range_walk.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <utility>

namespace stout::internal {
namespace {

// A pause has a limit, because a call seems to take long if the process is stopped meanwhile.
constexpr Duration kLongestRest = std::chrono::seconds(2);

// Returns true if a repeated call would fail in the same way.
bool IsFinal(Errc errc) {
  return errc == Errc::kRefused || errc == Errc::kTooLarge || errc == Errc::kCorrupt;
}

std::size_t BytesOf(const ScannedKey& scanned) {
  return scanned.key.size() + scanned.state.value.size();
}

// Returns true if a target's state is a copy that a later owner made of the source's. They differ
// only if the range has gone back to older data since.
bool IsCopy(const StoredState& known, const StoredState& state) {
  return known.stamp.version == 0 && state.stamp != Stamp{} &&
         state.stamp.epoch < known.stamp.epoch && state.found == known.found;
}

}  // namespace

void RangeWalk::Fill(FillOrder order, TimePoint now) {
  target_ = order.target;
  since_ = order.since;
  newer_wins_until_ = order.newer_wins_until;
  skips_refused_ = order.skips_refused;
  last_ = std::move(order.last);
  Begin({{order.source, Role::kSource}, {order.target, Role::kTarget}}, now);
}

void RangeWalk::Sweep(std::size_t failed, TimePoint rests_until, TimePoint now) {
  rests_until_ = rests_until;
  std::vector<Pass> passes;
  ForEachMember(set_.readers(), [&](MemberIndex m) { passes.push_back({m, Role::kSwept}); });
  const auto shift = static_cast<std::ptrdiff_t>(failed % passes.size());
  std::rotate(passes.begin(), passes.begin() + shift, passes.end());
  Begin(std::move(passes), now);
}

void RangeWalk::Merge(MemberMask members, const Stamp& newer_than, TimePoint now) {
  newer_than_ = newer_than;
  target_is_new_ = false;
  skips_refused_ = true;
  std::vector<Pass> passes;
  ForEachMember(members, [&](MemberIndex source) {
    ForEachMember(members & ~MaskOf(source), [&](MemberIndex target) {
      passes.push_back({source, Role::kMerged, target});
    });
  });
  Begin(std::move(passes), now);
}

void RangeWalk::Begin(std::vector<Pass> passes, TimePoint now) {
  passes_ = std::move(passes);
  StartPass(now);
}

void RangeWalk::StartPass(TimePoint now) {
  found_.clear();
  found_bytes_ = 0;
  found_any_ = false;
  if (merges()) target_ = passes_.back().target;
  cursor_.emplace();
  SendScan(now);
}

range::Attempt RangeWalk::Call(MemberIndex member, TimePoint now) {
  due_ = kNever;
  if (awaited_ != member) awaited_since_ = now;
  awaited_ = member;
  return attempt_ = ++last_attempt_;
}

void RangeWalk::SendScan(TimePoint now) {
  const MemberIndex member = passes_.back().member;
  scan_began_ = now;
  actions_.push_back(
      range::Scan{Call(member, now), member, {*cursor_, options_.scan_keys, copies_scanned()}});
}

// Ends the call under way after its answer. If the call failed, `step` repeats it later.
bool RangeWalk::Succeeded(Errc errc, Step step, TimePoint now) {
  attempt_ = 0;
  if (errc == Errc::kOk) {
    awaited_.reset();
    failed_calls_ = 0;
    return true;
  }
  if (IsFinal(errc) && ++failed_calls_ >= options_.final_tries) Fail(*awaited_, "", errc);
  retry_ = step;
  due_ = SaturatingAdd(now, options_.retry);
  return false;
}

void RangeWalk::OnScanned(range::Attempt attempt, const ScanResult& result, TimePoint now) {
  if (attempt != attempt_) return;
  if (!Succeeded(result.errc, &RangeWalk::SendScan, now)) return;
  for (const ScannedKey& scanned : result.keys) {
    if (scanned.key.starts_with(kInternalKeys)) continue;
    newest_ = std::max(newest_, scanned.state.stamp);
    if (merges() && scanned.state.stamp <= newer_than_) continue;
    if (!fills() && set_.IsSettled(scanned.state.stamp)) continue;
    if (at_target()) target_is_new_ &= scanned.state.stamp > Stamp{set_.epoch(), since_};
    found_any_ = true;
    found_.push_back(scanned);
    found_bytes_ += BytesOf(scanned);
  }
  cursor_ = result.cursor;
  if (cursor_->empty()) cursor_.reset();
  const bool rests = cursor_ && now < rests_until_;
  const Duration pause = rests ? options_.scan_rest * (now - scan_began_) : Duration::zero();
  Rest(pause, &RangeWalk::NextPage, now);
}

void RangeWalk::Rest(Duration pause, Step next, TimePoint now) {
  if (pause <= Duration::zero()) return (this->*next)(now);
  retry_ = next;
  due_ = SaturatingAdd(now, std::min(pause, kLongestRest));
}

// Chooses the keys that must be settled, once enough are found.
void RangeWalk::NextPage(TimePoint now) {
  const std::size_t keys = copies_scanned() ? options_.copy_keys : options_.page_keys;
  const bool enough = found_.size() >= keys || found_bytes_ >= options_.copy_bytes || !cursor_;
  if (!enough) return SendScan(now);
  page_.clear();
  compared_ = false;
  while (!found_.empty() && page_.size() < options_.page_keys) {
    ScannedKey& scanned = found_.front();
    found_bytes_ -= BytesOf(scanned);
    if (CopiesAtOnce(scanned.state)) {
      AddCopy(std::move(scanned.key), std::move(scanned.state));
    } else {  // a new target has nothing
      page_.push_back(
          {std::move(scanned.key), copies_scanned() ? StoredState{} : std::move(scanned.state)});
    }
    found_.pop_front();
  }
  const bool compares = fills() && !copies_scanned();
  if (compares && !page_.empty()) return SendRead(now);
  StartSettling(now);
}

// Returns true if the scanned state can be copied, because a strong read would return the same
// state. If the key has changed since the scan, the target also gets that newer change.
bool RangeWalk::CopiesAtOnce(const StoredState& state) const {
  return copies_scanned() && state.errc == Errc::kOk && set_.IsSettled(state.stamp);
}

// Reads the stamps of the other member first. Then it reads the values of the keys that differ:
// from the target in a fill, from the scanned member in a merge.
void RangeWalk::SendRead(TimePoint now) {
  MemberIndex member = target_;
  if (merges() && compared_) member = passes_.back().member;
  if (at_target() && !compared_) member = passes_.front().member;
  range::Read read{Call(member, now), member, {}, compared_};
  for (const Item& item : page_) read.keys.push_back(item.key);
  actions_.push_back(std::move(read));
}

void RangeWalk::OnRead(range::Attempt attempt, const ReadResult& result, TimePoint now) {
  if (attempt != attempt_) return;
  const bool complete = result.states.size() == page_.size();
  const Errc errc = complete || result.errc != Errc::kOk ? result.errc : Errc::kTransient;
  if (!Succeeded(errc, &RangeWalk::SendRead, now)) return;
  if (std::exchange(compared_, true)) return OnValues(result, now);
  std::vector<Item> differing;
  for (std::size_t i = 0; i < page_.size(); ++i) {
    if (Differs(page_[i].known, result.states[i], now)) differing.push_back(std::move(page_[i]));
  }
  page_ = std::move(differing);
  if (page_.empty() || (at_target() && now >= newer_wins_until_)) return StartSettling(now);
  SendRead(now);
}

// `known`: of the member that is scanned. `other`: of the one that it is compared with. Values of
// copies are compared in the pass over the source.
bool RangeWalk::Differs(const StoredState& known, const StoredState& other, TimePoint now) const {
  const bool copied = at_target() && now >= newer_wins_until_ && IsCopy(known, other);
  if (!merges()) return !(other.stamp == known.stamp || copied) || !set_.IsSettled(other.stamp);
  const bool forgotten = !known.found && other.stamp == Stamp{};
  return other.stamp < known.stamp && !forgotten;
}

void RangeWalk::OnValues(const ReadResult& result, TimePoint now) {
  for (std::size_t i = 0; i < page_.size(); ++i) {
    const StoredState& state = result.states[i];
    if (!merges()) {
      page_[i].known = state;
    } else if (state.errc != Errc::kOk) {
      actions_.push_back(range::Unfillable{passes_.back().member, page_[i].key, state.errc});
    } else if (state.stamp != Stamp{}) {
      AddCopy(std::move(page_[i].key), state);
    }
  }
  if (merges()) page_.clear();
  StartSettling(now);
}

void RangeWalk::StartSettling(TimePoint now) {
  unsettled_.resize(page_.size());
  std::iota(unsettled_.begin(), unsettled_.end(), std::size_t{0});
  failed_tries_ = 0;
  SettleSlice(now);
}

// Settles the next keys of the page. Keys for which this failed come last.
void RangeWalk::SettleSlice(TimePoint) {
  due_ = kNever;
  slice_bytes_ = 0;
  slice_failed_ = false;
  const std::size_t keys = std::min(slice_keys_, unsettled_.size());
  const auto end = unsettled_.begin() + static_cast<std::ptrdiff_t>(keys);
  for (auto index = unsettled_.begin(); index != end; ++index) {
    const FetchId id = ++last_attempt_ | kKeepersOwn;
    settling_[id] = *index;
    actions_.push_back(range::Settle{id, page_[*index].key});
  }
  unsettled_.erase(unsettled_.begin(), end);
  if (!settling_.empty()) return;
  retry_ = &RangeWalk::NextStep;
  due_ = TimePoint::min();
}

void RangeWalk::OnSettled(FetchId id, Errc errc, bool again, const StoredState& state,
                          TimePoint now) {
  const auto found = settling_.find(id);
  if (found == settling_.end()) return;
  const std::size_t index = found->second;
  settling_.erase(found);
  slice_bytes_ += state.value.size();
  if (errc != Errc::kOk) {
    TryAgain(index, errc);
  } else if (!again && fills()) {
    Judge(index, state, now);
  }
  EndSettling(now);
}

void RangeWalk::OnChanged(range::Attempt attempt, Errc errc, TimePoint now) {
  const auto found = changing_.find(attempt);
  if (found == changing_.end()) return;
  // The key may change until it is tried again, so it is read again as well.
  if (errc != Errc::kOk) TryAgain(found->second, errc);
  changing_.erase(found);
  EndSettling(now);
}

// Tries the key several times, because another member may be able to read it.
void RangeWalk::TryAgain(std::size_t index, Errc errc) {
  unsettled_.push_back(index);
  slice_failed_ = true;
  if (IsFinal(errc) && failed_tries_ + 1 >= options_.final_tries) {
    Fail(fills() ? target_ : passes_.back().member, page_[index].key, errc);
  }
}

void RangeWalk::Fail(MemberIndex member, const std::string& key, Errc errc) {
  result_ = Result::kFailed;
  failure_ = {member, key, errc};
}

void RangeWalk::EndSettling(TimePoint now) {
  if (!settling_.empty() || !changing_.empty()) return;
  if (slice_bytes_ > options_.copy_bytes) {
    slice_keys_ = std::max<std::size_t>(1, slice_keys_ / 2);
  } else if (slice_bytes_ < options_.copy_bytes / 2) {
    slice_keys_ = std::min(2 * slice_keys_, kMaxSlice);
  }
  if (!slice_failed_) return NextStep(now);
  ++failed_tries_;
  retry_ = &RangeWalk::NextStep;
  due_ = SaturatingAdd(now, options_.retry);
}

void RangeWalk::Judge(std::size_t index, const StoredState& state, TimePoint now) {
  const Item& item = page_[index];
  const Stamp stamp = state.stamp;
  const Stamp known = item.known.stamp;
  if (stamp == known) return;
  // The values of the target are known in the pass over the source.
  const bool same = at_target() || item.known.value == state.value;
  if (now < newer_wins_until_ && at_target() && known > stamp) {
    Change(index, item.known);
  } else if (IsCopy(item.known, state) && same) {
    return;
  } else if (stamp == Stamp{} && !state.found) {
    if (item.known.found) Change(index, {});
  } else if (known.epoch == set_.epoch() && known > stamp) {
    Change(index, state);  // a copy would lose
  } else {
    AddCopy(item.key, state);
  }
}

void RangeWalk::AddCopy(std::string key, StoredState state) {
  copies_.Add({.key = std::move(key),
               .value = std::move(state.value),
               .kind = state.found ? WriteKind::kPut : WriteKind::kDelete,
               .version = state.stamp.epoch == set_.epoch() ? state.stamp.version : 0});
}

void RangeWalk::Change(std::size_t index, StoredState state) {
  changing_[++last_attempt_] = index;
  actions_.push_back(range::Change{last_attempt_, page_[index].key, std::move(state)});
}

// A member without anything to merge has nothing for its other targets either.
void RangeWalk::EndPass() {
  if (passes_.empty()) return;
  const Pass ended = passes_.back();
  passes_.pop_back();
  const auto is_next = [&](const Pass& pass) {
    return pass.role == Role::kMerged && pass.member == ended.member;
  };
  while (!found_any_ && !passes_.empty() && is_next(passes_.back())) passes_.pop_back();
}

// Continues after a settled slice: with a copy, the next slice, the next page, or the next pass.
void RangeWalk::NextStep(TimePoint now) {
  due_ = kNever;
  if (result_ != Result::kRuns) return;
  const bool copies =
      unsettled_.empty() ? !copies_.empty() : copies_.bytes() >= options_.copy_bytes;
  if (copies) return SendCopy(now);
  if (!unsettled_.empty()) return SettleSlice(now);
  if (cursor_ || !found_.empty()) return NextPage(now);
  EndPass();
  if (!passes_.empty()) return StartPass(now);
  if (last_) {
    copies_.Add(*std::exchange(last_, std::nullopt));
    return SendCopy(now);
  }
  result_ = Result::kDone;
}

void RangeWalk::SendCopy(TimePoint now) {
  copy_began_ = now;
  actions_.push_back(range::Copy{Call(target_, now), target_,
                                 copies_.Begin(options_.page_keys, options_.copy_bytes)});
}

void RangeWalk::OnCopied(range::Attempt attempt, Errc errc, TimePoint now) {
  if (attempt != attempt_) return;
  if (errc == Errc::kFenced) {
    result_ = Result::kFailed;
    return;
  }
  if (IsFinal(errc) && copies_.Halve()) {
    awaited_.reset();  // the member has answered
    return SendCopy(now);
  }
  if (IsFinal(errc)) {
    if (!skips_refused_) return Fail(target_, copies_.first_key(), errc);
    actions_.push_back(range::Unfillable{target_, copies_.first_key(), errc});
    errc = Errc::kOk;
  }
  if (!Succeeded(errc, &RangeWalk::SendCopy, now)) return;
  copies_.End();
  Rest(options_.rest * (now - copy_began_), &RangeWalk::NextStep, now);
}

void RangeWalk::OnMembersChanged(TimePoint now) {
  if (passes_.empty() || merges() || result_ != Result::kRuns) return;
  const Pass scanned = passes_.back();
  const auto gone = [&](const Pass& pass) {
    return pass.role != Role::kTarget && (set_.readers() & MaskOf(pass.member)) == 0;
  };
  if (fills()) {
    if (gone(passes_.front())) result_ = Result::kFailed;
    return;
  }
  std::erase_if(passes_, gone);
  if (passes_.empty()) {
    result_ = Result::kDone;
  } else if (gone(scanned)) {  // continue with the next member
    unsettled_.clear();
    settling_.clear();
    StartPass(now);
  }
}

void RangeWalk::Tick(TimePoint now) {
  if (now < due_ || result_ != Result::kRuns) return;
  due_ = kNever;
  (this->*retry_)(now);
}

}  // namespace stout::internal
