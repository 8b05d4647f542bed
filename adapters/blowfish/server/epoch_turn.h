#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <memory>

#include "stout/core/types.h"

namespace stout::blowfish {

/// Lets one after the other take an epoch from all shards. Two that asked side by side could be
/// given the same: each largest on another shard.
///
/// Threads: the executor's.
class EpochTurn {
 public:
  explicit EpochTurn(const boost::asio::any_io_executor& executor) : over_(executor) {
    over_.expires_at(boost::asio::steady_timer::time_point::max());
  }

  struct Leave {
    void operator()(EpochTurn* turns) const {
      turns->taken_ = false;
      turns->over_.cancel_one();
    }
  };
  /// The holder has its turn.
  using Turn = std::unique_ptr<EpochTurn, Leave>;

  [[nodiscard]] boost::asio::awaitable<Turn> Enter() {
    while (taken_) {
      boost::system::error_code woken;
      co_await over_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    }
    taken_ = true;
    co_return Turn(this);
  }

 private:
  bool taken_ = false;
  boost::asio::steady_timer over_;
};

}  // namespace stout::blowfish
