#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <vector>

#include "connection.h"
#include "schema.h"
#include "stout/core/types.h"

// Fences: an epoch per scope, in a table, and a lock per scope that lasts as long as a transaction
// and costs no write. A batch shares the lock, and only then reads the fence, in a statement of its
// own. Under READ COMMITTED each statement sees all changes that were committed when it began.
// Raising a fence takes the lock exclusively, and so waits for each batch that has seen the old
// fence.
//
// Locks are taken in this order: scope, row of the epoch, rows of keys.
namespace stout::postgres {

// Returns the queries that begin a batch of `scope` under `epoch`.
[[nodiscard]] std::vector<Query> CheckFence(const Schema& schema, const Scope& scope, Epoch epoch);
// Returns true if nothing was done because the scope has a newer fence. CheckFence() was sent
// behind `before` other queries.
[[nodiscard]] bool IsFenced(const Outcome& outcome, std::size_t before = 0);

// Errors: kFenced, kTransient or kUnknown. A batch that is under way for long is not waited for:
//   its client may have stopped in the middle of sending it, or may have died silently. Its
//   connection is ended, and the batch undone, unless it waits for a synchronous standby. `again`:
//   this fence was raised before, and that was durable.
[[nodiscard]] boost::asio::awaitable<Errc> Fence(Connection& connection, const Schema& schema,
                                                 const Scope& scope, Epoch epoch, bool again,
                                                 Duration timeout);

}  // namespace stout::postgres
