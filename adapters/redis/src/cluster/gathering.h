#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "stout/adapters/no_throw.h"

namespace stout::redis {

// Waits for several jobs of a strand, each of which holds a ticket until it has ended or has been
// dropped without being run.
//
// Threads: none of its own; all of it, also the end of a ticket, is on the strand.
class Gathering {
  struct State {
    boost::asio::steady_timer changed;
    std::size_t tickets = 0;
  };

 public:
  class Ticket {
   public:
    explicit Ticket(std::shared_ptr<State> state) : state_(std::move(state)) { ++state_->tickets; }
    Ticket(Ticket&&) noexcept = default;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (!state_) return;
      --state_->tickets;
      state_->changed.cancel();
    }

   private:
    std::shared_ptr<State> state_;
  };

  explicit Gathering(const boost::asio::any_io_executor& strand)
      : state_(std::make_shared<State>(State{boost::asio::steady_timer(strand)})) {}

  [[nodiscard]] Ticket Add() { return Ticket(state_); }

  // Until no ticket is left, or `enough()`, which is asked whenever one goes.
  template <typename Enough>
  [[nodiscard]] boost::asio::awaitable<void> WaitUnless(Enough enough) {
    state_->changed.expires_at(boost::asio::steady_timer::time_point::max());
    while (state_->tickets > 0 && !enough()) {
      co_await state_->changed.async_wait(kNoThrow);
    }
  }
  // Waits until no ticket is left. Returns false if some are left after this time.
  [[nodiscard]] boost::asio::awaitable<bool> WaitFor(std::chrono::milliseconds patience) {
    state_->changed.expires_after(patience);
    bool expired = false;
    while (state_->tickets > 0 && !expired) {
      const auto [cancelled] = co_await state_->changed.async_wait(kNoThrow);
      expired = !cancelled;
    }
    co_return state_->tickets == 0;
  }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace stout::redis
