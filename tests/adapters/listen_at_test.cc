// Which address of a name a server listens at.

#include "stout/adapters/listen_at.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/errc.hpp>
#include <cstdint>

#include "tests/support/catch.h"
#include "tests/support/held_name.h"

namespace stout::test {
namespace {

using boost::asio::ip::tcp;

TEST_CASE("a server listens at the address of its name that this machine has", "[names]") {
  const NamedAddresses name("server.example", {"203.0.113.1", "127.0.0.1"});
  boost::asio::io_context context;
  tcp::acceptor acceptor(context);
  CHECK_FALSE(ListenAt(acceptor, "server.example", 0));
  CHECK(acceptor.local_endpoint().address().to_string() == "127.0.0.1");
}

TEST_CASE("a server whose name has no address of this machine does not listen", "[names]") {
  const NamedAddresses name("server.example", {"203.0.113.1", "203.0.113.2"});
  boost::asio::io_context context;
  tcp::acceptor acceptor(context);
  CHECK(ListenAt(acceptor, "server.example", 0) == boost::system::errc::address_not_available);
}

TEST_CASE("a server does not leave a port that is taken for another address of its name",
          "[names]") {
  const NamedAddresses name("server.example", {"127.0.0.1", "127.0.0.2"});
  boost::asio::io_context context;
  const tcp::acceptor other(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  tcp::acceptor acceptor(context);
  const std::uint16_t port = other.local_endpoint().port();
  CHECK(ListenAt(acceptor, "server.example", port) == boost::asio::error::address_in_use);
}

}  // namespace
}  // namespace stout::test
