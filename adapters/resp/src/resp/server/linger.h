#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace stout::resp {

/// Wait for it before a socket is closed to which a last reply was written. A close with unread
/// bytes resets the connection, so a client that is still sending would lose the reply. It ends the
/// sending side, and drops incoming bytes until the client closes, for at most a second.
///
/// Threads: the socket's, which outlives it.   Errors: std::bad_alloc; the socket may be closed.
[[nodiscard]] boost::asio::awaitable<void> Linger(boost::asio::ip::tcp::socket& socket);

}  // namespace stout::resp
