#include "load/find_server.h"

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace stout::load {

namespace {

constexpr std::chrono::seconds kPatience{2};
// A refused connection is answered at once, so the tries need a pause between them.
constexpr std::chrono::milliseconds kPause{20};

}  // namespace

boost::asio::ip::tcp::endpoint FindServer(boost::asio::io_context& context,
                                          const program::Address& target) {
  namespace asio = boost::asio;
  using asio::ip::tcp;
  boost::system::error_code error;
  tcp::resolver resolver(context);
  const auto candidates = resolver.resolve(target.host, std::to_string(target.port), error);
  tcp::socket probe(context);
  tcp::endpoint server;
  if (!error) server = asio::connect(probe, candidates, error);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (error == asio::error::connection_refused && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kPause);
    server = asio::connect(probe, candidates, error);
  }
  if (error) {
    throw std::runtime_error(fmt::format("cannot connect to {}: {}; is docstore-server running?",
                                         "http://" + target.Text(), error.message()));
  }
  return server;
}

}  // namespace stout::load
