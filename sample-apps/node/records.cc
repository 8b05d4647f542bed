#include "node/records.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace stout::node {

namespace asio = boost::asio;

asio::awaitable<bool> ReadRecords(Registry& registry, Request& request, RegistryTable& records) {
  auto [ec, read] = co_await registry.AsyncRead(asio::as_tuple(asio::use_awaitable));
  if (ec)
    request.error = fmt::format("TRYAGAIN the lease service does not answer: {}", ec.message());
  records = std::move(read);
  co_return !ec;
}

asio::awaitable<bool> ChangeRecord(Registry& registry, Request& request, RegistryChange change) {
  if (const auto why = WhyInvalid(change)) co_return Refuse<bool>(request, "ERR " + *why);
  const auto [ec, answer] =
      co_await registry.AsyncChange(std::move(change), asio::as_tuple(asio::use_awaitable));
  if (ec) {
    request.error =
        fmt::format("{} {}", ec == Errc::kUnknown ? "UNKNOWN" : "TRYAGAIN", ec.message());
  }
  co_return !ec && answer.outcome == ChangeOutcome::kDone;
}

}  // namespace stout::node
