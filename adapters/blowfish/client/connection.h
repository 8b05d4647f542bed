#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "resp/client/connection.h"
#include "stout/adapters/pending_calls.h"
#include "stout/core/types.h"

namespace stout::blowfish::client {

// The store requires these facts of its server at each new connection.
struct Expectation {
  LaneId shards = 0;      // with another number, it would have the store's keys in other shards
  std::string data_id{};  // with another one, it may lack acknowledged writes
  bool is_node = false;   // as Options::is_node
  std::shared_ptr<LossFlag> lost{};  // is set then; null: the data are not compared
};

// A connection to a server that is as expected.
class Connection : public resp::Connection {
 public:
  Connection(std::shared_ptr<const resp::Peer> peer, std::shared_ptr<const Expectation> expected,
             const boost::asio::any_io_executor& strand);

  // For a pool: empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();

  // Returns true if the server that it is connected to has STOUT.STAMPS.
  [[nodiscard]] bool reads_stamps() const { return reads_stamps_; }

 private:
  const std::shared_ptr<const Expectation> expected_;
  bool reads_stamps_ = false;
};

}  // namespace stout::blowfish::client
