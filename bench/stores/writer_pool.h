#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/writer.h"

namespace stout::bench {

/// A write on its way.
struct PendingWrite {
  KeyView key;
  std::string_view value;
  Writer::Done done;
};

/// The state that the connections of a pool share: the writes that they have sent, in order.
class PooledConnection {
 public:
  /// `on_answer` is told after each answer.
  void Start(std::function<void()> on_answer) { on_answer_ = std::move(on_answer); }

  [[nodiscard]] std::size_t in_flight() const { return sent_.size(); }

  /// Their handlers are taken; the answers are still awaited.
  std::vector<Writer::Done> TakeHandlers() {
    std::vector<Writer::Done> handlers;
    for (Writer::Done& done : sent_) {
      if (done) handlers.push_back(std::exchange(done, {}));
    }
    return handlers;
  }

 protected:
  void Sent(Writer::Done done) { sent_.push_back(std::move(done)); }
  void Answered() {
    Writer::Done done = std::move(sent_.front());
    sent_.pop_front();
    on_answer_();
    if (done) done({});
  }

 private:
  std::deque<Writer::Done> sent_;
  std::function<void()> on_answer_;
};

/// Gives each write to the connection that has least under way, and keeps in a queue what none of
/// them has room for. `Connection` is a PooledConnection with `Send(key, value, done)`.
template <typename Connection>
class WriterPool final : public Writer {
 public:
  /// `window`: writes that a connection may have under way.
  WriterPool(boost::asio::io_context& context, std::vector<std::unique_ptr<Connection>> connections,
             std::size_t window)
      : context_(context), connections_(std::move(connections)), window_(window) {
    for (const auto& connection : connections_) {
      connection->Start([this, c = connection.get()] { SendNext(*c); });
    }
  }

  void Write(KeyView key, std::string_view value, Done done) override {
    Connection& least = **std::min_element(
        connections_.begin(), connections_.end(),
        [](const auto& a, const auto& b) { return a->in_flight() < b->in_flight(); });
    if (least.in_flight() < window_) {
      least.Send(key, value, std::move(done));
    } else {
      queue_.push_back({key, value, std::move(done)});
    }
  }

  void Cancel() override {
    std::vector<Done> cancelled;
    for (PendingWrite& write : queue_) cancelled.push_back(std::move(write.done));
    queue_.clear();
    for (const auto& connection : connections_) {
      for (Done& done : connection->TakeHandlers()) cancelled.push_back(std::move(done));
    }
    boost::asio::post(context_, [cancelled = std::move(cancelled)]() mutable {
      for (Done& done : cancelled) done(Errc::kClosed);
    });
  }

  [[nodiscard]] bool Idle() const override {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const auto& connection) { return connection->in_flight() == 0; });
  }

 private:
  void SendNext(Connection& connection) {
    if (queue_.empty()) return;
    PendingWrite next = std::move(queue_.front());
    queue_.pop_front();
    connection.Send(next.key, next.value, std::move(next.done));
  }

  boost::asio::io_context& context_;
  std::vector<std::unique_ptr<Connection>> connections_;
  const std::size_t window_;
  std::deque<PendingWrite> queue_;  // while each connection is full
};

}  // namespace stout::bench
