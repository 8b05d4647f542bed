#include "connection.h"

#include <fmt/format.h>

#include <utility>

#include "introduction.h"

namespace stout::blowfish::client {

namespace asio = boost::asio;

Connection::Connection(std::shared_ptr<const resp::Peer> peer, LaneId shards,
                       const asio::any_io_executor& strand)
    : resp::Connection(std::move(peer), strand), shards_(shards) {}

asio::awaitable<std::string> Connection::Connect() {
  Introduction introduction = co_await Introduce(*this);
  if (introduction.errc != Errc::kOk) co_return std::move(introduction.message);
  if (introduction.facts.shards == shards_) co_return std::string();
  Drop();
  co_return fmt::format(
      "it has {} shards, and had {} when the store was opened: nothing is sent to it; if the new "
      "number is intended, restart the application",
      introduction.facts.shards, shards_);
}

}  // namespace stout::blowfish::client
