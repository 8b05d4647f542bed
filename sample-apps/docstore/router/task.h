#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/listener.h"

namespace stout::docstore {

/// A coroutine on the strand of a session. Naming the executor's type spares a virtual call a step.
template <typename T>
using Task = boost::asio::awaitable<T, http::SessionStrand>;

/// Errors are values: `auto [ec, bytes] = co_await socket.async_read_some(buffer, kAwait)`.
inline constexpr auto kAwait =
    boost::asio::as_tuple(boost::asio::use_awaitable_t<http::SessionStrand>{});

}  // namespace stout::docstore
