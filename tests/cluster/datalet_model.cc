#include "tests/cluster/datalet_model.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace stout::sim {
namespace {

constexpr std::string_view kNames = "datalet-";

}  // namespace

std::string DataletName(std::size_t datalet) {
  return std::string(kNames) + std::to_string(datalet);
}

std::size_t DataletOf(const std::string& name) { return std::stoul(name.substr(kNames.size())); }

WriteResult DataletModel::Write(Epoch epoch, const std::vector<WriteItem>& items) {
  if (full) return {.batch = Errc::kTransient, .items = {}};
  const bool fenced =
      epoch < fence_ || std::any_of(items.begin(), items.end(), [&](const WriteItem& item) {
        const auto row = rows_.find(item.key);
        return row != rows_.end() && row->second.stamp.epoch > epoch;
      });
  if (fenced) return {.batch = Errc::kFenced, .items = {}};
  for (const WriteItem& item : items) {
    StoredState& row = rows_[item.key];
    const Stamp stamp{epoch, item.version};
    if (stamp <= row.stamp) continue;  // a repetition, or overtaken
    written_[item.key] = now;
    row = {.found = item.kind == WriteKind::kPut, .value = item.value, .stamp = stamp};
  }
  return {};
}

ReadResult DataletModel::Read(const std::vector<std::string>& keys) const {
  ReadResult result;
  for (const std::string& key : keys) result.states.push_back(state(key));
  return result;
}

Errc DataletModel::Fence(Epoch epoch) {
  if (epoch < fence_) return Errc::kFenced;
  fence_ = epoch;
  return Errc::kOk;
}

ScanResult DataletModel::Scan(const ScanRequest& request) const {
  ScanResult result;
  for (auto row = rows_.upper_bound(request.cursor); row != rows_.end(); ++row) {
    if (result.keys.size() == request.limit) {
      result.cursor = result.keys.back().key;
      break;
    }
    result.keys.push_back({row->first, row->second});
    if (!request.values) result.keys.back().state.value.clear();
  }
  return result;
}

void DataletModel::Expire(Epoch epoch) {
  std::erase_if(rows_, [epoch](const auto& row) {
    return !row.second.found && row.second.stamp.epoch <= epoch;
  });
}

void DataletModel::Expire(TimePoint before) {
  std::erase_if(rows_, [this, before](const auto& row) {
    return !row.second.found && written_[row.first] < before;
  });
}

void DataletModel::Empty() {
  rows_.clear();
  fence_ = 0;
  ++incarnation_;
}

void DataletModel::Save() { saved_ = {rows_, fence_}; }

void DataletModel::Rewind() {
  std::tie(rows_, fence_) = saved_;
  ++incarnation_;
}

bool DataletModel::Has(const RangeRecord::Member& member) const {
  return member.IsShownBy(state(kIdentityKey).value) && !member.IsRestarted(NameOfLife());
}

StoredState DataletModel::state(const std::string& key) const {
  const auto row = rows_.find(key);
  return row == rows_.end() ? StoredState{} : row->second;
}

RegistryModel::RegistryModel(RangeRecord record, Mistake mistake) : mistake_(mistake) {
  const Lease lease = Acquire({}, Duration(1)).value();
  (void)Change(ChangeSet(kRange, lease.epoch, std::move(record), 0), {});
  Release(lease.session, {});
}

std::optional<RegistryModel::Lease> RegistryModel::Acquire(TimePoint now, Duration ttl) {
  const SessionId session = leases_.Join("node", kRange + 1, ttl, now).session;
  const auto acquired = leases_.Acquire(session, kRange, now);
  if (acquired.epoch) return Lease{session, *acquired.epoch, record_};
  leases_.Leave(session, now);
  return std::nullopt;
}

internal::Judged RegistryModel::Change(RegistryChange change, TimePoint now) {
  if (mistake_ == Mistake::kRevisionUnchecked) change.read.reset();
  const internal::Judged judged = ledger_.Change(change, leases_, now);
  record_ = ledger_.Table(leases_).sets[kRange];
  return judged;
}

}  // namespace stout::sim
