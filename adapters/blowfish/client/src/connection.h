#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "resp/client/connection.h"
#include "stout/core/types.h"

namespace stout::blowfish::client {

// A connection to a server of a given number of shards. If the server comes back with another
// number, it would have the store's keys in other shards.
class Connection : public resp::Connection {
 public:
  Connection(std::shared_ptr<const resp::Peer> peer, LaneId shards,
             const boost::asio::any_io_executor& strand);

  // For a pool: empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();

 private:
  const LaneId shards_;
};

}  // namespace stout::blowfish::client
