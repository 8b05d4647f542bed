#include "stout/core/registry_ledger.h"

namespace stout::internal {

Judged Judge(const RegistryChange& change, const ChangeFacts& facts) {
  if (change.owned && !facts.owned) return {Errc::kOk, {ChangeOutcome::kNotOwner, facts.revision}};
  if (change.session != 0 && !facts.alive) return {Errc::kFenced};
  if (facts.as_asked) return {Errc::kOk, {ChangeOutcome::kDone, facts.revision}};
  const bool refused = !DroppedTable(change).empty() && change.read == facts.revision;
  return {Errc::kOk, {refused ? ChangeOutcome::kInUse : ChangeOutcome::kChanged, facts.revision}};
}

Judged RegistryLedger::Change(const RegistryChange& change, LeaseLedger& leases, TimePoint now,
                              const Drop& drop) {
  leases.Expire(now);
  std::erase_if(records_, [&](const auto& entry) {
    return entry.second.session != 0 && !leases.Alive(entry.second.session);
  });
  ChangeFacts facts{.owned = change.owned && leases.Holds(change.owned->range, change.owned->epoch),
                    .alive = leases.Alive(change.session)};
  auto found = records_.find(change.key);
  const Revision before = found == records_.end() ? 0 : found->second.revision;
  const std::string_view dropped = DroppedTable(change);
  const bool may = (!change.owned || facts.owned) && (change.session == 0 || facts.alive) &&
                   (!change.read || *change.read == before) &&
                   (dropped.empty() || drop == nullptr || drop(dropped));
  if (may && change.value) {
    found =
        records_.insert_or_assign(change.key, Record{*change.value, ++last_, change.session}).first;
  } else if (may && found != records_.end()) {
    records_.erase(found);
    found = records_.end();
  }
  const bool there = found != records_.end();
  facts.as_asked = there ? change.value == found->second.value : !change.value;
  facts.revision = there ? found->second.revision : 0;
  return Judge(change, facts);
}

RegistryTable RegistryLedger::Table(const LeaseLedger& leases) const {
  RegistryTable table;
  for (const auto& [key, record] : records_) {
    if (record.session != 0 && !leases.Alive(record.session)) continue;
    (void)Place(key, record.value, record.revision, &table);  // WhyInvalid has checked that it fits
  }
  return table;
}

}  // namespace stout::internal
