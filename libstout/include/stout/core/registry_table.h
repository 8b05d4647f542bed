#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stout/core/lease_table.h"
#include "stout/core/range_record.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

// The records of a replicated store, stored with its leases: configuration, datalets, sets, wanted
// owners (docs/decisions/0025). stout/registry.h has the calls. All types are values without
// threads. Times are Unix times in whole microseconds.

/// Version of a record. It grows with each change of the record. Zero means "no record".
using Revision = std::uint64_t;

/// The condition for the answer to a write, and the members that a strong read asks: see
/// docs/CLUSTER.md, "Modes". "aa+sc" is another name of "ms+sc". In kAaEc all nodes write every
/// key.
enum class ReplicationMode { kMsSc, kMsEc, kAaEc };
/// Returns the mode that is in force.
[[nodiscard]] ReplicationMode ModeOf(const RangeRecord& record);
[[nodiscard]] std::string_view NameOf(ReplicationMode mode);
[[nodiscard]] std::optional<ReplicationMode> ParseReplicationMode(std::string_view name);

/// The configuration of a deployment. The first node writes it; later nodes must agree
/// (WhyRefused).
struct ClusterConfig {
  ReplicationMode mode =
      ReplicationMode::kMsSc;  ///< wanted; ModeOf(RangeRecord) is the present one
  std::uint32_t replicas = 3;  ///< wanted members of each range, lazy ones not counted; >= 1
  std::uint32_t min_in = 1;    ///< with fewer members `in`, writes are refused; 1..replicas
  std::uint32_t ack = 1;       ///< members that a write of an ec mode waits for; 1..replicas
  /// A member that makes no progress for this time is no longer `in`. >= 1 us
  Duration member_timeout = std::chrono::seconds(2);
  std::string partition = "slots";  ///< as LeaseMember::partition
  RangeId ranges = 16;              ///< 1..kMaxRanges

  bool operator==(const ClusterConfig&) const = default;
};
/// Returns one line that names the setting, its limit and the remedy; nullopt if all are in range.
[[nodiscard]] std::optional<std::string> WhyInvalid(const ClusterConfig& config);
/// Returns why a node that was started with `wanted` cannot serve a deployment that has `kept`,
/// with both values and the remedy. Returns nullopt if they agree. The caller sets each option that
/// was not given to `kept`'s value.
[[nodiscard]] std::optional<std::string> WhyRefused(const ClusterConfig& wanted,
                                                    const ClusterConfig& kept);

/// A store that can be a member of ranges.
struct Datalet {
  std::string url{};           ///< "stout://10.0.0.7:7001", "postgres://db/app"
  std::string node{};          ///< address of the node that serves it; empty: no node does
  std::uint32_t capacity = 1;  ///< weight in placement, in the same unit for all; 0: no ranges
  TimePoint since{};           ///< when it was added
  bool leaving = false;        ///< it gets no ranges, and is removed once it is `in` for none
  /// It is a lazy member of all ranges: it gets every change, and no answer waits for it.
  bool lazy = false;

  bool operator==(const Datalet&) const = default;
};

/// The member that should own a range while it is alive, instead of the one of RightfulOwners.
struct WantedOwner {
  std::string node{};  ///< its address, as in LeaseTable::members

  bool operator==(const WantedOwner&) const = default;
};

/// The versions with one number that a node has reserved: see HybridClock.
struct ReservedVersions {
  std::uint64_t until = 0;  ///< Unix time in microseconds

  bool operator==(const ReservedVersions&) const = default;
};

template <typename T>
struct Recorded {
  T value{};
  Revision revision = 0;

  bool operator==(const Recorded&) const = default;
};

/// All records at one moment.
struct RegistryTable {
  std::optional<Recorded<ClusterConfig>> config;
  std::map<std::string, Recorded<Datalet>> datalets;  ///< by id
  std::map<RangeId, Recorded<RangeRecord>> sets;
  std::map<std::string, Recorded<ClusterConfig>> tables;       ///< first configurations, by name
  std::map<RangeId, Recorded<WantedOwner>> wanted_owners;      ///< by range
  std::map<std::uint32_t, Recorded<ReservedVersions>> clocks;  ///< by number
  /// Records that cannot be read, by key ("set/3"), each as an error with the key and the remedy.
  /// They are missing above. A change may replace them, with their revision.
  std::map<std::string, Recorded<std::string>> damaged;

  bool operator==(const RegistryTable&) const = default;
};

using RegistryValue =
    std::variant<ClusterConfig, Datalet, RangeRecord, WantedOwner, ReservedVersions>;

/// Returns true if the datalet may be `in` or awaited for a range: a set names it, or a set is
/// damaged.
[[nodiscard]] bool MayBeIn(const RegistryTable& table, std::string_view datalet);

/// One change of one record, and its conditions. A coordinator compares and changes in one
/// transaction. The functions below make it.
struct RegistryChange {
  struct Owned {
    RangeId range = 0;
    Epoch epoch = 0;
    bool operator==(const Owned&) const = default;
  };

  std::string key{};                     ///< "config", "datalet/ID", "set/RANGE", ...
  std::optional<RegistryValue> value{};  ///< nullopt: remove the record
  std::optional<Revision> read{};        ///< revision that the record must have; 0: no record
  SessionId session = 0;                 ///< must be alive; the record ends with it. 0: none
  std::optional<Owned> owned{};          ///< the range must have an owner under this epoch

  bool operator==(const RegistryChange&) const = default;
};

/// Changes the configuration. `read`: revision of the configuration that was read; 0 to write the
/// first.
[[nodiscard]] RegistryChange ChangeConfig(ClusterConfig config, Revision read);
/// Changes the set of a range that the caller owns under `epoch`. `read`: revision of the set that
/// was read; 0 to write the first.
[[nodiscard]] RegistryChange ChangeSet(RangeId range, Epoch epoch, RangeRecord set, Revision read);
/// Adds or replaces a datalet. It is removed when `session` ends; 0 for a datalet that no node
/// serves. An id has 1..200 printable characters, without '/'.
[[nodiscard]] RegistryChange AddDatalet(std::string_view id, Datalet datalet, SessionId session);
[[nodiscard]] RegistryChange RemoveDatalet(std::string_view id);
/// Names the member that should own a range, independent of its present owner. nullopt:
/// RightfulOwners decides.
[[nodiscard]] RegistryChange WantOwner(RangeId range, std::optional<std::string> node);
/// Reserves the versions with this number, from those that were reserved before up to this time.
/// `read`: revision of the reservation that was read; 0 for the first.
[[nodiscard]] RegistryChange ReserveVersions(std::uint32_t number, std::uint64_t until,
                                             Revision read);
/// Lists a table, which is a separate deployment (Registry::OpenTable). A name has 1..32 letters a
/// to z, digits and '_', and begins with a letter.
[[nodiscard]] RegistryChange CreateTable(std::string_view name, ClusterConfig config);
/// Removes a table from the list, and all its records. `read`: revision of the table that was read;
/// not 0. The outcome is kInUse if a session of the table is alive.
[[nodiscard]] RegistryChange DropTable(std::string_view name, Revision read);

/// Returns the table's name if the change is a DropTable; empty otherwise.
[[nodiscard]] std::string_view DroppedTable(const RegistryChange& change);
/// Returns why the change is invalid; nullopt if it may be tried.
[[nodiscard]] std::optional<std::string> WhyInvalid(const RegistryChange& change);
[[nodiscard]] bool IsTableName(std::string_view name);

/// The outcome of a change that the coordinator has judged.
enum class ChangeOutcome {
  kDone,      ///< the record is as asked
  kChanged,   ///< the record has another revision: read it again
  kNotOwner,  ///< the range's lease is not held under that epoch: stop serving it
  kInUse      ///< the table to drop has live sessions: end them first
};

struct ChangeAnswer {
  ChangeOutcome outcome = ChangeOutcome::kDone;
  Revision revision = 0;  ///< present revision of the record

  bool operator==(const ChangeAnswer&) const = default;
};

}  // namespace stout::inline v1

namespace stout::internal {

/// Puts a value into its place in a table. Returns an error if the value does not fit the key.
[[nodiscard]] std::optional<std::string> Place(std::string_view key, RegistryValue value,
                                               Revision revision, RegistryTable* table);
/// Removes this record from the table, even if it is damaged.
void Remove(std::string_view key, RegistryTable* table);

}  // namespace stout::internal
