#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "blowfish/client/answers.h"
#include "resp/client/connection.h"
#include "stout/adapters/blowfish_store.h"
#include "stout/core/errc.h"
#include "stout/error.h"

namespace stout::blowfish::client {

// The server, which is asked for its shards first.
[[nodiscard]] resp::Peer PeerOf(const BlowfishStore::Options& options);

// The outcome of the introduction.
struct Introduction {
  Errc errc = Errc::kOk;  // kBadUrl, kTransient
  std::string message{};
  ServerFacts facts{};  // If kOk.
};

// Opens the connection, of a PeerOf(). Unless kOk, it is not open. `is_node`: as Options::is_node.
[[nodiscard]] boost::asio::awaitable<Introduction> Introduce(resp::Connection& connection,
                                                             bool is_node);

// Blocks. Fails with kBadUrl and kTransient.
[[nodiscard]] Result<ServerFacts> AskServer(const std::shared_ptr<const resp::Peer>& peer,
                                            bool is_node, Diagnostics* diagnostics);

}  // namespace stout::blowfish::client
