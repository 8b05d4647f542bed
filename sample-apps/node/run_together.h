#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

namespace stout::node {

/// Runs coroutines side by side, on the executor of the caller. Returns when all have ended.
/// Errors: throws what one of them threw.
[[nodiscard]] boost::asio::awaitable<void> RunTogether(
    std::vector<boost::asio::awaitable<void>> all);

}  // namespace stout::node
