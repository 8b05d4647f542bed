#pragma once

#include <boost/asio/awaitable.hpp>

#include "node/deadlines.h"
#include "node/ranges.h"
#include "stout/store.h"

namespace stout::node {

/// Deletes the expired keys of a node from its store, which must scan. It reads the store in pages,
/// and waits for `pause` between two pages. It never deletes a key whose newest state has not
/// expired. A page that the store cannot read at present is repeated. If that does not help, it
/// logs that and ends. The next sweep begins again, also if a key could not be deleted.
///
/// Owner: the arguments outlive each turn of it.
[[nodiscard]] boost::asio::awaitable<void> Sweep(Ranges& ranges, Store& store, Deadlines& deadlines,
                                                 Duration pause);

/// Sweeps for ever. It waits for `interval` before each sweep, and leaves out a sweep if no key can
/// have expired. It ends with the context on which it runs, or once the deadlines are over.
[[nodiscard]] boost::asio::awaitable<void> SweepForever(Ranges& ranges, Store& store,
                                                        Deadlines& deadlines, Duration interval);

}  // namespace stout::node
