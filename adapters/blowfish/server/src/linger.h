#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace stout::blowfish {

/// To be waited for before a socket is closed to which a last reply was written: a client that is
/// still sending would lose it, for what is unread when a socket is closed resets the connection.
/// Says that nothing more comes, and drops what comes, until the client closes, for a second at
/// most.
///
/// Threads: the socket's, which outlives it.   Errors: std::bad_alloc; the socket may be closed.
[[nodiscard]] boost::asio::awaitable<void> Linger(boost::asio::ip::tcp::socket& socket);

}  // namespace stout::blowfish
