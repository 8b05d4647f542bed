#pragma once

#include <string>
#include <string_view>

#include "stout/core/registry_table.h"

namespace stout {

/// The JSON of a record, one object on one line. Fields end with their unit.
///
/// | record           | fields                                                              |
/// |------------------|---------------------------------------------------------------------|
/// | config, table/N  | mode, aim, step, replicas, min_in, ack, member_timeout_us,          |
/// |                  | partition, ranges                                                   |
/// | datalet/ID       | url, node, capacity, since_us                                       |
/// | set/RANGE        | members: [{datalet, state, since_us}], closed: [[epoch, version]]   |
/// | confirmed/NODE   | config                                                              |
[[nodiscard]] std::string EncodeRecord(const RegistryValue& value);

/// Adds a record to a table. If the text is not what EncodeRecord writes, an error goes to
/// `table->damaged` instead. `shown` names the record for an operator: "etcd key 'kv/set/3'". A
/// record of another kind is skipped.
void AddRecord(std::string_view key, std::string_view shown, std::string_view text,
               Revision revision, RegistryTable* table);

}  // namespace stout
