#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

#include "program/address.h"
#include "resp/client/commands.h"
#include "resp/client/reply.h"
#include "shard/load/requests.h"
#include "stout/adapters/event.h"

namespace stout::bench::shard {

using SteadyTime = std::chrono::steady_clock::time_point;

class Pipeline;

/// A request on its way.
struct Request {
  SteadyTime due;
  Requests::Kind kind = Requests::Kind::kGet;
};

/// Receives the outcomes of requests.
class PipelineListener {
 public:
  virtual void OnReply(Pipeline& pipeline, const Request& request, const resp::Reply& reply) = 0;
  /// Once; what has no answer gets none.
  virtual void OnLost(const std::string& why) = 0;

 protected:
  ~PipelineListener() = default;
};

/// A connection whose requests do not wait for each other's answers. Added commands go out with the
/// next write, and replies are taken in the order of the requests.
///
/// Owner: must outlive its coroutines, and the listener it.   Threads: one, of its executor.
///   Memory: the added commands without an answer; the caller bounds it.
class Pipeline {
 public:
  Pipeline(const boost::asio::any_io_executor& executor, PipelineListener& listener)
      : listener_(listener), resolver_(executor), socket_(executor), work_(executor) {}

  /// Empty, or what is wrong.
  [[nodiscard]] boost::asio::awaitable<std::string> Connect(const program::Address& to);
  /// Both run side by side until the connection is lost, or closed.
  [[nodiscard]] boost::asio::awaitable<void> Write();
  [[nodiscard]] boost::asio::awaitable<void> Read();

  /// Buffer for a command; put it there just before Added().
  [[nodiscard]] resp::Commands& commands() { return commands_; }
  void Added(const Request& request) {
    under_way_.push_back(request);
    work_.Notify();
  }
  /// Tells the listener nothing more.
  void Close();

 private:
  [[nodiscard]] std::string TakeReplies();
  void Lose(const std::string& why);

  PipelineListener& listener_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket socket_;
  Event work_;  // There is something to write.
  resp::Commands commands_;
  resp::ReplyReader replies_;
  std::array<char, std::size_t{64} << 10> input_{};
  std::deque<Request> under_way_;
  bool closed_ = false;
};

}  // namespace stout::bench::shard
