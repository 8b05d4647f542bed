#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/range_record.h"
#include "stout/core/types.h"
#include "tests/cluster/cluster_options.h"

namespace stout::sim {

/// The names of the keys that a range's members keep for themselves.
inline constexpr const char* kMarkKey = "stout:mark:0";
inline constexpr const char* kIdentityKey = "stout:datalet:0";

/// A member's store: stamps, a fence, atomic batches, ordered scans. It can come back empty.
class DataletModel {
 public:
  WriteResult Write(Epoch epoch, const std::vector<WriteItem>& items);
  [[nodiscard]] ReadResult Read(const std::vector<std::string>& keys) const;
  Errc Fence(Epoch epoch);
  [[nodiscard]] ScanResult Scan(const ScanRequest& request) const;

  /// Forgets tombstones of this epoch and of older ones.
  void Expire(Epoch epoch);
  /// Comes back as a different store.
  void Empty();

  [[nodiscard]] StoredState state(const std::string& key) const;
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  /// Returns false if it came back empty and was not filled since.
  [[nodiscard]] bool HasIdentity() const { return rows_.contains(kIdentityKey); }

  bool up = true;
  TimePoint slow_until{};
  bool full = false;  // its disk

 private:
  std::map<std::string, StoredState> rows_;
  Epoch fence_ = 0;
  std::uint64_t incarnation_ = 1;
};

/// The coordinator: one lease and one record, which share one total order.
class RegistryModel {
 public:
  struct Answer {
    Errc errc = Errc::kOk;
    Epoch epoch = 0;
    RangeRecord record;
  };

  RegistryModel(RangeRecord record, Mistake mistake)
      : record_(std::move(record)), mistake_(mistake) {}

  /// kTransient: another owner holds the range.
  Answer Acquire(TimePoint now, Duration ttl);
  Errc Renew(Epoch epoch, TimePoint now, Duration ttl);
  void Release(Epoch epoch);
  Answer Commit(Epoch epoch, const RangeRecord& record, TimePoint now);

  [[nodiscard]] const RangeRecord& record() const { return record_; }
  [[nodiscard]] Epoch epoch() const { return epoch_; }

 private:
  [[nodiscard]] bool Holds(Epoch epoch, TimePoint now) const {
    return held_ && epoch == epoch_ && now < expires_;
  }

  RangeRecord record_;
  Mistake mistake_;
  Epoch epoch_ = 0;
  bool held_ = false;
  TimePoint expires_{};
};

}  // namespace stout::sim
