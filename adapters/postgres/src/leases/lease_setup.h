#pragma once

#include "../table_names.h"
#include "lease_schema.h"
#include "stout/adapters/postgres_leases.h"

namespace stout::postgres {

// Blocks: connects, and creates the tables where allowed. Returns how the server can be identified.
// Fails with kBadUrl and kTransient.
[[nodiscard]] Result<Identity> SetUpLeases(const PostgresOptions& options,
                                           const LeaseSchema& schema, const TableNames& names,
                                           Diagnostics* diagnostics);

}  // namespace stout::postgres
