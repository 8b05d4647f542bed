#include "resp/server/linger.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>

#include "stout/adapters/time_limit.h"

namespace stout::resp {
namespace {

namespace asio = boost::asio;

/// A guess: some round trips to anywhere.
constexpr auto kLingerAtMost = std::chrono::seconds(1);

}  // namespace

asio::awaitable<void> Linger(asio::ip::tcp::socket& socket) {
  boost::system::error_code gone;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, gone);
  const TimeLimit limit(socket.get_executor(), kLingerAtMost, [&socket] {
    boost::system::error_code ignored;
    socket.close(ignored);
  });
  const auto dropped = std::make_unique<std::array<char, 16384>>();
  while (!gone && !limit.passed()) {
    co_await socket.async_read_some(asio::buffer(*dropped),
                                    asio::redirect_error(asio::use_awaitable, gone));
  }
}

}  // namespace stout::resp
