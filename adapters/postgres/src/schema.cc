#include "schema.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "sql_errors.h"
#include "stout/adapters/scan_page.h"
#include "table_names.h"

namespace stout::postgres {
namespace {

// The numbers of the advisory lock of scope $1: those of this project, and of the scope by a hash
// of the server's. Scopes that share a number wait for each other now and then, no more.
constexpr std::string_view kScopeLock = "7305241, hashtext(encode($1::bytea, 'hex'))";

// See fence.h.
template <typename WithTables>
void AddFences(const WithTables& with_tables, Schema* schema) {
  schema->share_scope = {"stout_share_scope",
                         with_tables("SELECT pg_advisory_xact_lock_shared({lock})"),
                         {Type::kBytea}};
  schema->check_fence = {"stout_check_fence",
                         with_tables("SELECT CASE WHEN epoch > $2::int8 THEN ('{fenced}' || "
                                     "epoch)::int8 END FROM {f} WHERE scope = $1::bytea"),
                         {Type::kBytea, Type::kInt8}};
  schema->holds_fence = {
      "stout_holds_fence",
      with_tables("SELECT FROM {f} WHERE scope = $1::bytea AND epoch = $2::int8"),
      {Type::kBytea, Type::kInt8}};
  schema->patience = {
      "stout_patience",
      "SELECT set_config('lock_timeout', $1::int8 || 'ms', true), "
      "CASE WHEN current_setting('synchronous_commit') NOT IN "
      "('on', 'remote_apply') THEN set_config('synchronous_commit', 'on', true) END",
      {Type::kInt8}};
  schema->take_scope = {
      "stout_take_scope", with_tables("SELECT pg_advisory_xact_lock({lock})"), {Type::kBytea}};
  schema->raise_fence = {
      "stout_raise_fence",
      with_tables("INSERT INTO {f} AS f VALUES ($1::bytea, $2::int8) ON CONFLICT (scope) DO UPDATE "
                  "SET epoch = excluded.epoch WHERE f.epoch <= excluded.epoch"),
      {Type::kBytea, Type::kInt8}};
  schema->evict = {"stout_evict",
                   with_tables(R"(SELECT pg_terminate_backend(pid, 1000)
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE wait_event IS DISTINCT FROM 'SyncRep' AND locktype = 'advisory' AND granted AND objsubid = 2 AND pid <> pg_backend_pid()
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND (classid::int8::bit(32)::int4, objid::int8::bit(32)::int4) = ({lock}))"),
                   {Type::kBytea}};
}

}  // namespace

Result<Schema> MakeSchema(const PostgresOptions& options, std::string* error) {
  Schema schema;
  const std::optional<TableNames> names = TableNames::Parse(options.table, error);
  if (!names) return Errc::kBadUrl;
  schema.table = names->With("");
  schema.epoch_table = names->With("_epoch");
  schema.fence_table = names->With("_fence");
  const std::string index = names->WithoutSchema("_deleted");  // in the schema of its table
  const auto with_tables = [&](std::string_view sql) {
    return fmt::format(fmt::runtime(sql), fmt::arg("t", schema.table),
                       fmt::arg("e", schema.epoch_table), fmt::arg("f", schema.fence_table),
                       fmt::arg("i", index), fmt::arg("rows", kCollectRows),
                       fmt::arg("lock", kScopeLock), fmt::arg("fenced", kFencedBy),
                       fmt::arg("key_bytes", ScanPage::kKeyBytes));
  };
  schema.create = with_tables(R"(CREATE TABLE IF NOT EXISTS {e} (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch int8 NOT NULL);
CREATE TABLE IF NOT EXISTS {f} (
  scope bytea PRIMARY KEY,
  epoch int8 NOT NULL);
)");
  schema.note_epoch = {"stout_note_epoch",
                       with_tables("UPDATE {e} SET epoch = $1 WHERE epoch < $1::int8"),
                       {Type::kInt8}};
  schema.new_epoch = {
      "stout_new_epoch", with_tables("UPDATE {e} SET epoch = epoch + 1 RETURNING epoch"), {}};
  AddFences(with_tables, &schema);
  schema.write_log = {"stout_write_log", "SELECT pg_logical_emit_message(true, '', '')", {}};
  // Not below an epoch that a row or a fence has, in case the epoch was lost.
  schema.epoch_row =
      with_tables("INSERT INTO {e} SELECT true, coalesce(max(epoch), 0) FROM ") +
      with_tables(options.templates ? "{f}"
                                    : "(SELECT epoch FROM {f} UNION ALL SELECT epoch FROM {t})") +
      with_tables(" AS seen WHERE NOT EXISTS (SELECT FROM {e}) ON CONFLICT DO NOTHING;\n");
  if (options.templates) {
    schema.own = false;
    schema.create += schema.epoch_row;
    const PostgresTemplates& own = *options.templates;
    schema.compares_stamps = own.upsert.find("$4") != std::string::npos;
    schema.upsert = {"stout_upsert", own.upsert, {Type::kByteaArray, Type::kByteaArray}};
    schema.remove = {"stout_remove", own.remove, {Type::kByteaArray}};
    schema.select = {"stout_select", own.select, {Type::kByteaArray}};
    if (schema.compares_stamps) {
      schema.stamps = schema.select;
      schema.stamps.name = "stout_stamps";
      for (Statement* statement : {&schema.upsert, &schema.remove}) {
        statement->parameters.push_back(Type::kInt8);
        statement->parameters.push_back(Type::kInt8Array);
      }
    }
    return schema;
  }
  schema.create += with_tables(R"(CREATE TABLE IF NOT EXISTS {t} (
  key bytea PRIMARY KEY,
  value bytea,
  epoch int8 NOT NULL,
  version int8 NOT NULL,
  deleted timestamptz);
CREATE INDEX IF NOT EXISTS {i} ON {t} (deleted) WHERE deleted IS NOT NULL;
)") + schema.epoch_row;
  // Rows are taken in the order of their keys, so that two servers cannot deadlock each other.
  constexpr std::string_view kUnlessNewer = R"( ON CONFLICT (key) DO UPDATE SET
  value = excluded.value, epoch = excluded.epoch, version = excluded.version,
  deleted = excluded.deleted
WHERE (t.epoch, t.version) < (excluded.epoch, excluded.version))";
  schema.upsert = {"stout_upsert",
                   with_tables(R"(INSERT INTO {t} AS t (key, value, epoch, version, deleted)
SELECT k, v, $3::int8, n, CASE WHEN v IS NULL THEN now() END
FROM unnest($1::bytea[], $2::bytea[], $4::int8[]) AS u (k, v, n) ORDER BY k)") +
                       std::string(kUnlessNewer),
                   {Type::kByteaArray, Type::kByteaArray, Type::kInt8, Type::kInt8Array}};
  schema.upsert_one = {"stout_upsert_one",
                       with_tables(R"(INSERT INTO {t} AS t (key, value, epoch, version, deleted)
VALUES ($1::bytea, $2::bytea, $3::int8, $4::int8, NULL))") +
                           std::string(kUnlessNewer),
                       {Type::kBytea, Type::kBytea, Type::kInt8, Type::kInt8}};
  schema.select = {"stout_select",
                   with_tables("SELECT key, value, epoch, version FROM {t} "
                               "WHERE key = ANY ($1::bytea[])"),
                   {Type::kByteaArray}};
  schema.stamps = {"stout_stamps",
                   with_tables("SELECT key, CASE WHEN value IS NOT NULL THEN ''::bytea END, epoch, "
                               "version FROM {t} WHERE key = ANY ($1::bytea[])"),
                   {Type::kByteaArray}};
  // bytea has no collation: it is ordered by unsigned bytes. The sum is of the rows before, so that
  // the first row is always among the answers. octet_length() does not read a value that is stored
  // out of line.
  schema.scan = {"stout_scan",
                 with_tables(R"(SELECT key,
CASE WHEN $4::int8 = 1 OR value IS NULL THEN value ELSE ''::bytea END, epoch, version FROM (
SELECT key, value, epoch, version,
sum({key_bytes} + octet_length(key) + $4::int8 * COALESCE(octet_length(value), 0))
OVER (ORDER BY key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
FROM {t} WHERE key >= $1::bytea ORDER BY key LIMIT $2::int8) AS page
WHERE COALESCE(before, 0) < $3::int8 ORDER BY key)"),
                 {Type::kBytea, Type::kInt8, Type::kInt8, Type::kInt8}};
  schema.collect = {"stout_collect",
                    with_tables(R"(DELETE FROM {t} WHERE key = ANY (ARRAY(
SELECT key FROM {t} WHERE deleted < now() - $1::int8 * interval '1 second'
ORDER BY key LIMIT {rows} FOR UPDATE SKIP LOCKED)))"),
                    {Type::kInt8}};
  return schema;
}

std::vector<const Statement*> Schema::statements() const {
  std::vector<const Statement*> all;
  for (const Statement* s : {&upsert, &upsert_one, &remove, &select, &stamps, &scan, &note_epoch,
                             &new_epoch, &collect, &write_log, &share_scope, &check_fence,
                             &holds_fence, &patience, &take_scope, &raise_fence, &evict}) {
    if (!s->sql.empty()) all.push_back(s);
  }
  return all;
}

}  // namespace stout::postgres
