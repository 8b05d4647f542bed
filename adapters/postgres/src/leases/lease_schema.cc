#include "lease_schema.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "stout/adapters/registry_json.h"
#include "stout/core/lease_table.h"

namespace stout::postgres {
namespace {

// The timeline of what is written now. pg_control_checkpoint() shows that of the last checkpoint,
// which stays the former one for minutes after a promotion.
constexpr std::string_view kTimelineSql = "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)";
constexpr std::string_view kSystemSql = "(SELECT system_identifier::text FROM pg_control_system())";

// Larger than any earlier number, also where a copy of older tables has come back.
constexpr std::string_view kTimeSql = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8";

// The conditions of `put_record` and `remove_record`, after `bury`.
constexpr std::string_view kMaySql =
    "($2::int8 < 0 OR $2::int8 = coalesce((SELECT revision FROM {g} WHERE key = $1::text), 0)) "
    "AND ($3::int8 = 0 OR EXISTS (SELECT FROM {m} WHERE session = $3::int8)) "
    "AND ($4::int8 < 0 OR EXISTS (SELECT FROM {r} JOIN {m} USING (session) "
    "WHERE range = $4::int8 AND epoch = $5::int8))";

// Text as an SQL literal.
std::string Literal(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) literal.append(c == '\'' ? 2 : 1, c);
  return literal + '\'';
}

}  // namespace

LeaseSchema MakeLeaseSchema(const TableNames& names, Identity identity) {
  // A role that may not ask for the system identifier leaves that part empty, and compares none.
  const bool asks = identity == Identity::kSystemAndTimeline;
  const std::string id = fmt::format("{} || '/' || {}", asks ? kSystemSql : "''", kTimelineSql);
  std::string differs = fmt::format("split_part(address, '/', 2) <> {}", kTimelineSql);
  if (asks) differs += fmt::format(" OR split_part(address, '/', 1) NOT IN ('', {})", kSystemSql);
  const auto with_tables = [&](std::string_view sql) {
    return fmt::format(fmt::runtime(sql), fmt::arg("n", names.With("_number")),
                       fmt::arg("m", names.With("_members")), fmt::arg("r", names.With("_ranges")),
                       fmt::arg("g", names.With("_records")), fmt::arg("id", id),
                       fmt::arg("differs", differs), fmt::arg("time", kTimeSql),
                       fmt::arg("hash", kHashPartition), fmt::arg("suspect", kSuspect));
  };
  constexpr Type kInt = Type::kInt8;
  LeaseSchema schema;
  schema.durably = {"stout_durably",
                    "SELECT set_config('synchronous_commit', 'on', true) "
                    "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')",
                    {}};
  // The number is locked before the members, as in all that locks both.
  schema.note_server = {"stout_note_server",
                        with_tables(
                            R"(WITH changed AS (
  UPDATE {n} SET next = greatest(next, {time})
  WHERE EXISTS (SELECT FROM {m} WHERE session = -1 AND ({differs})) RETURNING next),
ended AS (DELETE FROM {m} WHERE session > 0 AND EXISTS (SELECT FROM changed)),
suspected AS (UPDATE {g} SET value = '{suspect}' || value, revision = (SELECT next FROM changed)
  WHERE key LIKE 'set/%' AND value NOT LIKE '{suspect}%' AND EXISTS (SELECT FROM changed))
UPDATE {m} SET address = {id}, expires_at = CASE WHEN EXISTS (SELECT FROM changed)
  THEN clock_timestamp() + ttl_us * interval '1 microsecond' ELSE expires_at END
WHERE session = -1
AND (EXISTS (SELECT FROM changed) OR (address LIKE '/%' AND {id} NOT LIKE '/%')))"),
                        {}};
  schema.know_server = {"stout_know_server",
                        with_tables("INSERT INTO {m} AS m VALUES (-1, {id}, $1::int8, '-infinity') "
                                    "ON CONFLICT (session) DO UPDATE SET ttl_us = excluded.ttl_us "
                                    "WHERE m.ttl_us < excluded.ttl_us"),
                        {kInt}};
  schema.next_number = {
      "stout_next_number", with_tables("UPDATE {n} SET next = greatest(next + 1, {time})"), {}};
  schema.bury = {
      "stout_bury",
      with_tables("DELETE FROM {m} WHERE session > 0 AND expires_at <= clock_timestamp()"),
      {}};
  schema.fix_ranges = {
      "stout_fix_ranges",
      with_tables("WITH fixed AS (UPDATE {n} SET ranges = $1::int8 WHERE ranges IS NULL "
                  "RETURNING ranges) "
                  "INSERT INTO {m} SELECT -2, $2::text, 0, 'infinity' FROM fixed "
                  "WHERE ranges < 0 ON CONFLICT (session) "
                  "DO UPDATE SET address = excluded.address"),
      {kInt, Type::kText}};
  schema.fill_ranges = {
      "stout_fill_ranges",
      with_tables("INSERT INTO {r} (range) SELECT generate_series(0, abs(ranges) - 1) "
                  "FROM {n} ON CONFLICT DO NOTHING"),
      {}};
  schema.join = {"stout_join",
                 with_tables("INSERT INTO {m} SELECT next, $2::text, $3::int8, "
                             "clock_timestamp() + $3::int8 * interval '1 microsecond' "
                             "FROM {n} WHERE ranges = $1::int8 AND $4::text = "
                             "coalesce((SELECT address FROM {m} WHERE session = -2), '{hash}') "
                             "RETURNING session"),
                 {kInt, Type::kText, kInt, Type::kText}};
  schema.keep_alive = {
      "stout_keep_alive",
      with_tables("UPDATE {m} SET expires_at = clock_timestamp() + ttl_us * interval "
                  "'1 microsecond' WHERE session = $1::int8 AND expires_at > clock_timestamp()"),
      {kInt}};
  schema.leave = {"stout_leave", with_tables("DELETE FROM {m} WHERE session = $1::int8"), {kInt}};
  schema.take = {"stout_take",
                 with_tables("UPDATE {r} r SET session = $1::int8, epoch = n.next FROM {n} n "
                             "WHERE range = $2::int8 "
                             "AND EXISTS (SELECT FROM {m} m WHERE m.session = $1::int8) "
                             "AND NOT EXISTS (SELECT FROM {m} m WHERE m.session = r.session "
                             "OR (m.session = -1 AND m.expires_at > clock_timestamp()))"),
                 {kInt, kInt}};
  schema.holds = {"stout_holds",
                  with_tables("SELECT (SELECT count(*) FROM {m} WHERE session = $1::int8 "
                              "AND expires_at > clock_timestamp()), r.range, "
                              "CASE r.session WHEN $1::int8 THEN r.epoch END "
                              "FROM (VALUES (1)) one LEFT JOIN {r} r ON r.range = $2::int8"),
                  {kInt, kInt}};
  schema.release = {"stout_release",
                    with_tables("UPDATE {r} SET session = NULL WHERE session = $1::int8 "
                                "AND range = $2::int8 AND epoch = $3::int8"),
                    {kInt, kInt, kInt}};
  schema.table = {
      "stout_table",
      with_tables("WITH alive AS (SELECT session, address FROM {m} "
                  "WHERE session <> -1 AND expires_at > clock_timestamp()) "
                  "SELECT NULL::int8 AS range, address, session, NULL::int8 FROM alive UNION ALL "
                  "SELECT r.range, a.address, a.session, r.epoch FROM {r} r "
                  "LEFT JOIN alive a USING (session) ORDER BY range NULLS FIRST"),
      {}};
  schema.put_record = {
      "stout_put_record",
      with_tables("INSERT INTO {g} AS g SELECT $1::text, $6::text, next, nullif($3::int8, 0) "
                  "FROM {n} WHERE " +
                  std::string(kMaySql) +
                  " ON CONFLICT (key) DO UPDATE SET "
                  "value = excluded.value, revision = excluded.revision, "
                  "session = excluded.session RETURNING g.revision"),
      {Type::kText, kInt, kInt, kInt, kInt, Type::kText}};
  schema.remove_record = {
      "stout_remove_record",
      with_tables("DELETE FROM {g} USING {n} WHERE key = $1::text AND " + std::string(kMaySql)),
      {Type::kText, kInt, kInt, kInt, kInt}};
  schema.bury_records = {
      "stout_bury_records",
      with_tables("DELETE FROM {g} g WHERE session IS NOT NULL "
                  "AND NOT EXISTS (SELECT FROM {m} m WHERE m.session = g.session)"),
      {}};
  schema.record = {"stout_record",
                   with_tables("SELECT (SELECT count(*) FROM {m} WHERE session = $2::int8), "
                               "(SELECT count(*) FROM {r} JOIN {m} USING (session) "
                               "WHERE range = $3::int8 AND epoch = $4::int8), "
                               "g.value, g.revision FROM (VALUES (1)) one "
                               "LEFT JOIN {g} g ON g.key = $1::text"),
                   {Type::kText, kInt, kInt, kInt}};
  schema.records = {"stout_records",
                    with_tables("SELECT key, value, revision FROM {g} g WHERE session IS NULL "
                                "OR EXISTS (SELECT FROM {m} m WHERE m.session = g.session "
                                "AND m.expires_at > clock_timestamp())"),
                    {}};
  schema.exists = {"",
                   "SELECT (to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL "
                   "AND to_regclass($3) IS NOT NULL AND to_regclass($4) IS NOT NULL)::int4::int8",
                   {Type::kText, Type::kText, Type::kText, Type::kText}};
  schema.may_identify = {
      "", "SELECT has_function_privilege('pg_control_system()', 'execute')::int4::int8", {}};
  // One at a time: IF NOT EXISTS does not keep two from creating the same.
  for (const std::string_view sql :
       {"SELECT pg_advisory_xact_lock(7305241)",
        "CREATE TABLE IF NOT EXISTS {n} (one boolean PRIMARY KEY DEFAULT true CHECK (one), "
        "ranges int8, next int8 NOT NULL)",
        "CREATE TABLE IF NOT EXISTS {m} (session int8 PRIMARY KEY, address text NOT NULL, "
        "ttl_us int8 NOT NULL, expires_at timestamptz NOT NULL)",
        "CREATE TABLE IF NOT EXISTS {r} (range int8 PRIMARY KEY, session int8, epoch int8)",
        "CREATE TABLE IF NOT EXISTS {g} (key text PRIMARY KEY, value text NOT NULL, "
        "revision int8 NOT NULL, session int8)"}) {
    schema.create.push_back({"", with_tables(sql), {}});
  }
  schema.has_number = {"", with_tables("SELECT count(*) FROM {n}"), {}};
  schema.make_number = {
      "",
      with_tables("INSERT INTO {n} (ranges, next) SELECT nullif(count(*), 0) * CASE WHEN EXISTS "
                  "(SELECT FROM {m} WHERE session = -2) THEN -1 ELSE 1 END, {time} FROM {r} "
                  "ON CONFLICT DO NOTHING"),
      {}};
  schema.create.push_back(schema.make_number);
  return schema;
}

std::vector<const Statement*> LeaseSchema::statements() const {
  return {&durably,       &note_server,  &know_server, &next_number, &bury,
          &fix_ranges,    &fill_ranges,  &join,        &keep_alive,  &leave,
          &take,          &holds,        &release,     &table,       &put_record,
          &remove_record, &bury_records, &record,      &records};
}

std::string WhyNumberIsLost(const LeaseSchema& schema, const TableNames& names) {
  return fmt::format(
      "table {} is empty, so no range is granted; restore it from a backup of all tables, or run:\n"
      "{};",
      names.With("_number"), schema.make_number.sql);
}

Statement DropTable(const TableNames& names, const TableNames& dropped, std::string_view name,
                    std::uint64_t revision) {
  // A join that comes later waits for the lock, and then finds no table.
  const std::string body = fmt::format(
      R"(BEGIN
  IF NOT EXISTS (SELECT FROM {number}, {g}
                 WHERE key = 'table/{name}' AND revision = {revision}) THEN
    RETURN;
  END IF;
  IF to_regclass({members_text}) IS NOT NULL THEN
    PERFORM set_config('lock_timeout', '200ms', true);
    LOCK TABLE {n}, {m}, {r};
    IF EXISTS (SELECT FROM {m} WHERE session > 0 AND expires_at > clock_timestamp()) THEN
      RETURN;
    END IF;
    DROP TABLE {n}, {m}, {r};
    DROP TABLE IF EXISTS {dropped_records};
  END IF;
  DELETE FROM {g} WHERE key = 'table/{name}';
END)",
      fmt::arg("number", names.With("_number")), fmt::arg("g", names.With("_records")),
      fmt::arg("name", name), fmt::arg("revision", revision),
      fmt::arg("members_text", Literal(dropped.With("_members"))),
      fmt::arg("n", dropped.With("_number")), fmt::arg("m", dropped.With("_members")),
      fmt::arg("r", dropped.With("_ranges")),
      fmt::arg("dropped_records", dropped.With("_records")));
  return {"", "DO " + Literal(body), {}};
}

}  // namespace stout::postgres
