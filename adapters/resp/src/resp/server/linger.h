#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>

#include "resp/server/stream.h"
#include "stout/core/types.h"

namespace stout::resp {

/// A guess: some round trips to anywhere.
inline constexpr Duration kLingerAtMost = std::chrono::seconds(1);

/// Wait for it before a socket is closed to which a last reply was written. A close with unread
/// bytes resets the connection, so a client that is still sending would lose the reply. It ends the
/// sending side, with close_notify of TLS, and drops incoming bytes until the client closes. After
/// `at_most` the socket is closed.
///
/// Threads: the stream's, which outlives it.   Errors: std::bad_alloc; the socket may be closed.
[[nodiscard]] boost::asio::awaitable<void> Linger(Stream& stream, Duration at_most = kLingerAtMost);

}  // namespace stout::resp
