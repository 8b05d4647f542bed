#pragma once

#include "schema.h"
#include "stout/adapters/postgres_store.h"

namespace stout::postgres {

// A server's promises.
struct Server {
  bool durable = false;
  // A pooler is in between, which may give each transaction another session.
  bool pooled = false;
};

// Blocks: connects, creates the tables where allowed, and checks that the statements fit. Fails
// with kBadUrl and kTransient.
[[nodiscard]] Result<Server> SetUp(const PostgresOptions& options, const Schema& schema,
                                   Diagnostics* diagnostics);

}  // namespace stout::postgres
