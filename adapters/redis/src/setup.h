#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "connection.h"
#include "server_facts.h"
#include "stout/adapters/redis_options.h"
#include "stout/error.h"

namespace stout::redis {

// On a connection that is open. False: it was lost.
[[nodiscard]] boost::asio::awaitable<bool> Inspect(Connection& connection, ServerFacts* facts);

// Blocks: connects and asks. Fails with kBadUrl and kTransient.
[[nodiscard]] Result<ServerFacts> SetUp(const std::shared_ptr<const RedisOptions>& options,
                                        const Target& target, Diagnostics* diagnostics);

}  // namespace stout::redis
