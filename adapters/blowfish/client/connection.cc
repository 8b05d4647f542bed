#include "blowfish/client/connection.h"

#include <fmt/format.h>

#include <utility>

#include "blowfish/client/introduction.h"

namespace stout::blowfish::client {

namespace asio = boost::asio;

Connection::Connection(std::shared_ptr<const resp::Peer> peer,
                       std::shared_ptr<const Expectation> expected,
                       const asio::any_io_executor& strand)
    : resp::Connection(std::move(peer), strand), expected_(std::move(expected)) {}

asio::awaitable<std::string> Connection::Connect() {
  Introduction introduction = co_await Introduce(*this, expected_->is_node);
  if (introduction.errc != Errc::kOk) co_return std::move(introduction.message);
  const ServerFacts& facts = introduction.facts;
  reads_stamps_ = facts.reads_stamps;
  LossFlag* const lost = expected_->lost.get();
  if (lost != nullptr && facts.data_id != expected_->data_id) *lost = true;
  if (lost != nullptr && *lost) {
    Drop();
    co_return std::string(
        "it came back with other data and may lack acknowledged writes: nothing is sent to it, and "
        "every call fails until the store is opened anew");
  }
  if (facts.shards == expected_->shards) co_return std::string();
  Drop();
  co_return fmt::format(
      "it has {} shards, and had {} when the store was opened: nothing is sent to it; if the new "
      "number is intended, restart the application",
      facts.shards, expected_->shards);
}

}  // namespace stout::blowfish::client
