#pragma once

#include <string>
#include <string_view>

#include "stout/core/registry_table.h"

namespace stout {

/// The JSON of a record, one object on one line. Fields end with their unit.
///
/// | record           | fields                                                              |
/// |------------------|---------------------------------------------------------------------|
/// | config, table/N  | mode, replicas, min_in, ack, member_timeout_us, partition, ranges   |
/// | datalet/ID       | url, node, capacity, since_us, leaving, lazy                        |
/// | set/RANGE        | members: [{datalet, in, since_us, entered: [epoch, version],        |
/// |                  | incarnation}], closed: [[epoch, version]], swept, strong, shared,   |
/// |                  | merged_us                                                           |
/// | wanted-owner/    | node                                                                |
/// | RANGE            |                                                                     |
/// | clock/NUMBER     | until_us                                                            |
[[nodiscard]] std::string EncodeRecord(const RegistryValue& value);

/// A record that begins with this may be out of date, and is not used.
inline constexpr std::string_view kSuspect = "suspect ";

/// Adds a record to a table. If the text is not what EncodeRecord writes, an error goes to
/// `table->damaged` instead. `shown` names the record for an operator: "etcd key 'kv/set/3'". A
/// record of another kind is skipped.
void AddRecord(std::string_view key, std::string_view shown, std::string_view text,
               Revision revision, RegistryTable* table);

}  // namespace stout
