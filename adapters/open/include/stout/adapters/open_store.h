#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string_view>

#include "stout/error.h"
#include "stout/store.h"

namespace stout {

/// Opens a store by URL, of the kinds that are compiled in:
///
///     asio::thread_pool pool;
///     Diagnostics why;
///     auto store = OpenStore("rocksdb:/var/lib/app?threads=8", pool.get_executor(), &why);
///     if (!store) return Complain(why.message);
///
/// Blocks until the store is open. The executor is for timers and for the sockets of remote stores;
/// its context must outlive the store. Blocking work runs on threads of the store's own.
/// Errors: kBadUrl for a URL or a path that cannot be used, kTransient for a store that cannot be
///   opened now, kCorrupt. `diagnostics` has the problem, and lists the schemes or options that
///   exist.
[[nodiscard]] Result<std::unique_ptr<Store>> OpenStore(std::string_view url,
                                                       const boost::asio::any_io_executor& executor,
                                                       Diagnostics* diagnostics = nullptr);

/// Returns the syntax that OpenStore reads, for help texts: one line for each kind of store that is
/// compiled in.
[[nodiscard]] std::string_view StoreUrlSyntax();

}  // namespace stout
