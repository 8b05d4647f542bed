#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "stout/adapters/pending_calls.h"
#include "stout/adapters/store_url.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/registry.h"

namespace stout {

namespace postgres {
class TableNames;
}

struct PostgresLeasesOptions {
  /// As PostgresOptions::connection: a primary.
  std::string connection{};
  /// Prefix of the four tables, with a schema or without; "_number", "_members", "_ranges" and
  /// "_records" follow it. Each deployment has its own.
  std::string table = "stout_lease";
  /// Create missing tables. If false, or if the role may not, Open() fails with the SQL to run.
  bool create = true;
  /// Pause between reads of the table, by which a watch may be late. > 0
  Duration poll = std::chrono::milliseconds(250);
  /// After this time without an answer the connection is closed; the unanswered call may still
  /// happen. > 0
  Duration timeout = std::chrono::seconds(2);
  /// Time for a new connection, on all hosts together. > 0
  Duration connect_timeout = std::chrono::seconds(2);
  /// As PostgresOptions::prepare: false behind a pooler.
  bool prepare = true;
};

/// Leases and their registry in a PostgreSQL database of version 14 or newer, for deployments that
/// already run one.
///
///     postgres://app@db.example/app?lease_table=stout_lease
///
/// All time is the server's (clock_timestamp()). It must not be stepped forward by hand, because
/// that would end sessions early. A session ends when its row expires; only then may another
/// session take its ranges. Session numbers and epochs come from one row, which each take of a
/// range locks. Changes are committed durably even if the server's synchronous_commit is off. A
/// promoted standby may lack the last changes. If the server's timeline or system identifier has
/// changed, all sessions therefore end, and no range is granted for one ttl. The watch polls,
/// because expiry sends no notification.
///
/// The registry's records are rows of the table "_records", with JSON as in registry_json.h. A
/// table TABLE of the deployment is a deployment with the prefix "PREFIX.TABLE", in quotes. The dot
/// is a part of its name, which no other deployment's has.
///
/// Owner, threads: as LeaseService; the executor's context must outlive it. All I/O is on the
/// executor, without blocking, except that libpq looks up host names in the call that connects.
/// There are up to three connections: for renewals, so that nothing delays them, for changes, and
/// for reads and the watch.
class PostgresLeases final : public LeaseService, private Registry {
 public:
  /// Blocks: connects, checks or creates the tables. Fails with kBadUrl and kTransient.
  [[nodiscard]] static Result<std::unique_ptr<PostgresLeases>> Open(
      const PostgresLeasesOptions& options, const boost::asio::any_io_executor& executor,
      Diagnostics* diagnostics);
  ~PostgresLeases() override;

  static constexpr std::string_view kUrlSyntax =
      "postgres://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?lease_table=stout_lease][&poll=250ms]"
      "[&timeout=2s][&connect_timeout=2s][&create=true][&prepare=true][&sslmode=...]";
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

  static Result<std::unique_ptr<PostgresLeases>> OpenNamed(
      const postgres::TableNames& names, const PostgresLeasesOptions& options,
      const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  explicit PostgresLeases(std::shared_ptr<Engine> engine);
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
