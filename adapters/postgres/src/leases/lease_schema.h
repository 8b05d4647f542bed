#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../connection.h"
#include "../table_names.h"

namespace stout::postgres {

// The statements of leases in a database. Each except `table` is part of a transaction.
//
// A session is alive while its row exists and has not expired. A take of a range first locks the
// number, so that takes run one at a time and each sees the earlier ones. It then deletes the rows
// that have expired. A renewal at the same time either is seen, or finds its row gone. Therefore no
// server is told that its session lives while another server holds it for dead.
//
// The number of ranges is negative if the partition is not kHashPartition. Then a row of the
// members whose session is -2 has the partition's name as its address. Earlier versions of this
// library know kHashPartition only. They find no equal number, so they are refused.
//
// A row of the members whose session is -1 is about the server. It has its identity, as an address
// "SYSTEM/TIMELINE", and the longest ttl that was ever requested. If the identity changes, a
// standby was promoted or a backup restored, and the last records may be missing. Then all sessions
// end, and this row bars every range until one ttl has passed. By then the leases whose records are
// missing have ended by their owners' clocks. The sets may be old too: kSuspect before their values
// keeps them from being used. Numbers are at least the time in microseconds, so
// none is given out twice.
//
// A change of a registry's record locks the number like a take. Therefore it sees the owner of its
// range, and the number is the record's revision. A record whose session has ended is not shown.
struct LeaseSchema {
  Statement durably;      // The transaction is durable when it is answered.
  Statement note_server;  // Ends all sessions if the server's identity has changed.
  Statement know_server;  // $1 int8 ttl in µs. Notes the identity, if it is new, and the ttl.
  Statement next_number;  // Locks; numbers are sessions and epochs. Touches no row if it is lost.
  Statement bury;         // Deletes what has expired.

  // $1 int8: the number of ranges, negative except for kHashPartition; $2 text partition. Fixes
  // both, unless they are fixed.
  Statement fix_ranges;
  Statement fill_ranges;
  // $1, $4 as `fix_ranges`, $2 text address, $3 int8 ttl in µs. Returns the session.
  Statement join;
  Statement keep_alive;  // $1 int8 session. Touches its row, if it is alive.
  Statement leave;       // $1 int8 session.
  Statement take;        // $1 int8 session, $2 int8 range: under the number, if it is free.
  Statement holds;       // $1, $2 as `take`. One row: see HoldsColumn.
  Statement release;     // $1 int8 session, $2 int8 range, $3 int8 epoch.
  Statement table;       // See TableColumn.

  // The statements of the registry run after `bury`. $1 text: the key. $2 int8: the revision that
  // the record must have; 0: there must be no record; negative: any. $3 int8: the session that must
  // be alive, or 0. $4, $5 int8: the range and the epoch under which it must be held; a negative
  // range: none.
  Statement put_record;  // $6 text value. Returns the revision, if it was done.
  Statement remove_record;
  Statement bury_records;  // Deletes those whose sessions have ended.
  // $1 is the key, $2 the session, $3 the range, $4 the epoch. One row: see RecordColumn.
  Statement record;
  Statement records;  // All: text key, text value, int8 revision.
  // int8 1: alive; int8 1: held; text value and int8 revision, null: there is no record.
  enum RecordColumn : int { kRecordAlive, kRecordOwned, kRecordValue, kRecordRevision };

  // int8 all.
  enum HoldsColumn : int { kAlive, kRange, kEpoch };  // 1: alive; null: no such; null: another's.
  // Members and the partition (session kPartition) first, with kRange null; then the ranges in
  // order, with nulls where they are free.
  static constexpr std::int64_t kPartition = -2;
  enum TableColumn : int { kTableRange, kTableAddress, kTableSession, kTableEpoch };

  [[nodiscard]] std::vector<const Statement*> statements() const;

  Statement exists;               // int8 1: the tables are there.
  Statement may_identify;         // int8 1: the role may ask for the system identifier.
  std::vector<Statement> create;  // One transaction; the last is make_number.
  Statement has_number;           // int8 1: the number is there.
  // Inserts the number if it is lost, with the partition that the other tables have.
  Statement make_number;
};

// Names the table and the remedy, if the number is lost: the table was emptied, or restored without
// its data.
[[nodiscard]] std::string WhyNumberIsLost(const LeaseSchema& schema, const TableNames& names);

// Removes the record "table/NAME" from the deployment `names`, and drops the tables `dropped` if
// they are there. Does nothing if the record has another revision, or if a session is alive there.
[[nodiscard]] Statement DropTable(const TableNames& names, const TableNames& dropped,
                                  std::string_view name, std::uint64_t revision);

// The parts of a server's identity that a role may know. The timeline grows at each promotion. The
// system identifier differs in a cluster that was restored from a dump. Roles that may know more
// and less share one deployment.
enum class Identity { kSystemAndTimeline, kTimeline };

[[nodiscard]] LeaseSchema MakeLeaseSchema(const TableNames& names, Identity identity);

}  // namespace stout::postgres
