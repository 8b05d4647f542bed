#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "stout/error.h"

namespace stout::resp {

/// The files of a server that speaks TLS, both in PEM.
struct TlsFiles {
  std::string certificate;  ///< with the chain to its root; empty: the server does not speak TLS
  std::string key;
};

/// Reads the files. Returns null if there are none. TLS 1.2 is the oldest version.
/// Errors: kBadOptions if they are of no use; `diagnostics` names the option, file and remedy.
[[nodiscard]] Result<std::unique_ptr<boost::asio::ssl::context>> LoadTls(const TlsFiles& files,
                                                                         Diagnostics* diagnostics);

}  // namespace stout::resp
