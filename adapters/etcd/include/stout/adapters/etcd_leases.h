#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/pending_calls.h"
#include "stout/adapters/store_url.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/registry.h"

namespace stout {

struct EtcdLeasesOptions {
  /// HOST:PORT of the cluster's members, or [IPV6]:PORT. If one does not answer, the next is asked.
  std::vector<std::string> endpoints{};
  /// Name of the deployment: all keys are below "NAME/". It has no "::", which separates tables. A
  /// part behind a "/" is not member, range, set, datalet, table, wanted-owner or clock.
  std::string name = "stout";
  /// After this time without an answer another member is asked from then on; the unanswered call
  /// may still happen. It also limits the time for a new connection. > 0
  Duration timeout = std::chrono::seconds(2);
  /// A watch that is silent for this time is begun anew, because its connection may be dead. > 0
  Duration silence = std::chrono::seconds(5);
};

/// Leases and their registry in etcd 3.4 or newer, through its JSON gateway (/v3/...), by plain
/// HTTP.
///
///     etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379/my-deployment
///
/// | key | value | lives |
/// |---|---|---|
/// | NAME/deployment | ranges, offset of epochs, partition unless "hash" | for ever |
/// | NAME/member/SESSION | the address | with the session's lease |
/// | NAME/range/RANGE | the session | with the session's lease |
/// | NAME/config, NAME/set/RANGE, NAME/table/TABLE | JSON, see registry_json.h | for ever |
/// | NAME/wanted-owner/RANGE, NAME/clock/NUMBER | likewise | for ever |
/// | NAME/datalet/ID | JSON | with its session's lease, if it has a session |
///
/// A session is an etcd lease, whose ttl is a whole number of seconds: other times are rounded up.
/// A transaction takes a range by creating its key. The epoch is the key's revision plus the Unix
/// time in microseconds at which the deployment was first seen. A watch reads everything and then
/// follows from that revision on, on a connection of its own. If the watch is cut, or if the
/// changes that it missed are compacted, it reads everything again. A change of a record compares
/// its mod_revision, and for a set the create_revision of the range's key. A table TABLE of the
/// deployment is the deployment NAME::TABLE.
///
/// Owner, threads: as LeaseService; the executor's context must outlive it. All I/O is on the
/// executor, without blocking. Three connections: for renewals, for changes, for the watch.
class EtcdLeases final : public LeaseService, private Registry {
 public:
  /// Does not ask the cluster, which may come later. Fails with kBadUrl.
  [[nodiscard]] static Result<std::unique_ptr<EtcdLeases>> Open(
      const EtcdLeasesOptions& options, const boost::asio::any_io_executor& executor,
      Diagnostics* diagnostics);
  ~EtcdLeases() override;

  static constexpr std::string_view kUrlSyntax =
      "etcd://HOST:PORT[,HOST:PORT...][/NAME][?timeout=2s][&silence=5s]";
  [[nodiscard]] static Result<std::unique_ptr<LeaseService>> OpenUrl(
      const StoreUrl& url, const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  void Join(const LeaseMember& member, JoinHandler handler) override;
  void KeepAlive(SessionId session, Handler handler) override;
  void Leave(SessionId session, Handler handler) override;
  void Acquire(SessionId session, RangeId range, AcquireHandler handler) override;
  void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) override;
  [[nodiscard]] LeaseService::Watch WatchTable(LeaseService::TableHandler handler) override;
  [[nodiscard]] Registry* registry() override { return this; }

 private:
  class Engine;

  explicit EtcdLeases(std::shared_ptr<Engine> engine);
  [[nodiscard]] std::shared_ptr<PendingCall<Errc>> AddCall(Handler handler);
  void Change(RegistryChange change, ChangeHandler handler) override;
  void Read(ReadHandler handler) override;
  [[nodiscard]] LeaseService::Watch WatchRecords(Registry::TableHandler handler) override;
  [[nodiscard]] Result<std::unique_ptr<LeaseService>> OpenTable(std::string_view table,
                                                                Diagnostics* diagnostics) override;

  PendingCalls pending_;
  const std::shared_ptr<Engine> engine_;
};

}  // namespace stout
