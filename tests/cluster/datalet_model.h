#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/errc.h"
#include "stout/core/lease_ledger.h"
#include "stout/core/range_record.h"
#include "stout/core/registry_ledger.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"
#include "tests/cluster/cluster_options.h"

namespace stout::sim {

/// The names of the keys that a range's members keep for themselves.
inline constexpr const char* kMarkKey = "stout:mark:0";
inline constexpr const char* kIdentityKey = "stout:datalet:0";
inline constexpr RangeId kRange = 0;

[[nodiscard]] std::string DataletName(std::size_t datalet);
[[nodiscard]] std::size_t DataletOf(const std::string& name);

/// A member's store: stamps, a fence, atomic batches, ordered scans. It can come back empty or with
/// older data.
class DataletModel {
 public:
  WriteResult Write(Epoch epoch, const std::vector<WriteItem>& items);
  [[nodiscard]] ReadResult Read(const std::vector<std::string>& keys) const;
  Errc Fence(Epoch epoch);
  [[nodiscard]] ScanResult Scan(const ScanRequest& request) const;

  /// Forgets tombstones of this epoch and of older ones.
  void Expire(Epoch epoch);
  /// Forgets tombstones from before this time.
  void Expire(TimePoint before);
  /// Comes back as a different store.
  void Empty();
  void Save();
  /// Comes back with what was saved last.
  void Rewind();

  [[nodiscard]] StoredState state(const std::string& key) const;
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }
  /// As StoreTraits::incarnation.
  [[nodiscard]] std::string NameOfLife() const {
    return durable ? "" : std::to_string(incarnation_);
  }
  /// Returns false if it came back, empty or with older data, and was not filled since.
  [[nodiscard]] bool Has(const RangeRecord::Member& member) const;

  TimePoint now{};  // of the call
  bool durable = true;
  bool up = true;
  TimePoint slow_until{};
  bool full = false;  // its disk

 private:
  std::map<std::string, StoredState> rows_;
  std::map<std::string, TimePoint> written_;  // when, by key
  Epoch fence_ = 0;
  std::pair<std::map<std::string, StoredState>, Epoch> saved_;
  std::uint64_t incarnation_ = 1;
};

/// The coordinator: one range's lease and record, in the core's ledgers.
class RegistryModel {
 public:
  struct Lease {
    SessionId session = 0;
    Epoch epoch = 0;
    Recorded<RangeRecord> record;
  };

  RegistryModel(RangeRecord record, Mistake mistake);

  /// Returns nullopt if another owner holds the range.
  std::optional<Lease> Acquire(TimePoint now, Duration ttl);
  Errc Renew(SessionId session, TimePoint now) { return leases_.KeepAlive(session, now); }
  void Release(SessionId session, TimePoint now) { leases_.Leave(session, now); }
  internal::Judged Change(RegistryChange change, TimePoint now);

  [[nodiscard]] const RangeRecord& record() const { return record_.value; }
  [[nodiscard]] Revision revision() const { return record_.revision; }

 private:
  const Mistake mistake_;
  internal::LeaseLedger leases_{1};
  internal::RegistryLedger ledger_;
  Recorded<RangeRecord> record_;  // the ledger's
};

}  // namespace stout::sim
