#include "stout/core/lease_ledger.h"

#include <algorithm>

namespace stout::internal {

LeaseLedger::Joined LeaseLedger::Join(const std::string& address, RangeId ranges, Duration ttl,
                                      TimePoint now, std::string_view partition) {
  Expire(now);
  if (ranges_.empty()) {
    ranges_.resize(ranges);
    partition_ = partition;
  }
  if (ranges_.size() != ranges || partition_ != partition) return {Errc::kBadOptions};
  const SessionId session = next_++;
  sessions_.emplace(session, Session{address, ttl, SaturatingAdd(now, ttl)});
  return {Errc::kOk, session};
}

Errc LeaseLedger::KeepAlive(SessionId session, TimePoint now) {
  Session* const found = Find(session, now);
  if (found == nullptr) return Errc::kFenced;
  found->expires = SaturatingAdd(now, found->ttl);
  return Errc::kOk;
}

void LeaseLedger::Leave(SessionId session, TimePoint now) {
  Expire(now);
  if (sessions_.erase(session) != 0) Free(session);
}

LeaseLedger::Acquired LeaseLedger::Acquire(SessionId session, RangeId range, TimePoint now) {
  const Session* const found = Find(session, now);
  if (found == nullptr) return {Errc::kFenced};
  if (range >= ranges_.size()) return {Errc::kBadOptions};
  std::optional<Lease>& lease = ranges_[range];
  if (!lease) lease = Lease{found->address, session, next_++};
  if (lease->session != session) return {Errc::kOk};
  return {Errc::kOk, lease->epoch};
}

Errc LeaseLedger::Release(SessionId session, RangeId range, Epoch epoch, TimePoint now) {
  if (Find(session, now) == nullptr) return Errc::kFenced;
  if (range >= ranges_.size()) return Errc::kOk;
  std::optional<Lease>& lease = ranges_[range];
  if (lease && lease->session == session && lease->epoch == epoch) lease.reset();
  return Errc::kOk;
}

bool LeaseLedger::Clear(TimePoint now) {
  Expire(now);
  if (!sessions_.empty()) return false;
  ranges_.clear();
  partition_ = kHashPartition;
  return true;
}

void LeaseLedger::Expire(TimePoint now) {
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    if (it->second.expires > now) {
      ++it;
    } else {
      Free(it->first);
      it = sessions_.erase(it);
    }
  }
}

TimePoint LeaseLedger::NextExpiry() const {
  TimePoint next = kNever;
  for (const auto& [id, session] : sessions_) next = std::min(next, session.expires);
  return next;
}

LeaseTable LeaseLedger::Table() const {
  LeaseTable table{.members = {}, .ranges = ranges_, .partition = partition_};
  for (const auto& [id, session] : sessions_) table.members.push_back(session.address);
  std::sort(table.members.begin(), table.members.end());
  table.members.erase(std::unique(table.members.begin(), table.members.end()), table.members.end());
  return table;
}

LeaseLedger::Session* LeaseLedger::Find(SessionId session, TimePoint now) {
  Expire(now);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : &found->second;
}

void LeaseLedger::Free(SessionId session) {
  for (std::optional<Lease>& lease : ranges_) {
    if (lease && lease->session == session) lease.reset();
  }
}

}  // namespace stout::internal
