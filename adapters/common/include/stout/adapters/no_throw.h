#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace stout {

/// For coroutines: `co_await x.async_y(..., kNoThrow)` is a tuple whose first element is the error
/// code; no error is thrown.
inline constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace stout
