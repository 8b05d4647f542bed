#pragma once

#include <functional>
#include <memory>
#include <string>

#include "node/cluster.h"
#include "node/config.h"
#include "stout/adapters/partition.h"
#include "stout/core/registry_table.h"
#include "stout/store.h"

namespace stout::node {

/// The keys of a deployment whose ranges have members, as one store that scans. All other calls
/// answer kRefused.
///
/// A scan plans at its first page from which member it takes each range: from one that is in. It
/// uses few datalets, and reads them one after the other. A page is answered only if the datalet is
/// in for all ranges that the plan takes from it, without a break since the plan was made, by the
/// records as last reported, and if it has the data of these ranges by its own account. Otherwise
/// the answer is kTransient: begin again.
/// Keys of other ranges, and keys that begin with internal::kInternalKeys, are left out. In mode
/// ms+ec a scan may miss the newest changes.
///
/// Owner: what the functions refer to outlives it and its calls, or Close().
/// Threads: any.
class MemberScan final : public Store {
 public:
  using Records = std::function<std::shared_ptr<const RegistryTable>()>;
  /// Returns the open store of a datalet; null if there is none now.
  using StoreOf = std::function<Store*(const std::string& datalet)>;
  /// Returns the address of this node, whose datalet is preferred.
  using Self = std::function<std::string()>;

  /// Maximum plans that are kept. A scan whose plan is forgotten begins again.
  static constexpr std::size_t kMostPlans = 64;

  /// `scope`: as MemberRangesOptions::scope. `records` returns null while this node cannot know
  /// them. `self` may be empty.
  MemberScan(Partition partition, Scope scope, Records records, StoreOf store_of, Self self = {});
  ~MemberScan() override;

  /// After this, calls under way use none of the functions, nor the stores.
  void Close();

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch&, WriteHandler handler) override { handler({Errc::kRefused, {}}); }
  void Read(const ReadBatch&, ReadHandler handler) override { handler({Errc::kRefused, {}, 0}); }
  void NewEpoch(EpochHandler handler) override { handler(Errc::kRefused, 0); }
  void Scan(const ScanRequest& request, ScanHandler handler) override;

 private:
  class Plans;
  struct Page;

  const StoreTraits traits_;
  const std::shared_ptr<Plans> plans_;  // calls under way use it, too
};

/// Makes the scan of a table whose ranges have members.
[[nodiscard]] std::unique_ptr<MemberScan> MakeScan(const Config& config, const Cluster& cluster);

}  // namespace stout::node
