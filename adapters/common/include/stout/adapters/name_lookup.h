#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/error.h"

namespace stout {

/// Finds the addresses of a host, for no longer than its user wants to wait:
///
///     const TimeLimit limit(strand, timeout, [this] { lookup_.Cancel(); });
///     const auto [ec, endpoints] = co_await lookup_.Find("db.example", 5432);
///
/// Nothing can interrupt getaddrinfo(), and a tcp::resolver waits for it although it is cancelled.
/// Asio also looks up the names of an io_context one after another. Therefore a numeric host is
/// found at once, and Cancel() ends the wait for a name at once. A look-up that has begun then goes
/// on without a user, and one that has not is left out.
///
/// Owner: one Find() at a time.   Threads: the strand.
template <typename Executor>
class NameLookup {
 public:
  using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
  using Found = std::pair<ErrorCode, Endpoints>;

  explicit NameLookup(const Executor& strand) : resolver_(strand) {}

  boost::asio::awaitable<Found, Executor> Find(std::string host, std::uint16_t port) {
    constexpr auto kWait = boost::asio::as_tuple(boost::asio::use_awaitable_t<Executor>{});
    ErrorCode not_numeric;
    const auto address = boost::asio::ip::make_address(host, not_numeric);
    if (!not_numeric) co_return Found(ErrorCode(), {typename Endpoints::value_type(address, port)});
    const auto wait = std::make_shared<Wait>(resolver_.get_executor());
    wait_ = wait;
    resolver_.async_resolve(host, std::to_string(port),
                            [wait](ErrorCode ec, const typename Resolver::results_type& found) {
                              if (wait->result) return;
                              wait->result.emplace(ec, Endpoints(found.begin(), found.end()));
                              wait->over.cancel();
                            });
    while (!wait->result) co_await wait->over.async_wait(kWait);
    co_return *std::move(wait->result);
  }

  /// Ends Find() with operation_aborted, if it is under way.
  void Cancel() {
    resolver_.cancel();
    const auto wait = wait_.lock();
    if (!wait) return;
    wait->result.emplace(boost::asio::error::operation_aborted, Endpoints());
    wait->over.cancel();
  }

 private:
  using Resolver = boost::asio::ip::basic_resolver<boost::asio::ip::tcp, Executor>;
  using Clock = std::chrono::steady_clock;

  struct Wait {
    explicit Wait(const Executor& strand) : over(strand, Clock::time_point::max()) {}

    boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor> over;
    std::optional<Found> result;
  };

  Resolver resolver_;
  std::weak_ptr<Wait> wait_;  // shared by Find() and the look-up, which may outlive it
};

}  // namespace stout
