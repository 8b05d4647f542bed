// Changes of a ReplicatedMap that a store refuses.
#include <string>
#include <tuple>
#include <utility>

#include "replicated_map_state.h"

namespace stout::inline v1 {
using namespace internal;

// A store will never take this state, but other members may have it. A lazy member goes on without
// the state. A member that refuses even what is put back leaves. `doubtful`: an attempt got no
// answer, so the store may still carry it out.
void ReplicatedMap::State::OnRefused(MemberIndex m, KeyView key, bool doubtful) {
  const MemberMask bit = MaskOf(m);
  if ((set_.lazy() & bit) != 0) return;
  // A newer change may succeed. If it is refused as well, the doubt about this one still counts.
  const bool is_old = interposer(m).IsDirty(key);
  if (is_old && !doubtful) return;
  const auto [found, is_new] = refusals_.try_emplace(std::string(key));
  if (is_new) found->second.serial = ++last_id_;
  if (doubtful) found->second.doubtful |= bit;
  if (is_old) return JudgeRefusal(key);
  members_[m].next_refused |= !members_[m].next_barrier.empty();
  found->second.refused |= bit;
  if (found->second.restores) {
    refused_ |= bit;
    SchedulePump();
  } else {
    reads_.EndReads(key);
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
  MemberMask open = 0;
  MemberMask dirty = 0;
  ForEachMember(getting & ~set_.lazy(), [&](MemberIndex m) {
    if (!members_[m].interposer) return;
    open |= MaskOf(m);
    if (interposer(m).IsDirty(key)) dirty |= MaskOf(m);
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
  refusal.unread = open;
  ForEachMember(open, [&](MemberIndex m) { ReadOlder(m, found->first, refusal.serial); });
}

// Judges again once these members' writes of the key have ended.
void ReplicatedMap::State::AwaitWrites(const std::string& key, Refusal& refusal,
                                       MemberMask members) {
  ForEachMember(members & ~refusal.awaited, [&](MemberIndex m) {
    refusal.awaited |= MaskOf(m);
    interposer(m).SafeReply(
        key, [weak = weak_from_this(), m, key, serial = refusal.serial](ErrorCode ec) {
          if (const auto self = weak.lock()) self->OnAwaited(m, key, serial, ec);
        });
  });
}

void ReplicatedMap::State::OnAwaited(MemberIndex m, const std::string& key, std::uint64_t serial,
                                     ErrorCode ec) {
  if (ec != Errc::kPushedBack) SchedulePump();  // for when_room_
  const auto found = refusals_.find(key);
  if (found == refusals_.end() || found->second.serial != serial) return;
  found->second.awaited &= ~MaskOf(m);
  if (ec == Errc::kPushedBack) {
    return when_room_.push_back([this, key] { JudgeRefusal(key); });
  }
  JudgeRefusal(key);
}

void ReplicatedMap::State::ReadOlder(MemberIndex m, const std::string& key, std::uint64_t serial) {
  if (!members_[m].interposer) return OnOlderRead(m, key, serial, Errc::kClosed, {});
  interposer(m).Fetch(key,
                      [weak = weak_from_this(), m, key, serial](ErrorCode ec, StoredState state) {
                        if (const auto self = weak.lock())
                          self->OnOlderRead(m, key, serial, ec, std::move(state));
                      });
}

void ReplicatedMap::State::OnOlderRead(MemberIndex m, const std::string& key, std::uint64_t serial,
                                       ErrorCode ec, StoredState state) {
  if (ec != Errc::kPushedBack) SchedulePump();  // for when_room_
  const auto found = refusals_.find(key);
  if (found == refusals_.end() || found->second.serial != serial) return;  // changed meanwhile
  Refusal& refusal = found->second;
  if (ec == Errc::kDeadline) return ReadOlder(m, key, serial);
  if (ec == Errc::kPushedBack) {
    return when_room_.push_back([this, m, key, serial] { ReadOlder(m, key, serial); });
  }
  refusal.unread &= ~MaskOf(m);
  if (!ec) {
    refusal.read.emplace_back(m, std::move(state));
  } else if (ec != Errc::kClosed && ec != Errc::kLost) {  // otherwise it leaves anyway
    const bool counts = (set_.required() & MaskOf(m)) != 0;
    if (counts && (set_.required() & ~refusal.refused) != 0) {
      if (!IsDirty(key)) values_.Erase(key);
      return EndRefusal(found, refusal.refused);
    }
    refused_ |= MaskOf(m);  // the other members are still compared
    SchedulePump();
  }
  if (refusal.unread == 0) PutBack(found);
}

// Returns the state that all members shall have; null if no member that is in could be read. The
// others may lack what was answered before they enter. In mode sc it is the oldest state, because
// no newer one was answered, and in mode ec the newest. But what was put back is newer than all
// states before it only by its stamp. So as long as a member may lack it, it is chosen again, and a
// state from before it never.
const StoredState* ReplicatedMap::State::ChooseState(const Refusal& refusal) const {
  const bool oldest = set_.strong() && record().strong;
  const StoredState* chosen = nullptr;
  bool any = false;
  bool all_after = true;
  for (const auto& [m, state] : refusal.read) {
    if ((set_.in() & MaskOf(m)) == 0) continue;
    any = true;
    const bool after = state.stamp >= refusal.restored;
    all_after = all_after && after;
    if (!after) continue;
    if (chosen == nullptr || (state.stamp < chosen->stamp) == oldest) chosen = &state;
  }
  const bool again = any && refusal.older && (chosen == nullptr || (oldest && !all_after));
  return again ? &*refusal.older : chosen;
}

// If all members that count have the same value, only others get it again: members that are filled
// and have another value, and lazy ones. Otherwise, or if a member may still take what it refused,
// all members get one of the values again, under one new stamp. A member that never had the key
// gets no delete, unless it may still take a value.
void ReplicatedMap::State::PutBack(Refusals::iterator found) {
  const std::string key = found->first;
  const Refusal& refusal = found->second;
  const StoredState* const chosen = ChooseState(refusal);
  const auto value_of = [](const StoredState& state) { return std::tie(state.found, state.value); };
  MemberMask other = 0;  // members with another value
  MemberMask same = 0;
  MemberMask empty = 0;
  for (const auto& [m, state] : refusal.read) {
    if (chosen != nullptr) (value_of(state) == value_of(*chosen) ? same : other) |= MaskOf(m);
    if (state.stamp == Stamp()) empty |= MaskOf(m);
  }
  const bool differ = (other & set_.required()) != 0;
  const MemberMask uncounted = set_.writers() & ~set_.required() & ~same;
  const MemberMask leaving = differ ? refusal.refused : uncounted | refusal.doubtful;
  MemberMask members = differ || refusal.doubtful != 0 ? set_.writers() : uncounted;
  if (chosen != nullptr && !chosen->found) members &= ~empty | refusal.doubtful;
  if (chosen != nullptr && members != 0) {
    Refusal restoring{
        .serial = ++last_id_, .doubtful = refusal.doubtful, .older = *chosen, .restores = true};
    if (const auto stamp = Change(key, ValueOf(*restoring.older), members)) {
      restoring.restored = *stamp;
      refusals_[key] = std::move(restoring);
      return JudgeRefusal(key);
    }
    // They cannot get it, and lazy members may still write what was refused.
    values_.Erase(key);
    return EndRefusal(refusals_.find(key), leaving | set_.lazy());
  }
  values_.Erase(key);
  EndRefusal(found, chosen == nullptr ? set_.lazy() : 0);
}

// The key has a new change, which may be taken. What was being put back is kept, because some
// members may still lack it if the new change is refused as well: see ChooseState.
void ReplicatedMap::State::OverrideRefusal(KeyView key) {
  const auto found = refusals_.find(key);
  if (found == refusals_.end()) return;
  Refusal& refusal = found->second;
  if (!refusal.older && refusal.doubtful == 0) return EndRefusal(found, 0);
  refusal.serial = ++last_id_;
  refusal.refused = refusal.awaited = refusal.unread = 0;
  refusal.read.clear();
  refusal.restores = false;
  auto gets = std::exchange(refusal.gets, {});
  JudgeRefusal(key);
  GetAgain(key, std::move(gets));
}

void ReplicatedMap::State::EndRefusal(Refusals::iterator found, MemberMask leaving) {
  const std::string key = found->first;
  auto gets = std::move(found->second.gets);
  refusals_.erase(found);
  lagging_ |= leaving & set_.lazy();
  refused_ |= leaving & ~set_.lazy();
  SchedulePump();
  GetAgain(key, std::move(gets));
}

void ReplicatedMap::State::GetAgain(KeyView key, Refusal::Gets gets) {
  waiting_gets_ -= gets.size();
  for (auto& [options, get] : gets) Get(key, options, std::move(get));
}

}  // namespace stout::inline v1
