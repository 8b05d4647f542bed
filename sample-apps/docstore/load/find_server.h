#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "program/address.h"

namespace stout::load {

/// Returns the endpoint of the server at `target`. Tries for two seconds while the connection is
/// refused, because the server may have just been started.
/// Errors: std::runtime_error.
[[nodiscard]] boost::asio::ip::tcp::endpoint FindServer(boost::asio::io_context& context,
                                                        const program::Address& target);

}  // namespace stout::load
