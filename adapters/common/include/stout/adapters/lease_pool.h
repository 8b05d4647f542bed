#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "stout/adapters/connection_pool.h"

namespace stout {

/// One connection of a lease service, and the calls that wait for it. Renewals and changes have one
/// each, and share nothing, so that a failure to connect for changes does not delay renewals.
template <typename Connection>
std::shared_ptr<ConnectionPool<Connection>> MakeLeasePool(
    const boost::asio::any_io_executor& strand, std::string name,
    typename ConnectionPool<Connection>::MakeConnection make) {
  using Pool = ConnectionPool<Connection>;
  // A manager has one request for each range on its way at most, of 65536 ranges.
  constexpr std::size_t kMaxQueue = 100'000;
  // A lease lasts some seconds: a pause of 2 s, as stores make it, could outlast a lease whose
  // server is back. (A guess.)
  constexpr std::chrono::milliseconds kLongestPause(200);
  return std::make_shared<Pool>(
      strand, typename Pool::Options{.connections = 1, .max_queue = kMaxQueue},
      std::make_shared<Reconnection>(std::move(name), kLongestPause), std::move(make));
}

}  // namespace stout
