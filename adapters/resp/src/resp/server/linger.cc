#include "resp/server/linger.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <memory>

#include "stout/adapters/time_limit.h"

namespace stout::resp {
namespace {

namespace asio = boost::asio;

}  // namespace

asio::awaitable<void> Linger(Stream& stream, Duration at_most) {
  ClientSocket& socket = stream.socket();
  const TimeLimit limit(socket.get_executor(), at_most, [&socket] {
    boost::system::error_code ignored;
    socket.close(ignored);
  });
  boost::system::error_code gone;
  // It sends at once. Then it waits for the client, and fails if the client is still sending.
  if (stream.has_tls()) {
    co_await stream.AsyncShutdown(asio::redirect_error(asio::use_awaitable, gone));
  }
  socket.shutdown(asio::socket_base::shutdown_send, gone);
  const auto dropped = std::make_unique<std::array<char, 16384>>();
  while (!gone && !limit.passed()) {
    co_await socket.async_read_some(asio::buffer(*dropped),
                                    asio::redirect_error(asio::use_awaitable, gone));
  }
}

}  // namespace stout::resp
