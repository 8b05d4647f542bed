#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "resp/server/service.h"
#include "stout/error.h"
#include "stout/store.h"

namespace stout::node {

/// Opens the datalet of any node of a deployment, by its URL. stout://HOST:PORT is met as nodes
/// meet each other: by the password of `self`, unless the URL has another one, and by TLS if `self`
/// serves TLS. All other URLs are those of OpenStore().
///
/// Blocks, and may run on any thread. `self`, which is this node, outlives the store; its TLS
/// files have been read.
/// Errors: kBadUrl and kTransient; `diagnostics` has the reason.
[[nodiscard]] Result<std::unique_ptr<Store>> OpenDatalet(
    const std::string& url, resp::Service& self, const boost::asio::any_io_executor& executor,
    Diagnostics* diagnostics);

}  // namespace stout::node
