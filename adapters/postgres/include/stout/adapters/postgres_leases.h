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

namespace stout {

struct PostgresLeasesOptions {
  /// As PostgresOptions::connection: a primary.
  std::string connection{};
  /// Of the three tables, with a schema or without: this name with "_number", "_members" and
  /// "_ranges" behind it. One name for each deployment.
  std::string table = "stout_lease";
  /// Create the tables if they are missing and the user may; otherwise Open() says how.
  bool create = true;
  /// Between looks at the table: how late a watch is at most. > 0
  Duration poll = std::chrono::milliseconds(250);
  /// No answer for so long: the connection is given up, and what was asked may yet happen. > 0
  Duration timeout = std::chrono::seconds(2);
  /// Time for a new connection, on all addresses of the host together. > 0
  Duration connect_timeout = std::chrono::seconds(2);
  /// As PostgresOptions::prepare: false behind a pooler.
  bool prepare = true;
};

/// Leases in a PostgreSQL database of version 14 or newer: no new server for those who have one.
///
///     postgres://app@db.example/app?lease_table=stout_lease
///
/// All time is the server's (clock_timestamp()), which must not be stepped forward by hand: that
/// would end sessions early. A session is over once its row has expired; only then may another take
/// what it held. Numbers of sessions and epochs come from one row, locked by whoever takes a range.
/// Changes are committed durably even where the server's synchronous_commit is off. A promoted
/// standby may lack the last of them: when the server's timeline or system identifier has changed,
/// all sessions end, and no range is granted for one ttl.
/// The watch polls: expiry makes no notification.
///
/// Owner, threads: as LeaseService; the executor's context must outlive it. All I/O is on the
///   executor, without blocking, except that libpq looks up host names in the call that connects.
///   Two connections: one for renewals and the watch, which nothing else holds up.
class PostgresLeases final : public LeaseService {
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
  [[nodiscard]] Watch WatchTable(TableHandler handler) override;

 private:
  class Engine;

  explicit PostgresLeases(std::shared_ptr<Engine> engine);
  [[nodiscard]] std::shared_ptr<PendingCall<Errc>> AddCall(Handler handler);

  PendingCalls pending_;
  const std::shared_ptr<Engine> engine_;
};

}  // namespace stout
