#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/adapters/partition.h"
#include "stout/core/range_record.h"
#include "stout/core/registry_table.h"
#include "stout/core/types.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::node {

/// The ranges that a call takes from one datalet.
struct MemberPart {
  std::string datalet;
  std::map<RangeId, RangeRecord::Member> ranges;  ///< with the datalet as a member that is in

  bool operator==(const MemberPart&) const = default;
};

/// From which members a call takes ranges: each range once.
using MemberPlan = std::vector<MemberPart>;

/// Plans from which members MemberScan takes the ranges, and checks its answers.
///
/// Owner: MemberScan and its calls.   Threads: any.
class MemberPlans {
 public:
  /// As MemberScan::Records and MemberScan::StoreOf.
  using Records = std::function<std::shared_ptr<const RegistryTable>()>;
  using StoreOf = std::function<Store*(const std::string& datalet)>;
  /// As MemberScan::Observe.
  using Observe = std::function<void(Version)>;
  /// Returns how much a datalet is preferred. nullopt: it is not used.
  using Preference = std::function<std::optional<std::int64_t>(const std::string& datalet, Store&)>;

  /// Maximum number of plans that are kept. A scan whose plan is forgotten begins again.
  static constexpr std::size_t kMaxPlans = 64;

  MemberPlans(Partition partition, Scope scope, Records records, StoreOf store_of, Observe observe)
      : partition(std::move(partition)),
        scope_(std::move(scope)),
        records_(std::move(records)),
        store_of_(std::move(store_of)),
        observe_(std::move(observe)) {}

  const Partition partition;

  /// Runs `use()` unless what the functions refer to may be gone. Returns true if it did.
  template <typename Use>
  bool WhileOpen(Use use) {
    const std::lock_guard lock(open_mutex_);
    if (open_) use();
    return open_;
  }
  void Close() {
    const std::lock_guard lock(open_mutex_);
    open_ = false;
  }

  [[nodiscard]] std::shared_ptr<const RegistryTable> records() const { return records_(); }
  [[nodiscard]] Store* StoreOfPart(const MemberPart& part) const { return store_of_(part.datalet); }

  /// Plans for the ranges from `first` up to `end`. A preferred datalet comes first, and of equally
  /// preferred ones that with most ranges, so that few are used. Returns nullopt if a range has no
  /// member that is in and can be used.
  [[nodiscard]] std::optional<MemberPlan> Make(const RegistryTable& records, RangeId first,
                                               RangeId end, const Preference& preference) const;

  /// Removes the keys that the plan does not take from this datalet, and those that begin with
  /// internal::kInternalKeys.
  template <typename Key, typename KeyOf>
  void Keep(const MemberPart& part, std::vector<Key>& keys, KeyOf key_of) const {
    std::erase_if(keys, [&](const Key& key) { return !Takes(part, key_of(key)); });
  }

  /// Passes the versions of states of shared ranges on, unless it is closed.
  void ObserveAll(const std::vector<ScannedKey>& keys);

  /// Remembers a plan. Returns its number, which calls with the same plan share.
  [[nodiscard]] std::uint64_t Remember(MemberPlan plan);
  /// Returns null if the plan was forgotten.
  [[nodiscard]] std::shared_ptr<const MemberPlan> Find(std::uint64_t number) const;

  /// Answers kOk if the store, which has just answered a call, has the data of the part's ranges by
  /// its own account, and was in for all of them since the plan was made, by the records as last
  /// reported. Otherwise kTransient. `incarnation`: of the store when it was asked, because the
  /// store may be gone now.
  static void Prove(std::shared_ptr<MemberPlans> plans, const MemberPart& part, Store& store,
                    std::string incarnation, UniqueFunction<void(Errc)> handler);

 private:
  struct Proof;

  [[nodiscard]] bool Takes(const MemberPart& part, KeyView key) const;
  [[nodiscard]] bool StillIn(const MemberPart& part) const;

  const Scope scope_;
  const Records records_;
  const StoreOf store_of_;
  const Observe observe_;
  std::recursive_mutex open_mutex_;  // a store may answer at once
  bool open_ = true;
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::deque<std::pair<std::uint64_t, std::shared_ptr<const MemberPlan>>> plans_;
};

}  // namespace stout::node
