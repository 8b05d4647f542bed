#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <vector>

#include "stout/adapters/time_limit.h"
#include "stout/core/types.h"
#include "stout/error.h"

namespace stout {

/// Connects a socket to the first address of a host that answers. Each address has an equal part of
/// `timeout`, so a silent one leaves time for the next.
///
/// Returns operation_aborted if the socket is closed meanwhile.
/// Threads: the strand that the coroutine runs on.
template <typename Executor = boost::asio::any_io_executor, typename Socket, typename Endpoint>
boost::asio::awaitable<ErrorCode, Executor> ConnectToAny(Socket& socket,
                                                         std::vector<Endpoint> endpoints,
                                                         Duration timeout) {
  constexpr auto kWait = boost::asio::as_tuple(boost::asio::use_awaitable_t<Executor>{});
  const auto strand = co_await boost::asio::this_coro::executor;
  ErrorCode failed = boost::asio::error::host_not_found;
  for (const Endpoint& endpoint : endpoints) {
    socket.close(failed);
    if (socket.open(endpoint.protocol(), failed)) continue;
    // Not closed: a closed socket means that the caller has closed it.
    const TimeLimit limit(strand, timeout / endpoints.size(), [&socket] {
      ErrorCode ignored;
      socket.cancel(ignored);
    });
    std::tie(failed) = co_await socket.async_connect(endpoint, kWait);
    if (!socket.is_open()) co_return boost::asio::error::operation_aborted;
    if (!failed) break;
    if (limit.passed()) failed = boost::asio::error::timed_out;
  }
  co_return failed;
}

}  // namespace stout
