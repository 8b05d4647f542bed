#include "stout/core/strong_reads.h"

#include <new>
#include <utility>

namespace stout::internal {

void StrongReads::Read(KeyView key, FetchId id) {
  const auto joined = entries_.find(key);
  if (joined != entries_.end()) return joined->second.ids.push_back(id);
  const auto found = entries_.try_emplace(std::string(key)).first;
  try {
    found->second.ids.push_back(id);
    Send(found);
  } catch (const std::bad_alloc&) {
    tokens_.erase(found->second.token);
    entries_.erase(found);
    throw;
  }
}

void StrongReads::Send(Entries::iterator found) {
  if (set_.in() == 0) return End(found, Errc::kTransient, false);
  const std::string& key = found->first;
  Entry& entry = found->second;
  tokens_.erase(entry.token);
  entry.token = ++last_token_;
  tokens_[entry.token] = key;
  entry.newest = {};
  entry.answered = false;
  entry.unsettled = false;
  entry.asked = set_.readers();
  if (!set_.differ()) entry.asked = MaskOf(set_.ChooseReader(set_.in(), random_.Next()));
  entry.wanted = entry.asked;
  ForEachMember(entry.wanted, [&](MemberIndex m) {
    effects_.fetches.push_back({m, entry.token, key});
  });
}

void StrongReads::OnFetched(FetchId token, MemberIndex member, Errc errc, StoredState state) {
  const auto key = tokens_.find(token);
  if (key == tokens_.end()) return;
  const auto found = entries_.find(key->second);
  Entry& entry = found->second;
  if ((entry.wanted & MaskOf(member)) == 0) return;
  if (errc == Errc::kClosed || errc == Errc::kLost) return;  // OnMembersChanged asks again
  const bool may_lack = set_.shared() || (set_.sources() & MaskOf(member)) != 0;
  const bool damaged = may_lack && errc == Errc::kCorrupt;
  if (errc != Errc::kOk && !damaged) return End(found, errc, false);
  entry.wanted &= ~MaskOf(member);
  if (!damaged) {
    entry.answered = true;
    entry.unsettled |= !set_.IsSettled(state.stamp);
    if (entry.newest.stamp == Stamp{} || state.stamp > entry.newest.stamp) {
      entry.newest = std::move(state);
    }
  }
  if (entry.wanted != 0) return;
  const bool joined = (set_.readers() & ~entry.asked) != 0;
  if (set_.differ() && joined) return Send(found);  // it may have a newer state
  if (!entry.answered) return End(found, errc, false);
  if (!entry.unsettled || !set_.MayRewrite(entry.newest.stamp)) {
    return End(found, Errc::kOk, false);
  }
  effects_.repairs.push_back({found->first, entry.newest});  // EndReads ends the read
}

void StrongReads::EndReads(KeyView key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) End(found, Errc::kOk, true);
}

void StrongReads::OnRepairRefused(KeyView key, Errc errc) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) End(found, errc, false);
}

void StrongReads::OnMembersChanged() {
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto found = next++;
    if ((found->second.wanted & ~set_.readers()) != 0) Send(found);
  }
}

void StrongReads::FailAll(Errc errc) {
  while (!entries_.empty()) End(entries_.begin(), errc, false);
}

void StrongReads::End(Entries::iterator found, Errc errc, bool again) {
  Entry& entry = found->second;
  for (const FetchId id : entry.ids) {
    reads::Done done{.id = id, .errc = errc, .again = again, .state = {}};
    if (errc == Errc::kOk && !again) done.state = entry.newest;
    effects_.done.push_back(std::move(done));
  }
  tokens_.erase(entry.token);
  entries_.erase(found);
}

}  // namespace stout::internal
