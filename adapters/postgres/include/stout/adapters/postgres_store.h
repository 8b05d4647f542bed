#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stout/adapters/pending_calls.h"
#include "stout/adapters/store_url.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/store.h"

namespace stout {

/// SQL for a schema of the user's own, in place of the store's table. Each statement handles a
/// whole batch: its parameters are arrays. Their types are checked when the store opens.
///
/// | statement | parameters | columns of the result |
/// |---|---|---|
/// | `upsert`  | $1 bytea[] keys, $2 bytea[] values [, $3 int8 epoch, $4 int8[] versions] | none |
/// | `remove`  | $1 bytea[] keys [, $2 int8 epoch, $3 int8[] versions] | none |
/// | `select`  | $1 bytea[] keys | bytea key, bytea value [, int8 epoch, int8 version] |
///
/// With all parts in brackets, the statements compare stamps, and report it by the number of rows
/// that they touch: `INSERT ... ON CONFLICT ... DO UPDATE ... WHERE (epoch, version) < ...`, over
/// columns that are NOT NULL. Without them a late or repeated batch writes its old values again.
/// Statements should take their rows in the order of keys. Otherwise two servers may deadlock each
/// other (PostgreSQL then ends one of the batches, and it is sent again).
///
/// When the store opens, it writes, reads and removes a trial row in a transaction that it rolls
/// back. It refuses statements that take a value and return another. It logs a warning if the table
/// takes no trial row.
///
/// A store's URL names a file with the statements, `?templates=FILE.sql`. Each statement is below a
/// line of its own: `-- upsert`, `-- remove` or `-- select`.
struct PostgresTemplates {
  std::string upsert;
  std::string remove;
  std::string select;
};

struct PostgresOptions {
  // --- Behaviour -----------------------------------------------------------------------------

  /// A text for libpq: a URI ("postgresql://user:password@host:5432/database?sslmode=require") or
  /// "host=... dbname=...". Missing parts come from libpq's environment (PGHOST, ...), except
  /// target_session_attrs, which is read-write by default. `primary` and `any` are also allowed.
  /// Other values are refused, because a standby may lack acknowledged writes.
  std::string connection{};
  /// The store's table, with a schema or without: key bytea primary key, value bytea, epoch and
  /// version int8, deleted timestamptz. Epochs are given out by a table of the same name with
  /// "_epoch" behind it; "_fence" has the fences.
  std::string table = "stout";
  /// Create missing tables. If false, or if the role may not, Open() fails with the SQL to run.
  bool create = true;
  /// A schema of the user's own. The tables for epochs and fences are needed all the same.
  std::optional<PostgresTemplates> templates{};
  /// The templates take any bytes as a value (StoreTraits::opaque_values), so that stout-node may
  /// put deadlines into values. Opening fails if they refuse a value with all bytes, but take
  /// another one. The store's own table always takes any bytes.
  bool expiry = false;
  /// How long a delete keeps its stamp, so that a late older write cannot undo it. >= 0
  Duration tombstone_ttl = std::chrono::hours(1);
  /// After this time without an answer the connection is closed; the unanswered call may still
  /// happen. > 0
  Duration timeout = std::chrono::seconds(10);
  /// How long a batch waits for a lock that another session holds. Then it is cut until the locked
  /// rows stand alone; they fail with kTransient, and the rest is written. > 0
  Duration lock_timeout = std::chrono::milliseconds(100);
  /// Time for a new connection, on all hosts together. > 0
  Duration connect_timeout = std::chrono::seconds(5);

  // --- Performance ---------------------------------------------------------------------------

  /// Connections that write, each one batch at a time, opened when needed. 1..1000
  std::size_t connections = 4;
  /// Connections that read, of their own: waiting for a lock holds up no reads. 1..1000
  std::size_t read_connections = 2;
  /// Calls of either kind waiting or running, beyond which one fails with kTransient at once. >= 1
  std::size_t max_queue = 4096;
  /// Statements are prepared, and sessions set up, once a connection: not behind a pooler, which
  /// may give each transaction another session (pgbouncer with pool_mode = transaction). There, or
  /// everywhere if false, each transaction sets what it needs.
  bool prepare = true;
};

/// A store on PostgreSQL 14 or newer, by libpq in pipeline mode.
///
///     postgres://app@db.example/app?table=sessions&connections=4
///
/// A batch of any size is one round trip and one transaction, and is atomic. Stamps are compared
/// inside the statement (ON CONFLICT ... WHERE). A single row may fail: the server refuses it (a
/// constraint, a key beyond an index's limit), or another session keeps it locked. The store finds
/// such a row by halving, in savepoints of one transaction, and it fails alone. An SQLSTATE that
/// the store does not know counts as a refusal once it has come 8 times in a row for one row alone.
/// A deleted key is read as not found, with the stamp of the delete while its tombstone lives.
///
/// The log shows the first error of each SQLSTATE, and then at most one a minute, with a remedy.
///
/// Durability depends on the server's settings: `fsync = on` and `synchronous_commit` not `off`.
/// They are checked when the store opens.
///
/// Owner: the executor's context must outlive the store, and must run: between calls an io_context
///   may have no work. Calls without an answer when the store is destroyed fail: a batch or a fence
///   with kUnknown, any other call with kTransient.
/// Threads: any; all I/O is on the executor, without blocking, except that libpq looks up host
///   names in the call that connects. Open() blocks. Handlers run on the executor, in a call that
///   is refused at once, or in the destructor.
/// Errors: kTransient while there is no connection to a primary, and for a transaction that the
///   server rolled back (deadlock, serialization failure, disk full, a missing table). kUnknown if
///   the connection is lost, or silent, after a batch was sent, and if a commit no longer waits for
///   its synchronous standby. kTooLarge beyond traits().max_batch_bytes. Per item kFenced, kRefused
///   for a row that the server refuses, and kTransient for a locked row.
class PostgresStore final : public Store {
 public:
  /// Connects, checks or creates the tables. Fails with kBadUrl (also: no such database, wrong
  /// password, a schema that does not fit) and kTransient (not reachable now).
  [[nodiscard]] static Result<std::unique_ptr<PostgresStore>> Open(
      const PostgresOptions& options, const boost::asio::any_io_executor& executor,
      Diagnostics* diagnostics);
  ~PostgresStore() override;

  static constexpr std::string_view kUrlSyntax =
      "postgres://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?table=stout][&connections=4]"
      "[&read_connections=2][&timeout=10s][&lock_timeout=100ms][&connect_timeout=5s]"
      "[&tombstone_ttl=1h][&create=true][&prepare=true][&max_queue=4096][&templates=FILE.sql]"
      "[&expiry=false][&sslmode=...]";
  [[nodiscard]] static Result<std::unique_ptr<Store>> OpenUrl(
      const StoreUrl& url, const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  void NewEpoch(EpochHandler handler) override;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override;
  void Scan(const ScanRequest& request, ScanHandler handler) override;

 private:
  class Engine;

  PostgresStore(StoreTraits traits, std::shared_ptr<Engine> engine);

  const StoreTraits traits_;
  PendingCalls pending_;
  const std::shared_ptr<Engine> engine_;
};

}  // namespace stout
