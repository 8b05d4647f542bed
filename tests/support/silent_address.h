#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>

namespace stout::test {

// While it exists, an attempt to connect to this address of the loopback neither succeeds nor
// fails, because the queue of its listener is full.
class SilentAddress {
 public:
  SilentAddress(const std::string& address, std::uint16_t port) {
    const boost::asio::ip::tcp::endpoint endpoint(boost::asio::ip::make_address(address), port);
    acceptor_.open(endpoint.protocol());
    acceptor_.bind(endpoint);
    acceptor_.listen(0);  // Linux takes one more than this
    client_.connect(endpoint);
  }

 private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_{context_};
  boost::asio::ip::tcp::socket client_{context_};
};

}  // namespace stout::test
