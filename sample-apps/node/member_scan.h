#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "node/cluster.h"
#include "node/config.h"
#include "node/member_plans.h"
#include "stout/adapters/partition.h"
#include "stout/core/random.h"
#include "stout/store.h"

namespace stout::node {

/// The keys of a deployment whose ranges have members, as one store that scans and searches. All
/// other calls answer kRefused.
///
/// A scan plans at its first page from which member it takes each range: from one that is in. It
/// uses few datalets, and reads them one after the other. A page is answered only if the datalet is
/// in for all ranges that the plan takes from it, without a break since the plan was made, by the
/// records as last reported, and if it has the data of these ranges by its own account. Otherwise
/// the answer is kTransient: begin again.
///
/// A search takes each range from a member that is in and can search, and asks all these members at
/// once. It prefers the shortest queue of this node's requests: the answers do not tell what others
/// ask. They are subject to the same conditions as pages. The members' stores, and not traits(),
/// have the schema.
///
/// Keys of other ranges, and keys that begin with internal::kInternalKeys, are left out. In the
/// modes with ec, a scan and a search may miss the newest changes.
///
/// The next changes of a node must be newer than the states of shared ranges that it shows. A scan
/// reports their versions. Answers to searches have no stamps.
///
/// Owner: what the functions refer to outlives it and its calls, or Close().
/// Threads: any, except Search(): the connections', because it reads Cluster::queues.
class MemberScan final : public Store {
 public:
  using Records = MemberPlans::Records;
  /// Returns the open store of a datalet; null if there is none now.
  using StoreOf = MemberPlans::StoreOf;
  /// Returns the address of this node, whose datalet is preferred for scans.
  using Self = std::function<std::string()>;
  /// Returns the requests that wait at a datalet.
  using QueueOf = std::function<const Cluster::Queue*(const std::string& datalet)>;
  /// Takes the version of a state of a shared range, as NodeClock::Observe.
  using Observe = MemberPlans::Observe;

  /// `scope`: as MemberRangesOptions::scope. `records` returns null while this node cannot know
  /// them. `self`, `queue_of` and `observe` may be empty.
  MemberScan(Partition partition, Scope scope, Records records, StoreOf store_of, Self self = {},
             QueueOf queue_of = {}, Observe observe = {});
  ~MemberScan() override;

  /// After this, calls under way use none of the functions, nor the stores.
  void Close();

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch&, WriteHandler handler) override { handler({Errc::kRefused, {}}); }
  void Read(const ReadBatch&, ReadHandler handler) override { handler({Errc::kRefused, {}, 0}); }
  void NewEpoch(EpochHandler handler) override { handler(Errc::kRefused, 0); }
  void Scan(const ScanRequest& request, ScanHandler handler) override;
  void Search(const SearchRequest& request, SearchHandler handler) override;

 private:
  struct Page;

  [[nodiscard]] std::optional<MemberPlan> PlanScan() const;
  [[nodiscard]] std::optional<MemberPlan> PlanSearch(const std::string& beside);
  void SearchPart(const MemberPart& part, const SearchRequest& request,
                  SearchHandler handler) const;

  const StoreTraits traits_;
  const std::shared_ptr<MemberPlans> plans_;  // calls under way use it, too
  const Self self_;
  const QueueOf queue_of_;
  SplitMix64 random_{std::random_device()()};
};

/// Makes the scan of a table whose ranges have members.
[[nodiscard]] std::unique_ptr<MemberScan> MakeScan(const Config& config, Cluster& cluster);

}  // namespace stout::node
