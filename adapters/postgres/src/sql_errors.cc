#include "sql_errors.h"

#include <array>

namespace stout::postgres {
namespace {

struct KnownError {
  std::string_view prefix;
  SqlError error;
};

// A longer prefix comes before a shorter one. Source: PostgreSQL's "Error Codes".
constexpr std::array<KnownError, 29> kKnown = {{
    {"55P03",
     {Blame::kLock,
      "another session keeps rows or the table locked; find it with pg_blocking_pids() and end its "
      "transaction"}},
    {"22",
     {Blame::kRow, "the table or templates= cannot hold this value; change the value or them"}},
    {"23", {Blame::kRow, "a constraint of the table excludes this row; change the row or it"}},
    {"44000", {Blame::kRow, "the view excludes this row (WITH CHECK OPTION)"}},
    {"54", {Blame::kRow, "the key or the value is beyond a limit of the server; shorten it"}},
    {"P0001", {Blame::kRow, "a trigger of the table excludes this row; change the row or it"}},
    {"01",
     {Blame::kServer,
      "a commit no longer waits for its synchronous standby; the batch is written again"}},
    {"08", {Blame::kServer, "the connection failed; the store connects again"}},
    {"25006",
     {Blame::kServer,
      "the server, the role or the database only reads; name the primary in the URL, or set "
      "default_transaction_read_only = off"}},
    {"25", {Blame::kServer, "the server ended a transaction; raise its transaction time-outs"}},
    {"26", {Blame::kServer, "an undetected pooler lost a prepared statement; use prepare=false"}},
    {"28",
     {Blame::kServer, "the server does not let this role in; check the role and pg_hba.conf"}},
    {"3D", {Blame::kServer, "the database is gone; create it again"}},
    {"3F", {Blame::kServer, "the schema is gone; create it again"}},
    {"40P01",
     {Blame::kServer, "a deadlock; the batch is sent again; lock rows in the order of their keys"}},
    {"40", {Blame::kServer, "the server rolled the transaction back; the batch is sent again"}},
    {"42501", {Blame::kServer, "the role lacks a privilege; GRANT it"}},
    {"42P01", {Blame::kServer, "a table is missing; restart this process, which creates it"}},
    {"42P05",
     {Blame::kServer, "an undetected pooler shares prepared statements; use prepare=false"}},
    {"42", {Blame::kServer, "a statement no longer fits the table; undo the change of the table"}},
    {"53100", {Blame::kServer, "the server's disk is full; free some space"}},
    {"53200",
     {Blame::kServer, "the server is out of memory; give it more, or send smaller batches"}},
    {"53300",
     {Blame::kServer,
      "too many connections; raise max_connections, or lower connections= and "
      "read_connections="}},
    {"53", {Blame::kServer, "the server is short of a resource; see its log"}},
    {"57014", {Blame::kServer, "statement_timeout or an administrator ended a statement"}},
    {"57",
     {Blame::kServer, "an operator stopped the server or a session; the store connects again"}},
    {"58", {Blame::kServer, "the server's file system failed; see its log"}},
    {"XX001", {Blame::kServer, "the server's data is damaged; see its log"}},
    {"XX002", {Blame::kServer, "an index is damaged; REINDEX it"}},
}};

}  // namespace

SqlError ExplainSqlstate(std::string_view sqlstate) {
  for (const KnownError& known : kKnown) {
    if (sqlstate.starts_with(known.prefix)) return known.error;
  }
  return {Blame::kUnknown,
          "an unknown error; if it repeats for one row, that row is refused; see triggers"};
}

}  // namespace stout::postgres
