#pragma once

#include <boost/asio/awaitable.hpp>

#include "node/request.h"
#include "stout/core/registry_table.h"
#include "stout/registry.h"

namespace stout::node {

/// Reads the records for a command. Returns false, with request.error, if they do not come.
[[nodiscard]] boost::asio::awaitable<bool> ReadRecords(Registry& registry, Request& request,
                                                       RegistryTable& records);

/// Makes a change for a command. Returns true if it is done. If the record has changed since it was
/// read, there is no request.error.
[[nodiscard]] boost::asio::awaitable<bool> ChangeRecord(Registry& registry, Request& request,
                                                        RegistryChange change);

}  // namespace stout::node
