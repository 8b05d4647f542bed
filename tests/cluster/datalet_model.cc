#include "tests/cluster/datalet_model.h"

#include <algorithm>
#include <utility>

namespace stout::sim {

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

void DataletModel::Empty() {
  rows_.clear();
  fence_ = 0;
  ++incarnation_;
}

StoredState DataletModel::state(const std::string& key) const {
  const auto row = rows_.find(key);
  return row == rows_.end() ? StoredState{} : row->second;
}

RegistryModel::Answer RegistryModel::Acquire(TimePoint now, Duration ttl) {
  if (Holds(epoch_, now)) return {Errc::kTransient, 0, {}};
  held_ = true;
  expires_ = now + ttl;
  return {Errc::kOk, ++epoch_, record_};
}

Errc RegistryModel::Renew(Epoch epoch, TimePoint now, Duration ttl) {
  if (!Holds(epoch, now)) return Errc::kFenced;
  expires_ = now + ttl;
  return Errc::kOk;
}

void RegistryModel::Release(Epoch epoch) {
  if (epoch == epoch_) held_ = false;
}

RegistryModel::Answer RegistryModel::Commit(Epoch epoch, const RangeRecord& record, TimePoint now) {
  const bool any_revision = mistake_ == Mistake::kRevisionUnchecked;
  if (!Holds(epoch, now)) return {Errc::kFenced, 0, {}};
  if (!any_revision && record.revision != record_.revision + 1) {
    return {Errc::kRefused, 0, record_};
  }
  record_ = record;
  return {};
}

}  // namespace stout::sim
