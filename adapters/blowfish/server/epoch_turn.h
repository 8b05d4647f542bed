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
  struct State {
    explicit State(const boost::asio::any_io_executor& executor)
        : over(executor, boost::asio::steady_timer::time_point::max()) {}

    bool taken = false;
    boost::asio::steady_timer over;
  };

 public:
  explicit EpochTurn(const boost::asio::any_io_executor& executor)
      : state_(std::make_shared<State>(executor)) {}

  /// The holder has its turn. It may outlive the EpochTurn: a coroutine that is never resumed ends
  /// with its io_context.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(const std::shared_ptr<State>& state) : state_(state) {}
    Turn(Turn&&) = default;
    Turn& operator=(Turn&& other) noexcept {
      state_.swap(other.state_);
      return *this;
    }
    ~Turn() {
      const std::shared_ptr<State> state = state_.lock();
      if (!state) return;
      state->taken = false;
      state->over.cancel_one();
    }

   private:
    std::weak_ptr<State> state_;
  };

  [[nodiscard]] boost::asio::awaitable<Turn> Enter() {
    while (state_->taken) {
      boost::system::error_code woken;
      co_await state_->over.async_wait(
          boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    }
    state_->taken = true;
    co_return Turn(state_);
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace stout::blowfish
