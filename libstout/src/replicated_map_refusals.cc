// Changes of a ReplicatedMap that a store refuses.
#include <string>
#include <tuple>
#include <utility>

#include "replicated_map_state.h"

namespace stout::inline v1 {
using namespace internal;

// A store will never take this state, but other members may have it. A lazy member goes on without
// the state. A member that refuses even what is put back leaves.
void ReplicatedMap::State::OnRefused(MemberIndex m, KeyView key) {
  const MemberMask bit = MaskOf(m);
  if ((set_.lazy() & bit) != 0) return;
  if (interposer(m).IsDirty(key)) return;  // a newer change may succeed
  const auto [found, is_new] = refusals_.try_emplace(std::string(key));
  if (is_new) found->second.serial = ++last_id_;
  found->second.refused |= bit;
  if (found->second.restores) {
    refused_ |= bit;
    SchedulePump();
  } else {
    reads_.OnMarked(key);
  }
  JudgeRefusal(key);
}

// Decides about a refused change once no member will take it any more. In mode ec the answer may
// have left with the first member that took it, so the others leave at once. Otherwise the members
// are compared, because a store may have taken an earlier change that another one never got: see
// PutBack. Until the decision Gets of the key wait.
void ReplicatedMap::State::JudgeRefusal(KeyView key) {
  const auto found = refusals_.find(key);
  if (found == refusals_.end()) return;
  Refusal& refusal = found->second;
  const MemberMask getting = set_.writers() & ~set_.lost();
  const MemberMask counted = set_.required() & getting;
  MemberMask dirty = 0;
  ForEachMember(getting & ~set_.lazy(), [&](MemberIndex m) {
    if (members_[m].interposer && interposer(m).IsDirty(key)) dirty |= MaskOf(m);
  });
  const bool taken = (counted & ~refusal.refused & ~dirty) != 0;
  const bool at_once = !set_.strong() && refusal.refused != 0 && !refusal.restores;
  if (taken && at_once) return EndRefusal(found, refusal.refused);
  if (dirty != 0) return AwaitWrites(found->first, refusal, dirty);
  if (refusal.restores) {
    if ((counted & ~refusal.refused) == 0 && !IsDirty(key)) values_.Erase(key);
    return EndRefusal(found, 0);
  }
  if ((counted & refusal.refused) == 0) return EndRefusal(found, refusal.refused);
  if (clock_) {
    // Other nodes may have changed the key at members that this one does not reach. What this store
    // has would win, and nothing has the refused state.
    if (!IsDirty(key)) values_.Erase(key);
    return EndRefusal(found, 0);
  }
  if (refusal.unread != 0) return;
  refusal.unread = counted;
  ForEachMember(counted, [&](MemberIndex m) {
    interposer(m).Fetch(key, [weak = weak_from_this(), m, key = found->first,
                              serial = refusal.serial](ErrorCode ec, StoredState state) {
      if (const auto self = weak.lock()) self->OnOlderRead(m, key, serial, ec, std::move(state));
    });
  });
}

// Judges again once these members' writes of the key have ended.
void ReplicatedMap::State::AwaitWrites(const std::string& key, Refusal& refusal,
                                       MemberMask members) {
  ForEachMember(members & ~refusal.awaited, [&](MemberIndex m) {
    refusal.awaited |= MaskOf(m);
    interposer(m).SafeReply(key,
                            [weak = weak_from_this(), m, key, serial = refusal.serial](ErrorCode) {
                              const auto self = weak.lock();
                              if (!self) return;
                              const auto found = self->refusals_.find(key);
                              if (found == self->refusals_.end() || found->second.serial != serial)
                                return;
                              found->second.awaited &= ~MaskOf(m);
                              self->JudgeRefusal(key);
                            });
  });
}

void ReplicatedMap::State::OnOlderRead(MemberIndex m, const std::string& key, std::uint64_t serial,
                                       ErrorCode ec, StoredState state) {
  const auto found = refusals_.find(key);
  if (found == refusals_.end() || found->second.serial != serial) return;  // changed meanwhile
  Refusal& refusal = found->second;
  refusal.unread &= ~MaskOf(m);
  if (!ec) {
    if (state.stamp == Stamp()) refusal.empty |= MaskOf(m);
    const bool is_first = !refusal.older;
    refusal.differ |= !is_first && std::tie(refusal.older->found, refusal.older->value) !=
                                       std::tie(state.found, state.value);
    const bool oldest = set_.strong() && record().strong;
    const bool is_better = is_first || (state.stamp < refusal.older->stamp) == oldest;
    if (is_better && !refusal.is_known) refusal.older = std::move(state);
  } else if (ec != Errc::kClosed && ec != Errc::kLost) {  // otherwise it leaves anyway
    if (!IsDirty(key)) values_.Erase(key);
    const bool others = (set_.required() & ~refusal.refused) != 0;
    return EndRefusal(found, others ? refusal.refused : MaskOf(m));
  }
  if (refusal.unread == 0) PutBack(found);
}

// If all members that count have the same state, the change is forgotten. Otherwise they get one
// state again: in mode sc the oldest, because no newer one was answered, and in mode ec the newest.
// All get the same stamp, except those that never had the key, which need not take a delete.
void ReplicatedMap::State::PutBack(Refusals::iterator found) {
  const std::string key = found->first;
  Refusal& refusal = found->second;
  const MemberMask uncounted = set_.writers() & ~set_.required() & ~refusal.refused;
  const MemberMask leaving = refusal.differ ? refusal.refused : uncounted;
  MemberMask members = refusal.differ ? set_.writers() : uncounted;
  if (refusal.older && refusal.older->stamp == Stamp()) members &= ~refusal.empty;
  if (!refusal.older || members == 0) {
    if (!IsDirty(key)) values_.Erase(key);
    return EndRefusal(found, 0);
  }
  Refusal restoring{
      .serial = ++last_id_, .older = refusal.older, .is_known = true, .restores = true};
  if (Change(key, ValueOf(*refusal.older), members)) {
    refusals_[key] = std::move(restoring);
    return JudgeRefusal(key);
  }
  if (!IsDirty(key)) values_.Erase(key);
  EndRefusal(found, leaving);
}

// The key has a new change, which may be taken. If it is refused as well, what was being put back
// is put back then: by their stamps nobody can tell any more which state is the older one.
void ReplicatedMap::State::OverrideRefusal(KeyView key) {
  const auto found = refusals_.find(key);
  if (found == refusals_.end()) return;
  Refusal& refusal = found->second;
  if (!refusal.is_known) return EndRefusal(found, 0);
  refusal.serial = ++last_id_;
  refusal.refused = refusal.awaited = refusal.unread = 0;
  refusal.restores = refusal.differ = false;
  auto gets = std::exchange(refusal.gets, {});
  JudgeRefusal(key);
  for (auto& [options, get] : gets) Get(key, options, std::move(get));
}

void ReplicatedMap::State::EndRefusal(Refusals::iterator found, MemberMask leaving) {
  const std::string key = found->first;
  auto gets = std::move(found->second.gets);
  refusals_.erase(found);
  refused_ |= leaving;
  SchedulePump();
  for (auto& [options, get] : gets) Get(key, options, std::move(get));
}

}  // namespace stout::inline v1
