#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stout/adapters/partition.h"
#include "stout/adapters/range_server.h"
#include "stout/adapters/range_source.h"
#include "stout/core/placement.h"
#include "stout/core/registry_table.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/node_clock.h"
#include "stout/registry.h"
#include "stout/replicated_map.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout {

/// Agrees with the other nodes on the configuration of a deployment. The first node writes
/// `wanted`; later ones get the stored configuration. `given` copies the settings that the user
/// gave into the stored configuration, which must not change by that. May block: there are up to
/// `attempts` attempts of about 2 s each.
/// Errors: kTransient if the registry answers none of them; kBadOptions if the deployment has other
///   values, or if it has none and `wanted` is invalid; kCorrupt if its configuration cannot be
///   read. `diagnostics` has the reason and the remedy.
[[nodiscard]] Result<ClusterConfig> AgreeOnConfig(
    Registry& registry, const ClusterConfig& wanted,
    const std::function<void(ClusterConfig& kept)>& given, Diagnostics* diagnostics = nullptr,
    int attempts = 50);

/// Opens the store of a datalet. May block.
using DataletOpener =
    std::function<Result<std::unique_ptr<Store>>(const std::string& url, Diagnostics*)>;

/// Returns why a store can be no member of a range; null if it can.
[[nodiscard]] const char* WhyUnsuited(const StoreTraits& traits);

/// Returns why a store that is new to a deployment cannot become a datalet, or nullopt. It must
/// open, suit, and be empty, because what the members of a range lack is deleted at a new member.
/// May block.
[[nodiscard]] std::optional<std::string> WhyUnusable(const std::string& url,
                                                     const DataletOpener& open);

/// Returns why a store that is open, and was never a datalet, cannot become one because it has
/// keys; nullopt if it is empty. Blocks. Requires `store.traits().scans`.
[[nodiscard]] std::optional<std::string> WhyNotEmpty(Store& store);

/// Joins a deployment: call it before you make MemberRanges. Calls AgreeOnConfig. `datalets` are
/// the URLs of the stores that the server brings; calls WhyUnusable for those that are new to the
/// deployment. Runs `context` meanwhile, because the lease service and the stores may need it to
/// answer. May block: up to `attempts` for each question to the registry.
/// Errors: as AgreeOnConfig; kBadOptions for a lease service without a registry, or such a store.
[[nodiscard]] Result<ClusterConfig> JoinDeployment(
    boost::asio::io_context& context, LeaseService& leases, const ClusterConfig& wanted,
    const std::function<void(ClusterConfig& kept)>& given, const std::vector<std::string>& datalets,
    const DataletOpener& open, Diagnostics* diagnostics = nullptr, int attempts = 50);

struct MemberRangesOptions {
  /// See ScopeOf. The same for all nodes.
  std::string scope = "stout-node";
  /// The same as in the RangeServerOptions.
  Partition partition = HashPartition(16);
  /// Options of each range. `min_in`, `ack`, `member_timeout` and the mode are the deployment's.
  ReplicatedMapOptions map;
  /// A datalet that has been gone for this time is replaced as a member by another.
  Duration replace_after = std::chrono::minutes(15);
  /// Chooses the members of a range; empty: PlaceRange. The same for all nodes.
  Placement place;
  /// It has a thread of its own.
  DataletOpener open;
};

/// A store that this node brings to the deployment.
struct OwnDatalet {
  std::string id;
  Datalet datalet;
  /// Serves it without its URL; outlives the MemberRanges. Null: it is opened by its URL, as the
  /// other nodes do, and stays in the registry when this node ends.
  Store* store = nullptr;
};

/// Keeps each range of a RangeServer on several stores, its members (docs/CLUSTER.md), which are
/// chosen among the datalets of the registry.
///
///     const Partition slots = SlotPartition(config.ranges);
///     MemberRanges source(executor, *service, config, {.partition = slots, .open = OpenDatalet});
///     RangeServer server(executor, source, *service, {.partition = slots});
///     server.Open("10.0.0.7:7001");
///     source.Start({own}, [&] { return server.session(); });
///
/// Owner: refers to the lease service, which outlives it. Owns the stores that it opens. Destroy it
///   while the executor's context does not run.
/// Threads: any.
/// Errors: logged. It retries without end.
class MemberRanges final : public RangeSource {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;

  /// `config`: as AgreeOnConfig returned it. Requires a lease service with a registry.
  MemberRanges(const boost::asio::any_io_executor& executor, LeaseService& leases,
               const ClusterConfig& config, MemberRangesOptions options);
  ~MemberRanges() override;

  /// Follows the registry, and adds `own` to it while `session` is not zero. Call it once.
  void Start(std::vector<OwnDatalet> own, std::function<SessionId()> session);

  /// Follows the registry and asks the datalets no more. Call it when the server has left: a range
  /// that is ordered after it is not made.
  void Retire();
  /// Writes what is unsent of the ranges that all nodes serve to the members that it reaches, and
  /// serves them no longer. `done` gets kUnknown if changes may be dropped that such a member
  /// lacks: `limit` is over, or meanwhile the member fails or the mode is left. The log has the
  /// range. It may be empty. Call it once.
  void Leave(Done done = {}, Duration limit = std::chrono::seconds(10));

  void Make(RangeId range, Epoch epoch, UniqueFunction<void()> on_given_up,
            RangeHandler handler) override;
  /// How long no datalet has answered; or, if this node gave up a range for this, how long one that
  /// is a member under another owner is out of reach.
  [[nodiscard]] StoreHealth::Clock::duration InVain() const override;
  void ProbeIfNeeded() override {}  // it asks them all the time
  [[nodiscard]] std::string name() const override;

  /// Returns the range if all nodes serve it at present (mode aa+ec); otherwise null.
  [[nodiscard]] RangeServer::Served Shared(RangeId range) const;
  /// The clock of the versions in those ranges.
  [[nodiscard]] NodeClock& clock() const;
  /// The range's scope in each store.
  [[nodiscard]] Scope ScopeOf(RangeId range) const;
  /// The records as last reported. Never null.
  [[nodiscard]] std::shared_ptr<const RegistryTable> records() const;
  /// Returns the open store of a datalet, which lives as long as this; null if there is none now.
  [[nodiscard]] Store* StoreOf(const std::string& id) const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stout
