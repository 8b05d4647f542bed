#pragma once

#include <openssl/types.h>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "stout/error.h"

namespace stout::resp {

/// The files of a server that speaks TLS, all in PEM.
struct TlsFiles {
  std::string certificate;  ///< with the chain to its root; empty: the server does not speak TLS
  std::string key;
  std::string authorities;  ///< that servers of the same deployment trust; empty: there are none
  std::string host;         ///< with authorities: where those servers reach this one
};

/// Reads the files. Returns null if there are none. TLS 1.2 is the oldest version. The context is
/// for connections that clients make, and for those that this server makes to other servers.
/// Errors: kBadOptions if they are of no use; `diagnostics` names the option, file and remedy.
[[nodiscard]] Result<std::unique_ptr<boost::asio::ssl::context>> LoadTls(const TlsFiles& files,
                                                                         Diagnostics* diagnostics);

/// Lets the certificate of a server be refused unless it is for this host: a name or IP address.
void RequireHost(X509_VERIFY_PARAM* verification, const std::string& host);

/// Returns the message about a certificate that was refused with this X509_V_ERR_* code.
[[nodiscard]] std::string RefusedCertificate(long error, std::string_view host);

}  // namespace stout::resp
