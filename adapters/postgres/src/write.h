#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>

#include "connection.h"
#include "row_faults.h"
#include "rows.h"
#include "stout/core/batch.h"

namespace stout::postgres {

// Writes a batch: one round trip, if no row is refused or locked, and none has a newer stamp
// already. `note_epoch`: the server is to remember the epoch with the batch.
[[nodiscard]] boost::asio::awaitable<WriteResult> Write(Connection& connection,
                                                        const Schema& schema,
                                                        const EncodedBatch& batch, bool note_epoch,
                                                        RowFaults& faults);

// Reads the states of keys, in their order, or their stamps.
[[nodiscard]] boost::asio::awaitable<ReadResult> Read(Connection& connection, const Schema& schema,
                                                      const Array& keys, bool values);

// Reads a page of the store's own table, from the key `first` on.
[[nodiscard]] boost::asio::awaitable<ScanResult> Scan(Connection& connection, const Schema& schema,
                                                      std::string first, std::size_t limit,
                                                      bool values);

// Fails with kTransient. `patience`: how long it waits for others that take an epoch.
[[nodiscard]] boost::asio::awaitable<Result<Epoch>> NewEpoch(Connection& connection,
                                                             const Schema& schema,
                                                             Duration patience);

}  // namespace stout::postgres
