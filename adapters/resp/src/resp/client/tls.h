#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "resp/client/tls_layer.h"

namespace stout::resp {

/// Makes TLS for the client's end of a socket. The handshake fails unless `tls` trusts the
/// certificate of the server, and it is for `host`. `tls` need not outlive it.
[[nodiscard]] std::unique_ptr<TlsLayer> MakeTlsLayer(TlsLayer::Socket& socket,
                                                     boost::asio::ssl::context& tls,
                                                     const std::string& host);

}  // namespace stout::resp
