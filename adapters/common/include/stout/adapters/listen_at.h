#pragma once

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/system/errc.hpp>
#include <cstdint>
#include <string>

#include "stout/error.h"

namespace stout {

/// Binds an acceptor to the first address of a host that this machine has, and begins to listen. A
/// name may have addresses of other machines, or of a protocol that this one does not speak. If the
/// port is taken, no other address is tried. Otherwise clients of the name would reach two
/// different programs. Blocks.
/// Errors: those of the system.
template <typename Acceptor>
[[nodiscard]] ErrorCode ListenAt(Acceptor& acceptor, const std::string& host, std::uint16_t port) {
  using boost::asio::ip::tcp;
  ErrorCode failed;
  tcp::resolver resolver(acceptor.get_executor());
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, failed);
  for (const auto& each : found) {
    const tcp::endpoint endpoint = each.endpoint();
    acceptor.close(failed);
    acceptor.open(endpoint.protocol(), failed);
    if (!failed) acceptor.set_option(boost::asio::socket_base::reuse_address(true), failed);
    if (!failed) acceptor.bind(endpoint, failed);
    if (!failed) acceptor.listen(boost::asio::socket_base::max_listen_connections, failed);
    const bool elsewhere = failed == boost::system::errc::address_not_available ||
                           failed == boost::asio::error::address_family_not_supported;
    if (!elsewhere) break;
  }
  return failed;
}

}  // namespace stout
